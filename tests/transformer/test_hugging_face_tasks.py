"""Against Hugging Face's transformers: choices among texts, a classifier on GPT-2; logits, gradients, files."""
from __future__ import annotations

import json

import pytest
import torch
from safetensors.torch import load_file

from course_lib.hub import HubError
from course_lib.transformer import GPT, GPTClassifier, MultipleChoice, SequenceClassifier, pretrained, pretrained_bert
from tests.support.hugging_face import store
from tests.support.random import rng
from tests.support.tensors import same
from tests.transformer.bert_checks import MASK, TOKENS, TYPES

transformers = pytest.importorskip("transformers")

CHOICES = [torch.stack([part, part.flip(0)], dim=1) for part in (TOKENS, TYPES, MASK)]


def perturbed(cls, config):
    """A model of which every tensor was perturbed, in eval mode."""
    torch.manual_seed(0)
    model, generator = getattr(transformers, cls)(config).eval(), rng(0)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.5 * torch.randn(p.shape, generator=generator))
    return model


@pytest.fixture(scope="module")
def chooser():
    return perturbed("BertForMultipleChoice", transformers.BertConfig(
        vocab_size=11, max_position_embeddings=10, hidden_size=12, num_hidden_layers=2, num_attention_heads=3,
        intermediate_size=20))


@pytest.fixture(scope="module")
def classifier():
    return perturbed("GPT2ForSequenceClassification", transformers.GPT2Config(
        vocab_size=11, n_positions=10, n_embd=12, n_layer=2, n_head=3, n_inner=20, num_labels=4, pad_token_id=1,
        bos_token_id=0, eos_token_id=1))


def chosen(model):
    tokens, types, mask = CHOICES
    return model(tokens, attention_mask=mask.long(), token_type_ids=types).logits


def same_gradients(ours, want_from, got, want, names):
    """Of the sum of squares, every parameter of ours beside its part, or parts, of theirs."""
    mine, parameters = dict(ours.named_parameters()), dict(want_from.named_parameters())
    gradients = torch.autograd.grad(got.square().sum(), list(mine.values()), materialize_grads=True, allow_unused=True)
    read = 0
    for g, name in zip(gradients, mine, strict=True):
        parts = [parameters[part] for part in names(name) if part in parameters]
        if parts:
            expected = torch.cat(torch.autograd.grad(want.square().sum(), parts, retain_graph=True))
            same(g, expected.T if ".c_" in names(name)[0] and g.dim() == 2 else expected, 1e-4)     # GPT-2 turns them
            read += 1
        else:
            assert not g.any()
    assert read == len([name for name in mine if not name.startswith(("bert.mlm", "bert.nsp"))])


def test_multiple_choice(tmp_path, chooser):
    chooser.save_pretrained(tmp_path / "theirs")
    ours, want = MultipleChoice.from_pretrained(tmp_path / "theirs"), chosen(chooser)
    got = ours(*CHOICES)
    same(got, want, 1e-5)
    inside = pretrained_bert._names(ours.bert)
    same_gradients(ours, chooser, got, want, lambda name: (name.replace("head.", "classifier."),)
                   if name.startswith("head.") else inside[name.removeprefix("bert.")])
    ours.save_pretrained(tmp_path / "ours")
    again, report = transformers.BertForMultipleChoice.from_pretrained(tmp_path / "ours", output_loading_info=True)
    assert not any(report[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    same(chosen(again.eval()), want, 1e-5)
    same(MultipleChoice.from_pretrained(tmp_path / "ours")(*CHOICES), got, 0)
    with pytest.raises(HubError, match="expected BertForSequenceClassification, for a SequenceClassifier"):
        SequenceClassifier.from_pretrained(tmp_path / "theirs")


def test_gpt_classifier(tmp_path, classifier):
    """Theirs tells padding by its number; ours by that too, or by a mask."""
    classifier.save_pretrained(tmp_path / "theirs")
    ours, padded = GPTClassifier.from_pretrained(tmp_path / "theirs"), TOKENS.masked_fill(~MASK, 1)
    want, got = classifier(padded, attention_mask=MASK.long()).logits, ours(padded)
    assert ours.pad_id == 1 and not ours.training
    same(got, want, 1e-5)
    same(ours(TOKENS, MASK), want, 1e-5)
    places = (MASK.flip(1).long().cumsum(dim=1) - 1).clamp(min=0)
    same(ours(padded.flip(1), MASK.flip(1)),
         classifier(padded.flip(1), attention_mask=MASK.flip(1).long(), position_ids=places).logits, 1e-5)
    inside = pretrained._gpt_names(ours.gpt)
    same_gradients(ours, classifier, got, want, lambda name: ("score.weight",) if name.startswith("head.")
                   else (f"transformer.{inside[name.removeprefix('gpt.')]}",))
    ours.save_pretrained(tmp_path / "ours")
    again, report = type(classifier).from_pretrained(tmp_path / "ours", output_loading_info=True)
    assert not any(report[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    assert again.config.num_labels == 4
    same(again.eval()(padded, attention_mask=MASK.long()).logits, want, 1e-5)
    same(GPTClassifier.from_pretrained(tmp_path / "ours")(padded), got, 0)


def test_other_files_refused(tmp_path, classifier):
    classifier.save_pretrained(tmp_path)
    with pytest.raises(HubError, match="unexpected are score.weight"):
        GPT.from_pretrained(tmp_path)
    tensors, config = load_file(tmp_path / "model.safetensors"), json.loads((tmp_path / "config.json").read_text())
    for tensors, config, said in (
            (tensors, config | {"architectures": ["GPT2LMHeadModel"]}, "expected GPT2ForSequenceClassification, for a G"),
            ({k: t for k, t in tensors.items() if k != "score.weight"}, config, "lacks score.weight"),
            (tensors | {"score.weight": torch.zeros(4, 11)}, config, r"score.weight gives weight the shape \(4, 11\)"),
            (tensors, config | {"pad_token_id": 11}, r"pad_id is 11; expected 0 to 10")):
        store(tmp_path, tensors, config)
        with pytest.raises(HubError, match=said):
            GPTClassifier.from_pretrained(tmp_path)
