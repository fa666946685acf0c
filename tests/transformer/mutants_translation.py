"""Faults planted in the encoder-decoder, in label smoothing and in the schedule of its training; see `mutants`."""
from __future__ import annotations

from course_lib.training import loop as loop_module
from course_lib.training import losses as losses_module
from course_lib.training import schedules as schedules_module
from course_lib.transformer import blocks as blocks_module
from course_lib.transformer import translation as translation_module
from tests.transformer import checks
from tests.transformer import translation_checks as check
from tests.transformer.mutants import of

T, L, S = translation_module, losses_module, schedules_module
LIMIT = "math.inf if clip is None else clip"
CLIP = f"nn.utils.clip_grad_norm_(model.parameters(), {LIMIT}, error_if_nonfinite=True)"

MUTANTS = [
    *of(T, None, check.keeps_the_contract_past_the_end,
        ("the decoder reads the target as it is, unshifted", "return F.pad(target[:, :-1], (1, 0), value=self.bos_id)",
         "return target"),
        ("the decoder reads two places back", "return F.pad(target[:, :-1], (1, 0), value=self.bos_id)",
         "return F.pad(target[:, :-2], (2, 0), value=self.bos_id)"),
        ("step by step the end token is not noticed", "over=state.over | (x_i == self.eos_id)", "over=state.over"),
        ("step by step only the last token may end it", "over=state.over | (x_i == self.eos_id)",
         "over=x_i == self.eos_id")),
    *of(T, None, check.scores_up_to_the_end,
        ("padding after the end is scored like words", "return logits.masked_fill(over[..., None] & other, -torch.inf)",
         "return logits"),
        ("the end token itself is not scored", "ends.cumsum(dim=1) > ends", "ends.cumsum(dim=1) > 0"),
        ("the last word is not scored", "ends.cumsum(dim=1) > ends", "F.pad(ends[:, 2:], (0, 2)).cumsum(dim=1) > 0"),
        ("the encoder attends to the source's padding", "m = block(m, seen)", "m = block(m)"),
        ("the decoder attends to the source's padding",
         "h = block(h, memory, memory_mask=seen)\n        return self.decoder_norm(h)",
         "h = block(h, memory)\n        return self.decoder_norm(h)")),
    *of(T, None, check.steps_as_the_full_pass,
        ("every step of decoding at position 0", "torch.full((1,), past.length,", "torch.full((1,), 0,"),
        ("two continuations of one target write to one cache", "if state.caches[0].length != state.length:", "if False:"),
        ("step by step the source's padding is read", "memory_mask=past.seen, cache=cache", "cache=cache")),
    *of(T, None, check.loss_is_the_mean_over_real_tokens,
        ("padding is in the mean of the training loss", "real = target != self.settings.pad_id",
         "real = target >= 0"),
        ("the end token is left out of the training loss", "real = target != self.settings.pad_id",
         "real = target > self.eos_id"),
        ("the number of rows given in place of that of tokens", "int(real.sum())", "len(target)"),
        ("targets are never smoothed", "target[real], self.settings.smoothing,", "target[real], 0.0,")),

    *of(L, None, check.smooths_in_both_forms,
        ("the slide's form shares eps among all classes", "label_smoothing=eps * V / (V - 1) if form == \"slide\" else eps",
         "label_smoothing=eps"),
        ("torch's form shares eps among the other classes", "label_smoothing=eps * V / (V - 1) if form == \"slide\" else eps",
         "label_smoothing=eps * V / (V - 1)"),
        ("the class of padding is in the mean", "logits, target = logits[target != ignore], target[target != ignore]",
         "pass"),
        ("padding adds nothing and is counted", "logits, target = logits[target != ignore], target[target != ignore]",
         "logits = logits.masked_fill((target == ignore)[:, None], 0) - 0"),
        ("the smoothed targets do not sum to one", "(1 - one_hot if form == \"slide\" else 1) * rest",
         "rest")),
    *of(S, None, check.warms_up_from_step_one,
        ("the rise with the wrong power of the warm-up", "step * warmup ** -1.5", "step * warmup ** -1.0"),
        ("the steps counted from zero", "min(step ** -0.5, step * warmup ** -1.5)",
         "min(step ** -0.5, (step - 1) * warmup ** -1.5)"),
        ("the factor's steps counted from zero", "min(step / w, math.sqrt(w / step))",
         "min((step - 1) / w, math.sqrt(w / step))"),
        ("the larger of the two branches", "min(step ** -0.5, step", "max(step ** -0.5, step"),
        ("step 0 has a rate", "if value < 1:", "if value < 0:", ZeroDivisionError),
        ("a wider model takes larger steps", "d_model ** -0.5 *", "d_model ** 0.5 *")),

    *of(loop_module, None, check.clips_by_the_global_norm,
        ("each tensor is clipped by itself", CLIP, "[nn.utils.clip_grad_norm_([p], LIMIT) for p in model.parameters()]"
         .replace("LIMIT", LIMIT)),
        ("each component is clipped", CLIP, f"nn.utils.clip_grad_value_(model.parameters(), {LIMIT})"),
        ("short gradients are made longer", CLIP, f"[p.grad.mul_(1e3) for p in model.parameters()]\n        {CLIP}"),
        ("the gradient is never clipped", CLIP, "pass")),
    *of(loop_module, None, check.decays_matrices_alone,
        ("weight decay on biases and gains", "\"weight_decay\": 0.0}", "\"weight_decay\": weight_decay}"),
        ("no weight decay at all", "\"weight_decay\": weight_decay},", "\"weight_decay\": 0.0},")),

    *of(blocks_module, "Residual", checks.drops_what_a_layer_adds,
        ("a layer's output is dropped in eval mode too", "return drop(x, self.dropout) if self.training else x",
         "return drop(x, self.dropout)"),
        ("a layer's output is never dropped", "return drop(x, self.dropout) if self.training else x", "return x"),
        ("a layer's dropout taken for the probability of keeping", "return drop(x, self.dropout) if",
         "return drop(x, 1 - self.dropout) if"),
        ("the sum is dropped, the skip connection with it", "return x + self._drop(f(self.norm(x)))",
         "return self._drop(x + f(self.norm(x)))")),
]
