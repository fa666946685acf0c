"""Against Hugging Face's transformers: GPT-2 both ways, its generate, its filters of probabilities."""
from __future__ import annotations

import pytest
import torch

from course_lib.decoding import beam_search, greedy, keep_top_k, keep_top_p, reshape
from course_lib.transformer import GPT, left_pad, pretrained
from tests.support.random import rng
from tests.support.tensors import same

transformers = pytest.importorskip("transformers")

TOKENS = torch.randint(11, (3, 9), generator=rng())
MASK = torch.arange(9) < torch.tensor([9, 4, 7])[:, None]


def theirs(seed=0, scale=0.5, **changes):
    """A GPT-2 of which every tensor was perturbed, in eval mode."""
    size = dict(vocab_size=11, n_positions=16, n_embd=12, n_layer=2, n_head=3, n_inner=20)
    torch.manual_seed(seed)
    config = transformers.GPT2Config(**{**size, "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1, **changes})
    model = transformers.GPT2LMHeadModel(config).eval()
    generator = rng(seed)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(scale * torch.randn(p.shape, generator=generator))
    return model


def pair(tmp_path, **options):
    model = theirs(**options)
    model.save_pretrained(tmp_path)
    return model, GPT.from_pretrained(tmp_path)


@pytest.mark.parametrize("changes", [{}, {"tie_word_embeddings": False},
                                     {"activation_function": "relu", "n_inner": None},
                                     {"layer_norm_epsilon": 0.1, "activation_function": "gelu"}])
def test_logits_and_round_trip(tmp_path, changes):
    model, ours = pair(tmp_path, **changes)
    want = model(TOKENS).logits
    same(ours(TOKENS), want, 1e-5)
    back = tmp_path / "back"
    ours.save_pretrained(back)
    again, report = transformers.GPT2LMHeadModel.from_pretrained(back, output_loading_info=True)
    assert not any(report[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    same(again.eval()(TOKENS).logits, want, 1e-5)


def test_logits_with_padding(tmp_path):
    """On the right, and on the left, where positions count the real tokens."""
    model, ours = pair(tmp_path)
    for mask in (MASK, MASK.flip(1)):
        positions = (mask.cumsum(1) - 1).clamp(min=0)
        want = model(TOKENS, attention_mask=mask.long(), position_ids=positions).logits
        same(ours(TOKENS, mask)[mask], want[mask], 1e-5)


def test_loss_and_gradients(tmp_path):
    model, ours = pair(tmp_path)
    for mask in (None, MASK):
        labels = TOKENS if mask is None else TOKENS.masked_fill(~mask, -100)
        want = model(TOKENS, attention_mask=None if mask is None else mask.long(), labels=labels).loss
        loss, _ = ours.loss(TOKENS if mask is None else (TOKENS, mask))
        same(loss, want, 1e-5)
        names = pretrained._gpt_names(ours)
        mine, parameters = dict(ours.named_parameters()), dict(model.transformer.named_parameters())
        got = torch.autograd.grad(loss, list(mine.values()))
        expected = torch.autograd.grad(want, [parameters[names[name]] for name in mine])
        for a, b, name in zip(got, expected, mine):
            same(a, pretrained._transpose_linear(names[name], b), 1e-5)


def test_attention_weights(tmp_path):
    model, ours = pair(tmp_path)
    model.set_attn_implementation("eager")
    for a, b in zip(ours.attention_weights(TOKENS), model(TOKENS, output_attentions=True).attentions):
        same(a, b, 1e-5)


def generated(model, prompts, end, **options):
    """What their generate writes after the prompts, up to the end token, and its scores."""
    padded, real = left_pad(prompts)
    out = model.generate(padded, attention_mask=real.long(), do_sample=False,
                         return_dict_in_generate=True, output_scores=True, early_stopping=False, eos_token_id=end,
                         pad_token_id=end, **options)
    tokens = [row[padded.shape[1]:].tolist() for row in out.sequences]
    tokens = [row[:row.index(end) + 1] if end in row else row for row in tokens]
    return tokens, getattr(out, "sequences_scores", None)


def ours_generated(found):
    tokens, size = found.tokens.flatten(0, -2), found.length.flatten()
    return [row[:n].tolist() for row, n in zip(tokens, size)]


PROMPTS = [[2, 3, 4, 5], [6], [7, 8], [9, 10, 3]]


@pytest.fixture(scope="module", params=range(3))
def pair_that_ends(request, tmp_path_factory):
    """Two models alike, and the token that as an end gives hypotheses of the most different lengths."""
    model, folder = theirs(request.param, scale=0.3), tmp_path_factory.mktemp("gpt2")
    with torch.no_grad():
        model.transformer.ln_f.bias *= 0.3
    model.save_pretrained(folder)
    ours = GPT.from_pretrained(folder)
    found = [beam_search(ours, 9, left_pad(PROMPTS), eos_id=end, num_return=4, length_penalty=0.6) for end in range(11)]
    lengths = [row.length.unique().numel() for row in found]
    assert max(lengths) > 3, "a test of sequences that end early and late"
    return model, ours, lengths.index(max(lengths))


def test_greedy_equals_generate(pair_that_ends):
    model, ours, end = pair_that_ends
    want, _ = generated(model, PROMPTS, end, max_new_tokens=10, num_beams=1)
    assert ours_generated(greedy(ours, 10, left_pad(PROMPTS), eos_id=end)) == want


@pytest.mark.parametrize("exponent", [0.0, 0.6, 1.0])
def test_beam_search_equals_generate(pair_that_ends, exponent):
    """Widths 1 to 5, several best, prompts of unequal lengths; hypotheses that end early and late."""
    model, ours, end = pair_that_ends
    for beams in range(2, 6):
        want, scores = generated(model, PROMPTS, end, max_new_tokens=9, num_beams=beams, num_return_sequences=beams,
                                 length_penalty=exponent)
        got = beam_search(ours, 9, left_pad(PROMPTS), eos_id=end, beams=beams, num_return=beams, length_penalty=exponent)
        assert ours_generated(got) == want, f"{beams} beams"
        same(got.score.flatten().float(), scores, 1e-5)


def test_filters_equal_warpers():
    """Ties and edges included: scores on a coarse grid, limits that hit sums of probabilities exactly."""
    from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper
    coarse = torch.randint(-2, 3, (500, 8), generator=rng()).float()
    exact = torch.tensor([[0.5, 0.25, 0.125, 0.125], [0.25, 0.25, 0.25, 0.25], [0.125, 0.5, 0.125, 0.25]]).log()
    for scores in (coarse, exact, torch.randn(500, 50, generator=rng(1))):
        for k in (1, 2, 3, 100):
            want = TopKLogitsWarper(k)(None, scores.clone()) > -torch.inf
            assert torch.equal(keep_top_k(scores, k), want)
        for p in (1e-6, 0.25, 0.5, 0.75, 0.875, 0.9, 1 - 1e-6):
            want = TopPLogitsWarper(p)(None, scores.clone()) > -torch.inf
            assert torch.equal(keep_top_p(scores, p), want), f"p = {p}"
        for temperature in (0.3, 1.0, 2.5):
            want = scores
            for warper in (TemperatureLogitsWarper(temperature), TopKLogitsWarper(5), TopPLogitsWarper(0.8)):
                want = warper(None, want.clone())
            same(reshape(scores, temperature, 5, 0.8).exp(), want.softmax(-1), 1e-6)
