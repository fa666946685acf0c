"""Faults planted in the source of the library, one change each, and the check that has to see it.

A mutant names a module, a piece of its source and what stands there instead. The changed module is executed under
another name; the library itself is left alone. A piece that no longer occurs exactly once is an error, so the list
cannot go stale unseen.
"""
from __future__ import annotations

import inspect
import sys
import types
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Callable, Sequence

from course_lib.text.decoding import beam as beam_module
from course_lib.text.decoding import stochastic as stochastic_module
from course_lib.text.decoding import walk as walk_module
from course_lib.transformer import attention as attention_module
from course_lib.transformer import bert as bert_module
from course_lib.transformer import blocks as blocks_module
from course_lib.transformer import corruption as corruption_module
from course_lib.transformer import gpt as gpt_module
from course_lib.transformer import positions as positions_module
from tests.transformer import bert_checks
from tests.transformer import checks as check


@dataclass
class Mutant:
    trap: str
    module: ModuleType
    old: str
    new: str
    caught_by: Callable[[Any], None]
    name: str | None = None                                          # what the check is given; None: the module
    accident: Sequence[type[Exception]] = ()                         # errors by which torch itself refuses it

    def broken(self) -> Any:
        module = planted(self.module, self.old, self.new)
        return module if self.name is None else getattr(module, self.name)


def planted(module: ModuleType, old: str, new: str) -> ModuleType:
    """The module with one piece of its source changed, beside the one that the library uses."""
    source = inspect.getsource(module)
    if source.count(old) != 1:
        raise LookupError(f"{module.__name__} holds {old!r} {source.count(old)} times; needed is once")
    copy = types.ModuleType(f"{module.__name__}_planted")
    sys.modules[copy.__name__] = copy                                # dataclasses look their module up
    exec(compile(source.replace(old, new), copy.__name__, "exec"), copy.__dict__)
    return copy


def of(module: ModuleType, name: str | None, caught_by: Callable[[Any], None], *rows: tuple):
    """Mutants of one thing: rows of a trap, the old and the new source, and errors by which torch itself refuses it."""
    return [Mutant(trap, module, old, new, caught_by, name, accident) for trap, old, new, *accident in rows]


A, P, B, G = attention_module, positions_module, blocks_module, gpt_module
SPLIT = "x.unflatten(-1, (-1, self.heads, K)).permute(2, 0, 3, 1, 4)"
SOFTMAX = "scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)"

MUTANTS = [
    # attention
    *of(A, "attention", check.is_the_equation,
        ("the softmax over the queries, not over the keys", SOFTMAX, SOFTMAX.replace("-1", "-2")),
        ("no scale at all", "k.transpose(-2, -1) / math.sqrt(K)", "k.transpose(-2, -1)"),
        ("scores divided by the width, not by its root", "/ math.sqrt(K)", "/ K"),
        ("scores divided by the root of the number of keys", "K = q.shape[-1]", "K = k.shape[-2]"),
        ("masked after the softmax: rows no longer sum to one",
         SOFTMAX, "scores.softmax(dim=-1)"),
        ("a mask that says what is hidden", "    check_mask(mask, scores.shape)",
         "    check_mask(mask, scores.shape)\n    mask = ~mask"),
        ("masked by a small number that real scores can reach",
         SOFTMAX, SOFTMAX.replace("-torch.inf", "-1.0"))),
    *of(A, "attention", check.gives_zeros_where_nothing_may_be_seen,
        ("a row of minus infinities alone: NaN, and NaN in every gradient", "return weights.masked_fill(~mask, 0)",
         "return weights"),
        ("minus infinity added: NaN comes back through the gradients", SOFTMAX,
         "(scores + mask.log()).softmax(dim=-1)"),
        ("a query without keys attends to all of them", "return weights.masked_fill(~mask, 0)",
         "return weights.nan_to_num(1 / k.shape[-2])")),
    *of(A, "fused_attention", check.gives_zeros_where_nothing_may_be_seen,
        ("the kernel's own answer for a query without keys",
         "return out if reachable is None else out.masked_fill(~reachable, 0)",
         "return out")),
    *of(A, "fused_attention", check.refuses_what_only_happens_to_fit,
        ("a mask with some of the axes of the scores: it fits where B equals H",
         "fits = mask.dim() in (2, len(scores)) and all(", "fits = all("),
        ("numbers in place of a boolean mask", "if mask.dtype != torch.bool:", "if False:", NotImplementedError)),
    *of(A, "fused_attention", check.drops_under_masks,
        ("where weights are dropped the mask is forgotten", "    if mask is not None:\n        scores = scores +",
         "    if False:\n        scores = scores +"),
        ("where weights are dropped the scale is forgotten", "scores = q / math.sqrt(q.shape[-1]) @", "scores = q @"),
        ("where weights are dropped the future is seen",
         "causal_mask(T, device=q.device) if causal else mask, dropout)",
         "mask, dropout)")),
    *of(A, "attention", check.drops_weights,
        ("dropout of the output, not of the weights", "return drop(weights, dropout) @ v",
         "return drop(weights @ v, dropout)"),
        ("the probability of dropping taken for that of keeping", "drop(weights, dropout) @ v",
         "drop(weights, 1 - dropout if dropout else 0.0) @ v"),
        ("what is kept is not rescaled", ".mul_(65536 / (65536 - dropped))", "")),
    *of(A, "drop", check.drops_independently,
        ("one random number for four components", "bits[:x.numel()].view(x.shape)",
         "bits[::4].repeat_interleave(4)[:x.numel()].view(x.shape)"),
        ("the highest bit of the random numbers is never set", ".random_(-2 ** 63, None)", ".random_()")),
    *of(A, "causal_mask", check.is_causal,
        ("the diagonal hidden: no position sees itself", ".tril(m - n)", ".tril(m - n - 1)"),
        ("one position of the future is seen", ".tril(m - n)", ".tril(m - n + 1)"),
        ("queries taken for the first of the positions, not the last", ".tril(m - n)", ".tril()"),
        ("the mask turned round", ".tril(m - n)", ".tril(m - n).logical_not()")),
    *of(A, "padding_mask", check.hides_padding,
        ("one position of padding is seen", "device=lengths.device) < lengths", "device=lengths.device) <= lengths")),
    *of(A, "MultiHeadAttention", check.is_torchs_multihead,
        ("heads cut by a plain reshape, which mixes positions", SPLIT,
         "x.unflatten(-1, (-1, self.d_model)).transpose(0, 2).transpose(1, 2).reshape(-1, len(x), self.heads, "
         "x.shape[1], K)"),
        ("heads interleaved: component j goes to head j mod H", SPLIT,
         "x.unflatten(-1, (-1, K, self.heads)).permute(2, 0, 4, 1, 3)"),
        ("heads put together without swapping the axes back", "heads.transpose(1, 2).flatten(2)",
         "heads.reshape(x.shape)"),
        ("keys and values exchanged", "return tuple(qkv) if cache", "return tuple(qkv[[0, 2, 1]]) if cache"),
        ("no output projection", "return self.out(heads.transpose(1, 2).flatten(2))",
         "return heads.transpose(1, 2).flatten(2)"),
        ("the bias of the queries under the memory's keys", "self.qkv.bias[D:])", "self.qkv.bias[:2 * D])"),
        ("causal given with a mask, and forgotten", "combine_masks(causal_mask(T, S, q.device), mask), False",
         "combine_masks(mask), False")),
    *of(A, "MultiHeadAttention", check.tells_rows_from_heads,
        ("a mask for each row taken for one for each head", "return mask[:, None] if mask.dim() == 3 else mask",
         "return mask[None] if mask.dim() == 3 else mask")),
    *of(A, "MultiHeadAttention", check.drops_in_training_alone,
        ("dropout goes on in eval mode", "self.dropout if self.training else 0.0", "self.dropout"),
        ("dropout on attention weights forgotten", "self.dropout if self.training else 0.0", "0.0")),
    *of(A, None, check.continues_from_its_cache,
        ("the positions of a chunk in another order", ".copy_(kv)", ".copy_(kv.roll(1, dims=3))"),
        ("what was cached is lost when the room grows", "if old is not None:", "if False:"),
        ("new positions written over the first ones", "self.kv.narrow(3, start, T)", "self.kv.narrow(3, 0, T)"),
        ("rows of the cache are not reordered", "filled if rows is None else filled[:, rows]",
         "filled if rows is None else filled[:, :1]"),
        ("the cache shared with the one it was selected from",
         "copy.length = self.length if length is None else length",
         "copy.length = self.length = self.length if length is None else length")),

    # positions
    *of(P, "sinusoidal", check.is_the_table,
        ("angles in single precision", "positions[..., None].double() * frequencies(d, base, positions.device)",
         "(positions[..., None].float() * frequencies(d, base, positions.device).float()).double()"),
        ("exponent i / d instead of 2 i / d", "base ** (-2 * i / d)", "base ** (-i / d)"),
        ("the exponent counts columns, not pairs: the cosine has a frequency of its own", "base ** (-2 * i / d)",
         "base ** (-2 * i / (d - 1 or 1))"),
        ("all sines, then all cosines", "dim=-1).flatten(-2)[..., :d]     #", "dim=-2).flatten(-2)[..., :d]     #"),
        ("cosine first", "torch.stack([angle.sin(), angle.cos()]", "torch.stack([angle.cos(), angle.sin()]"),
        ("an odd width loses a column", "torch.arange((d + 1) // 2", "torch.arange(d // 2"),
        ("positions counted from one", "positions[..., None].double() * frequencies",
         "(positions[..., None].double() + 1) * frequencies")),
    *of(P, "rotary", check.turns_pairs,
        ("one of the two components turned the other way", "a * sin + b * cos", "b * cos - a * sin"),
        ("the first position for all", "angle = positions[..., None].double() * omega",
         "angle = positions[:1, None].double() * omega + 0 * positions[..., None]"),
        ("positions passed are ignored, as with a cache", "if positions is None else positions\n    angle",
         "if True else positions\n    angle")),

    # blocks
    *of(B, "layer_norm", check.is_torchs_layer_norm,
        ("the variance of a sample, over D - 1", "(x - mean).square().mean(dim=-1, keepdim=True)",
         "x.var(dim=-1, keepdim=True)"),
        ("eps outside the root", "(variance + eps).sqrt()", "(variance.sqrt() + eps)"),
        ("variance as a difference of squares", "(x - mean).square().mean(dim=-1, keepdim=True)",
         "x.float().square().mean(dim=-1, keepdim=True).double() - mean.square()"),
        ("over all positions at once", "mean = x.mean(dim=-1, keepdim=True)",
         "mean = x.mean(dim=(-2, -1), keepdim=True)"),
        ("no shift", "(variance + eps).sqrt() + beta", "(variance + eps).sqrt() + 0 * beta")),
    *of(B, "Residual", check.stands_where_it_says,
        ("post-LN called pre-LN", "return x + self._drop(f(self.norm(x)))",
         "return self.norm(x + self._drop(f(x)))"),
        ("the skip connection goes round the norm as well", "return self.norm(x + self._drop(f(x)))",
         "return x + self.norm(x + self._drop(f(x)))"),
        ("the normed input is what is added to", "return x + self._drop(f(self.norm(x)))",
         "x = self.norm(x)\n            return x + self._drop(f(x))")),
    *of(B, None, check.is_torchs_encoder_layer,
        ("the second residual adds the block's input, as one slide prints it",
         "u = self.residual1(x, lambda y: self.attention(y, mask=mask, causal=causal, cache=cache))\n"
         "        return self.residual2(u, self.feed_forward)",
         "u = self.residual1(x, lambda y: self.attention(y, mask=mask, causal=causal, cache=cache))\n"
         "        return self.residual2(x, lambda y: self.feed_forward(self.residual2.norm(u)))"),
        ("the tanh form of GELU for the exact one", '"gelu": F.gelu,',
         '"gelu": lambda x: F.gelu(x, approximate="tanh"),'),
        ("one norm for both layers", "return self.residual2(u, self.feed_forward)\n\n\nclass DecoderBlock",
         "return self.residual1(u, self.feed_forward)\n\n\nclass DecoderBlock")),
    *of(B, None, check.is_torchs_decoder_layer,
        ("the decoder looks ahead", "self.attention(y, mask=mask, causal=True, cache=cache)",
         "self.attention(y, mask=mask, cache=cache)"),
        ("the mask of the memory forgotten", "self.cross_attention(y, memory, mask=memory_mask)",
         "self.cross_attention(y, memory)"),
        ("the decoder attends to itself twice", "self.cross_attention(y, memory, mask=memory_mask)",
         "self.cross_attention(y, y)")),
    *of(B, None, check.is_the_six_equations,
        ("the scale of equation 2 forgotten", "Q, K) / k ** 0.5", "Q, K)"),
        ("beta of equation 4 a single number", "gamma1, beta1, eps)", "gamma1, beta1.mean().expand_as(beta1), eps)")),

    # GPT
    *of(G, None, check.keeps_the_past_from_the_future,
        ("no causal mask", "block(x, attend, causal=True, cache=cache)", "block(x, attend, cache=cache)"),
        ("a norm over the positions", "return self.norm(x)", "return self.norm(x - x.mean(dim=1, keepdim=True))")),
    *of(G, None, check.keeps_the_contract,
        ("tokens not shifted: each helps to predict itself", "torch.cat([prompt, x[:, :-1]], dim=1)",
         "torch.cat([prompt[:, 1:], x], dim=1)"),
        ("the outputs of the prompt taken for those of x", "self._hidden(tokens, mask)[:, P - 1:]",
         "self._hidden(tokens, mask)[:, :n]")),
    *of(G, None, check.generates_as_without_cache,
        ("every cached step at position 0", "self._embedded(tokens[:, -1:], mask, caches[0].length)",
         "self._embedded(tokens[:, -1:], mask, 0)"),
        ("every cached step of training at position 0", "caches[0].length if caches else 0", "0"),
        ("a step without the second norm", "wide = F.linear(_normed(x, block.residual2.norm)", "wide = F.linear(x"),
        ("a step without its second skip connection", "x = x + F.linear(ACTIVATIONS", "x = F.linear(ACTIVATIONS"),
        ("a step that reads itself alone", "k, v = cache.append(qkv[1:])", "k, v = cache.append(qkv[1:])[..., -1:, :]"),
        ("past the window one token fewer is read", "tokens[:, -self.window:], None if",
         "tokens[:, 1 - self.window:], None if"),
        ("past the window the newest token is dropped, not the oldest", "tokens[:, -self.window:], None if",
         "tokens[:, :self.window], None if"),
        ("the cache given up one step early, and a token with it", "if tokens.shape[1] > self.window:",
         "if tokens.shape[1] >= self.window:\n            tokens = tokens[:, 1:]"),
        ("logits of the first position of a prompt", "self._hidden(tokens, mask, caches)[:, -1]))",
         "self._hidden(tokens, mask, caches)[:, 0]))")),
    *of(G, None, check.takes_unequal_prompts,
        ("padding on the left is attended to", "attend = None if mask is None else mask[:, None, :]", "attend = None"),
        ("padding on the left is attended to, step by step", "attend = None if mask is None else mask[:, None, None]",
         "attend = None"),
        ("padding on the left takes up positions", "(mask.cumsum(dim=1) - 1).clamp(min=0)",
         "torch.arange(mask.shape[1]).expand_as(mask)"),
        ("the mask is not reordered with the rows", "None if state.mask is None else state.mask[rows]", "state.mask"),
        ("the cache is not reordered with the rows", "cache.select(rows, known) for", "cache.select(None, known) for"),
        ("the new token is taken for padding", "state.mask, (0, 1), value=True", "state.mask, (0, 1), value=False"),
        ("the mask is not shortened with the window", "mask[:, -self.window:]", "mask[:, :self.window]")),
    *of(G, None, check.may_branch,
        ("two updates of one state write to one cache", "if caches[0].length != known:", "if False:")),
    *of(G, None, check.loss_is_the_mean_of_the_next_tokens,
        ("each token is its own target", "target = tokens[:, 1:]", "target = tokens[:, :-1]"),
        ("padding is in the mean", "logits, target = logits[counted], target[counted]", "pass"),
        ("padding predicts", "counted = mask[:, 1:] & mask[:, :-1]", "counted = mask[:, :-1]")),
    *of(G, None, check.ties_its_embeddings,
        ("the output layer is a copy, not the table itself",
         "self.head = None if c.tied else nn.Linear(c.d_model, c.vocabulary, bias=False)",
         "self.head = nn.Linear(c.d_model, c.vocabulary, bias=False)")),

    # BERT
    *of(bert_module, None, bert_checks.reads_both_sides_and_no_padding,
        ("BERT reads the past alone", "x = block(x, attend)", "x = block(x, attend, causal=True)"),
        ("BERT reads the padding", "x = block(x, attend)", "x = block(x)")),
    *of(bert_module, None, bert_checks.padding_changes_nothing,
        ("the sentence is the mean of all tokens, padding too", "self.pooler(x[:, 0])", "self.pooler(x.mean(dim=1))")),
    *of(bert_module, None, bert_checks.loss_is_on_the_chosen,
        ("the loss of all positions", "encoded.tokens[batch.chosen], self.tokens.weight)",
         "encoded.tokens.flatten(0, 1), self.tokens.weight)\n"
         "        batch = batch._replace(chosen=batch.chosen | True)"),
        ("kept tokens are not in the loss", "batch = PretrainingBatch(*batch)", "batch = PretrainingBatch(*batch)\n"
         "        batch = batch._replace(chosen=batch.chosen & (batch.tokens != batch.targets))"),
        ("the corrupted token is the target", "batch.targets[batch.chosen]", "batch.tokens[batch.chosen]"),
        ("next and not next exchanged", "(~batch.next.bool()).long()", "batch.next.long()"),
        ("the head without its norm", "F.linear(self.norm(ACTIVATIONS", "F.linear((ACTIVATIONS")),
    *of(corruption_module, "mask_tokens", bert_checks.masks_as_the_paper,
        ("special tokens are chosen too", "chosen = ordinary[tokens] & (u < rate)", "chosen = u < rate"),
        ("padding is chosen too", "chosen &= mask", "pass"),
        ("the fate of a token from the number that chose it", "(u < rate)", "(u < rate)\n    fate = u"),
        ("all that is chosen is hidden", "torch.where(chosen & hidden, mask_id, read)",
         "torch.where(chosen, mask_id, read)"),
        ("one in twenty of the chosen is replaced, not one in ten", "shares[0] + shares[1]\n",
         "shares[0] + shares[1] * 0.5\n"),
        ("special tokens are put in", "candidates = ordinary.nonzero()[:, 0]",
         "candidates = torch.arange(vocabulary)"),
        ("every row has its tokens replaced alike", "candidates[pick]", "candidates[pick[:1]]"),
        ("one token in a hundred more than the paper", "(u < rate)", "(u < rate * 1.05)")),
    *of(corruption_module, "sentence_pairs", bert_checks.pairs_as_the_paper,
        ("the random sentence may be of the same document", "everything[i + len(document) * (i >= begin)]",
         "everything[i]"),
        ("three pairs in five follow", "generator=generator) < 0.5", "generator=generator) < 0.6"),
        ("the next document's sentences only", "everything[i + len(document) * (i >= begin)]",
         "everything[(begin + len(document)) % len(everything)]"),
        ("pairs do not overlap: every second sentence is never first", "zip(document[:-1], document[1:])",
         "zip(document[:-1:2], document[1::2])")),

    # decoding
    *of(beam_module, "beam_search", check.narrow_beam_is_the_plain_loop,
        ("the end token is not counted in the length", "score = total / (t + 1) ** exponent",
         "score = total / max(t, 1) ** exponent"),
        ("scores are not normalised", "score = total / (t + 1) ** exponent", "score = total"),
        ("divided by the exponent times the length", "score = total / (t + 1) ** exponent",
         "score = total / (1 + t * exponent)"),
        ("finished hypotheses stay in the beam and grow", "total.masked_fill(ends, -torch.inf).topk",
         "total.masked_fill(ends & (value != end), -torch.inf).topk"),
        ("the beam shrinks: of k candidates, those that end are not replaced", "total.topk(2 * k, dim=-1)",
         "total.topk(k, dim=-1)"),
        ("anything among the 2 k candidates may finish",
         "-torch.inf)[:, :k]          # only the first k may finish\n"
         "            done = _merge(done, Decoded(candidates[:, :k], torch.full_like(row[:, :k], t + 1), total[:, :k], "
         "score))",
         "-torch.inf)\n"
         "            done = _merge(done, Decoded(candidates, torch.full_like(row, t + 1), total, score))"),
        ("the search stops at the first finished hypothesis", "(best_open > done.score[:, -1:])",
         "(best_open > done.score[:, :1])"),
        ("states are not reordered with the beams", "model.select(state, rows), tokens[..., t]",
         "state, tokens[..., t]"),
        ("all beams begin alike, and stay alike", "log_p[:, 0] = 0  ", "log_p[:] = 0  "),
        ("probabilities added up, not their logarithms", "model.predict(state)).view(B, k, V)",
         "model.predict(state)).view(B, k, V).exp()")),
    *of(beam_module, "beam_search", check.wide_beam_is_exhaustive,
        ("the worst come first", "score, place = both.score.topk(a.score.shape[1], dim=-1)",
         "score, place = both.score.topk(a.score.shape[1], dim=-1)\n"
         "    score, place = score.flip(-1), place.flip(-1)")),
    *of(beam_module, "beam_search", check.width_one_is_greedy,
        ("a beam of one takes the second best", "total.topk(2 * k, dim=-1)",
         "(x.flip(-1) for x in total.topk(2 * k, dim=-1))")),
    *of(walk_module, "greedy", check.takes_the_best_step,
        ("the end token is not counted", "written[:, 1:] = (tokens != end)[:, :-1].cumprod(dim=1)",
         "written[:] = (tokens != end).cumprod(dim=1)")),
    *of(walk_module, "greedy", lambda greedy: check.rows_of_a_batch_are_alone(
            lambda model, n, prompts: greedy(model, n, prompts, end=2)),
        ("the whole batch stops with its first row", "and not going.any()", "and not going.all()"),
        ("what follows the end counts", ".masked_fill(~written, 0).double()", ".double()")),
    *of(walk_module, "keep_top_k", check.keeps_top_k,
        ("of values that tie with the k-th some are dropped", "return log_p >= least",
         "best = log_p.topk(min(k, log_p.shape[-1])).indices\n"
         "    return torch.zeros_like(log_p, dtype=torch.bool).scatter(-1, best, True)"),
        ("a k above the vocabulary fails", "min(k, log_p.shape[-1]), dim=-1)", "k, dim=-1)", RuntimeError)),
    *of(walk_module, "keep_top_p", check.keeps_top_p,
        ("the value that crosses p is dropped", "keep = tail > 1 - p ",
         "keep = (rank.values.softmax(-1).flip(-1).cumsum(-1) <= p).flip(-1) "),
        ("one too many: the mass has reached p already", "keep = tail > 1 - p ", "keep = tail >= 1 - p "),
        ("a small p keeps nothing", "keep = tail > 1 - p                                              # else those "
         "above it reach p without it\n    keep[..., -1] = True",
         "keep = (rank.values.softmax(-1).flip(-1).cumsum(-1) < p).flip(-1)"),
        ("kept by rank and not put back in place", "scatter(-1, rank.indices, keep)", "logical_or(keep)")),
    *of(walk_module, "reshape", check.reshapes,
        ("multiplied by the temperature", "log_p = log_p / temperature", "log_p = log_p * temperature"),
        ("temperature zero divides by zero", "if temperature == 0:", "if False:"),
        ("the temperature comes after the truncation", "keep_top_p(log_p, top_p), -torch.inf)",
         "keep_top_p(log_p * temperature, top_p), -torch.inf)"),
        ("what is kept is not normalised again", "    return log_p.log_softmax(dim=-1)\n\n\ndef keep_top_k",
         "    return log_p\n\n\ndef keep_top_k")),
    *of(walk_module, "sample", check.draws_what_it_says,
        ("one uniform for all steps", "family.draw(family(changed), u[:, t])", "family.draw(family(changed), u[:, 0])"),
        ("drawn from the model, whatever was asked for", "family.draw(family(changed), u[:, t])",
         "family.draw(family(log_p), u[:, t])"),
        ("what follows the end is in the score", "steps.masked_fill(~alive, 0)", "steps")),
    *of(walk_module, "sample", check.draws_the_same_first_rows,
        ("uniforms step by step: rows depend on the batch", "family.draw(family(changed), u[:, t])",
         "family.draw(family(changed), torch.rand(batch, 1, generator=generator, dtype=torch.float64))")),
    *of(stochastic_module, "stochastic_beam", check.draws_without_replacement,
        ("fresh noise at every step: not conditioned on the parent", "G = _gumbel_below(child, perturbed, u)",
         "G = child - torch.log(-torch.log(u))"),
        ("noise on the probability of the step alone", "G = _gumbel_below(child, perturbed, u)",
         "G = _gumbel_below(step, perturbed, u)"),
        ("the likeliest continuations, without noise", "G = _gumbel_below(child, perturbed, u)", "G = child"),
        ("finished sequences leave the beam for good", "b.masked_fill(going, -torch.inf)], dim=1)",
         "torch.full_like(b, -torch.inf)], dim=1)")),
]
