"""Faults planted in greedy search, beam search and the samplers; see `tests.mutation`."""
from __future__ import annotations

from course_lib.decoding import beam as beam_module
from course_lib.decoding import sampling as sampling_module
from course_lib.decoding import stochastic as stochastic_module
from tests.decoding import checks as check
from tests.mutation import faults

MUTANTS = [
    *faults(beam_module, "beam_search", check.narrow_beam_is_the_plain_loop,
        ("the end token is not counted in the length", "score = total / (t + 1) ** length_penalty",
         "score = total / max(t, 1) ** length_penalty"),
        ("scores are not normalised", "score = total / (t + 1) ** length_penalty", "score = total"),
        ("divided by the exponent times the length", "score = total / (t + 1) ** length_penalty",
         "score = total / (1 + t * length_penalty)"),
        ("finished hypotheses stay in the beam and grow", "total.masked_fill(ends, -torch.inf).topk",
         "total.masked_fill(ends & (value != eos_id), -torch.inf).topk"),
        ("the beam shrinks: of k candidates, those that end are not replaced", "total.topk(2 * k, dim=-1)",
         "total.topk(k, dim=-1)"),
        ("anything among the 2 k candidates may finish",
         "-torch.inf)[:, :k]\n"
         "            lengths = torch.full_like(row[:, :k], t + 1)\n"
         "            done = _merge(done, Decoded(candidates[:, :k], lengths, total[:, :k], score))",
         "-torch.inf)\n"
         "            done = _merge(done, Decoded(candidates, torch.full_like(row, t + 1), total, score))"),
        ("the search stops at the first finished hypothesis", "(best_open > done.score[:, -1:])",
         "(best_open > done.score[:, :1])"),
        ("states are not reordered with the beams", "state = model.select(state, rows)  #",
         "pass  #"),
        ("all beams begin alike, and stay alike", "log_p[:, 0] = 0  ", "log_p[:] = 0  "),
        ("probabilities added up, not their logarithms", "model.predict(state)).view(B, k, V)",
         "model.predict(state)).view(B, k, V).exp()")),
    *faults(beam_module, "beam_search", check.wide_beam_is_exhaustive,
        ("the worst come first", "score, place = both.score.topk(a.score.shape[1], dim=-1)",
         "score, place = both.score.topk(a.score.shape[1], dim=-1)\n"
         "    score, place = score.flip(-1), place.flip(-1)")),
    *faults(beam_module, "beam_search", check.width_one_is_greedy,
        ("a beam of one takes the second best", "total.topk(2 * k, dim=-1)",
         "(x.flip(-1) for x in total.topk(2 * k, dim=-1))")),
    *faults(sampling_module, "greedy", check.takes_the_best_step,
        ("the end token is not counted", "written[:, 1:] = (tokens != eos_id)[:, :-1].cumprod(dim=1)",
         "written[:] = (tokens != eos_id).cumprod(dim=1)")),
    *faults(sampling_module, "greedy", lambda greedy: check.rows_of_a_batch_are_alone(
            lambda model, n, prompts: greedy(model, n, prompts, eos_id=2)),
        ("the whole batch stops with its first row", "and not going.any()", "and not going.all()"),
        ("what follows the end counts", ".masked_fill(~written, 0).double()", ".double()")),
    *faults(sampling_module, "keep_top_k", check.keeps_top_k,
        ("of values that tie with the k-th some are dropped", "return log_p >= least",
         "best = log_p.topk(min(k, log_p.shape[-1])).indices\n"
         "    return torch.zeros_like(log_p, dtype=torch.bool).scatter(-1, best, True)"),
        ("a k above the vocabulary fails", "min(k, log_p.shape[-1]), dim=-1)", "k, dim=-1)", RuntimeError)),
    *faults(sampling_module, "keep_top_p", check.keeps_top_p,
        ("the value that crosses p is dropped", "keep = tail > 1 - p ",
         "keep = (rank.values.softmax(-1).flip(-1).cumsum(-1) <= p).flip(-1) "),
        ("one too many: the mass has reached p already", "keep = tail > 1 - p ", "keep = tail >= 1 - p "),
        ("a small p keeps nothing", "keep = tail > 1 - p  # else those above it reach p without it\n    keep[..., -1] = True",
         "keep = (rank.values.softmax(-1).flip(-1).cumsum(-1) < p).flip(-1)"),
        ("kept by rank and not put back in place", "scatter(-1, rank.indices, keep)", "logical_or(keep)")),
    *faults(sampling_module, "reshape", check.reshapes,
        ("multiplied by the temperature", "/ max(temperature, SMALLEST)", "* max(temperature, SMALLEST)"),
        ("temperature zero samples among ties", "if temperature == 0:", "if False:"),
        ("the temperature comes after the truncation", "keep_top_p(log_p, top_p), -torch.inf)",
         "keep_top_p(log_p * temperature, top_p), -torch.inf)"),
        ("what is kept is not normalised again", "    return log_p.log_softmax(dim=-1)\n\n\ndef keep_top_k",
         "    return log_p\n\n\ndef keep_top_k")),
    *faults(sampling_module, "sample", check.draws_what_it_says,
        ("one uniform for all steps", "family.draw(family(changed), u[:, t])", "family.draw(family(changed), u[:, 0])"),
        ("drawn from the model, whatever was asked for", "family.draw(family(changed), u[:, t])",
         "family.draw(family(log_p), u[:, t])"),
        ("what follows the end is in the score", "steps.masked_fill(~alive, 0)", "steps")),
    *faults(sampling_module, "sample", check.draws_the_same_first_rows,
        ("uniforms step by step: rows depend on the batch", "family.draw(family(changed), u[:, t])",
         "family.draw(family(changed), torch.rand(batch, 1, generator=generator, dtype=torch.float64))")),
    *faults(stochastic_module, "stochastic_beam", check.draws_without_replacement,
        ("fresh noise at every step: not conditioned on the parent", "G = _gumbel_below(child, perturbed, u)",
         "G = child - torch.log(-torch.log(u))"),
        ("noise on the probability of the step alone", "G = _gumbel_below(child, perturbed, u)",
         "G = _gumbel_below(step, perturbed, u)"),
        ("the likeliest continuations, without noise", "G = _gumbel_below(child, perturbed, u)", "G = child"),
        ("finished sequences leave the beam for good", "b.masked_fill(going, -torch.inf)], dim=1)",
         "torch.full_like(b, -torch.inf)], dim=1)")),
]
