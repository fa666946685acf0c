"""Faults planted in label smoothing, the schedule and the steps of training; see `tests.mutation`."""
from __future__ import annotations

from course_lib.training import batches as batches_module
from course_lib.training import loop as loop_module
from course_lib.training import losses as losses_module
from course_lib.training import schedules as schedules_module
from tests.mutation import faults
from tests.training import checks as check

L, S = losses_module, schedules_module
CLIP = "nn.utils.clip_grads_with_norm_(parameters, clip, norm)"

MUTANTS = [
    *faults(L, None, check.smooths_in_both_forms,
        ("the slide's form shares eps among all classes",
         "label_smoothing=eps * V / (V - 1) if form == \"slide\" else eps", "label_smoothing=eps"),
        ("torch's form shares eps among the other classes",
         "label_smoothing=eps * V / (V - 1) if form == \"slide\" else eps", "label_smoothing=eps * V / (V - 1)"),
        ("the class of padding is in the mean", "logits, target = logits[target != ignore], target[target != ignore]",
         "pass"),
        ("padding adds nothing and is counted", "logits, target = logits[target != ignore], target[target != ignore]",
         "logits = logits.masked_fill((target == ignore)[:, None], 0) - 0"),
        ("the smoothed targets do not sum to one", "(1 - one_hot if form == \"slide\" else 1) * rest",
         "rest")),
    *faults(S, None, check.warms_up_from_step_one,
        ("the rise with the wrong power of the warm-up", "step * warmup ** -1.5", "step * warmup ** -1.0"),
        ("the steps counted from zero", "min(step ** -0.5, step * warmup ** -1.5)",
         "min(step ** -0.5, (step - 1) * warmup ** -1.5)"),
        ("the factor's steps counted from zero", "min(step / w, math.sqrt(w / step))",
         "min((step - 1) / w, math.sqrt(w / step))"),
        ("the larger of the two branches", "min(step ** -0.5, step", "max(step ** -0.5, step"),
        ("step 0 has a rate", "if value < 1:", "if value < 0:", ZeroDivisionError),
        ("a wider model takes larger steps", "d_model ** -0.5 *", "d_model ** 0.5 *")),

    *faults(loop_module, None, check.clips_by_the_global_norm,
        ("each tensor is clipped by itself", CLIP, "[nn.utils.clip_grad_norm_([p], clip) for p in parameters]"),
        ("each component is clipped", CLIP, "nn.utils.clip_grad_value_(parameters, clip)"),
        ("short gradients are made longer", CLIP, "[p.grad.mul_(clip / norm) for p in parameters]"),
        ("the gradient is never clipped", CLIP, "pass")),
    *faults(batches_module, None, check.looks_at_every_row_of_what_it_knows,
        ("only the first rows are looked at", "torch.arange(count(data)).split(ROWS):",
         "torch.arange(count(data)).split(ROWS)[:1]:"),
        ("nothing is looked at, and all is trusted", "        check(take(data, rows, device))", "        pass"),
        ("the check of another loss", "if None not in line and line[0] <= line[1] else None", "if None not in line else None",
         ValueError)),
    *faults(loop_module, None, check.decays_matrices_alone,
        ("weight decay on biases and gains", "\"weight_decay\": 0.0}", "\"weight_decay\": weight_decay}"),
        ("no weight decay at all", "\"weight_decay\": weight_decay},", "\"weight_decay\": 0.0},")),
]
