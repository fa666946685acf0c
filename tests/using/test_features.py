"""Layers as features, beside transformers' own, and bad input. Probes: checks.py."""
from __future__ import annotations

import pytest
import torch

from course_lib.tokenizers import WordPieceTokenizer
from course_lib.transformer import BERT, BERTConfig
from course_lib.using import (
    LinearProbe,
    control_labels,
    feature_extraction,
    hidden_states,
    pooled,
    untrained_twin,
)
from tests.support.tensors import same
from tests.using import checks as check

TOKENIZER = WordPieceTokenizer.fit("low lower lowest slow slower", size=30)


def small(seed=0):
    torch.manual_seed(seed)
    return BERT(BERTConfig(vocab_size=30, window=12, layers=2, heads=2, d_model=8))


def test_feature_extraction_equals_transformers(tmp_path):
    transformers = pytest.importorskip("transformers")
    (tmp_path / "vocab.txt").write_text("\n".join(TOKENIZER.vocabulary.symbols) + "\n", "utf-8")
    small().save_pretrained(tmp_path)
    tokenizer = transformers.BertTokenizer(str(tmp_path / "vocab.txt"))
    model = transformers.BertModel.from_pretrained(tmp_path)
    pipe = transformers.pipeline("feature-extraction", model=model, tokenizer=tokenizer, device="cpu")
    bert = BERT.from_pretrained(tmp_path)
    states = model(**tokenizer("slow lower", return_tensors="pt"), output_hidden_states=True).hidden_states
    tokens = TOKENIZER.encode("slow lower", bos=True, eos=True)[None]
    for mine, theirs in zip(hidden_states(bert, tokens), states):
        same(mine, theirs.detach(), 1e-5)
    texts = ["slow lower", "lowest low slow"]
    for mine, theirs in zip(feature_extraction(bert, TOKENIZER, texts), pipe(texts)):
        same(mine, torch.tensor(theirs[0]), 1e-5)


def test_hidden_states_gpt_equals_transformers(tmp_path):
    transformers = pytest.importorskip("transformers")
    model = check.gpt().float()
    model.save_pretrained(tmp_path)
    peer = transformers.GPT2LMHeadModel.from_pretrained(tmp_path).eval()
    wanted = peer(check.TOKENS[:1], output_hidden_states=True).hidden_states
    for mine, theirs in zip(hidden_states(model, check.TOKENS[:1]), wanted, strict=True):
        same(mine, theirs.detach(), 1e-4)


def test_untrained_twin():
    for model in (check.bert(), check.gpt()):
        torch.manual_seed(3)
        before = torch.get_rng_state()
        twin = untrained_twin(model, seed=1)
        assert torch.equal(torch.get_rng_state(), before)
        assert twin.config == model.config and not twin.training
        pairs = list(zip(twin.parameters(), untrained_twin(model, seed=1).parameters()))
        assert all(torch.equal(a, b) for a, b in pairs)
        assert any(not torch.equal(a, b) for a, b in zip(twin.parameters(), untrained_twin(model, seed=2).parameters()))


@pytest.mark.parametrize("call, message", [
    (lambda: pooled(torch.zeros(1, 2, 3), how="max"), "how is 'max'; expected one of mean, first, last"),
    (lambda: pooled(torch.zeros(1, 2, 3), torch.tensor([[False, False]])), "expected a real token in every row"),
    (lambda: feature_extraction(small(), TOKENIZER, "low"), "texts is the text 'low'; expected a list of texts"),
    (lambda: feature_extraction(small(), TOKENIZER, ["low " * 12]), "expected (B, T) with T from 1 to 12, the window"),
    (lambda: LinearProbe(torch.zeros(3, 2), torch.zeros(2, dtype=torch.long)),
     "vectors has shape (3, 2), and its labels or kinds have shape (2,); expected (N, D)"),
    (lambda: LinearProbe(torch.zeros(3, 2), torch.zeros(3, dtype=torch.long)),
     "labels goes from 0 to 0; expected at least two classes"),
    (lambda: LinearProbe(torch.zeros(2, 2), torch.tensor([0, 1]), C=0), "C is 0 and steps is 200; expected C above 0"),
    (lambda: control_labels(torch.tensor([1]), 1), "classes is 1; expected at least 2"),
])
def test_bad_input(call, message):
    with pytest.raises(ValueError) as error:
        call()
    assert message in str(error.value)
