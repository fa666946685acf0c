"""BERT: its size, its files, pairs of sentences, bad input. What it reads, its losses: bert_checks.py."""
from __future__ import annotations

import warnings

import pytest
import torch

from course_lib.hub import HubError
from course_lib.transformer.bert import (
    BERT,
    BERTConfig,
    PretrainingBatch,
    mask_tokens,
    sentence_pairs,
)
from tests.support.hugging_face import saved, store
from tests.support.random import rng
from tests.support.types import untyped
from tests.transformer.bert_checks import MASK, TOKENS, TYPES, small_bert


def test_parameter_count():
    """BERT base: 110 million parameters, as in the paper."""
    with torch.device("meta"):
        model = BERT(BERTConfig(vocab_size=30522))
    assert sum(p.numel() for p in model.parameters()) == 110_106_428
    assert sum(t.numel() for t in model.state_dict().values()) == 110_106_428


# --- what it is trained to undo --------------------------------------------------------------------------------------


def documents(count=40, seed=0):
    """Sentences that say which document they are of, and where they stand in it."""
    sizes = torch.randint(1, 12, (count,), generator=rng(seed)).tolist()
    return [[torch.tensor([d, i]) for i in range(n)] for d, n in enumerate(sizes)]


def test_sentence_pairs_order():
    docs = documents(400)
    pairs = sentence_pairs(docs, rng(), order=True)
    share = sum(pair.next for pair in pairs) / len(pairs)
    assert len(pairs) == sum(len(d) - 1 for d in docs) and abs(share - 0.5) < 4 * 0.5 / len(pairs) ** 0.5
    for a, b, follows in pairs:
        assert a[0] == b[0] and b[1] - a[1] == (1 if follows else -1)


# --- files -----------------------------------------------------------------------------------------------------------


def logits(model):
    return torch.cat([part.flatten() for part in model.pretraining_logits(TOKENS, TYPES, MASK)])


def test_files_round_trip(tmp_path):
    model, tensors, _ = saved(small_bert().float(), tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = BERT.from_pretrained(tmp_path)
    assert torch.equal(logits(again), logits(model)) and not again.training and again.config == model.config
    assert tuple(tensors["bert.encoder.layer.1.attention.self.key.weight"].shape) == (12, 12)
    assert torch.equal(tensors["bert.encoder.layer.1.attention.self.key.weight"],
                       model.blocks[1].attention.qkv.weight[12:24])


def test_files_older_names(tmp_path):
    """gamma and beta, a buffer of positions, the tied layer and its bias written out or only there."""
    model, tensors, config = saved(small_bert().float(), tmp_path)
    tensors = {name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): t
               for name, t in tensors.items()}
    tensors |= {"bert.embeddings.position_ids": torch.arange(10)[None],
                "cls.predictions.decoder.weight": tensors["bert.embeddings.word_embeddings.weight"].clone(),
                "cls.predictions.decoder.bias": tensors.pop("cls.predictions.bias")}
    store(tmp_path, tensors, config)
    assert torch.equal(logits(BERT.from_pretrained(tmp_path)), logits(model))


def test_files_bare_encoder(tmp_path):
    model, tensors, config = saved(small_bert().float(), tmp_path)
    bare = {name.removeprefix("bert."): t for name, t in tensors.items() if name.startswith("bert.")}
    store(tmp_path, bare, config)
    with pytest.warns(UserWarning, match=r"lacks cls.predictions.bias, .*seq_relationship.* initialized at random"):
        again = BERT.from_pretrained(tmp_path)
    assert torch.equal(again(TOKENS, TYPES, MASK).sentence, model(TOKENS, TYPES, MASK).sentence)
    store(tmp_path, {name: t for name, t in bare.items() if not name.startswith("pooler")}, config)
    with pytest.warns(UserWarning, match="pooler.dense"):
        again = BERT.from_pretrained(tmp_path)
    assert torch.equal(again(TOKENS, TYPES, MASK).tokens, model(TOKENS, TYPES, MASK).tokens)


KEY = "bert.encoder.layer.0.attention.self.key.weight"


@pytest.mark.parametrize("change, message", [
    (lambda t, c: t.pop(KEY), "missing are bert.encoder.layer.0.attention.self.query.weight [+] .*, unexpected are"),
    (lambda t, c: t.pop("cls.seq_relationship.bias"), "missing are cls.seq_relationship.bias, unexpected are none"),
    (lambda t, c: t.update({"classifier.weight": torch.zeros(2)}), "unexpected are classifier.weight"),
    (lambda t, c: t.update({KEY: torch.zeros(11, 12)}), "self.key.weight .* gives blocks.0.attention.qkv.weight the"),
    (lambda t, c: t.update({"cls.predictions.decoder.weight": torch.zeros(11, 12)}), "expected equal tensors, because they are tied"),
    (lambda t, c: c.update(max_position_embeddings=9), "position_embeddings.weight gives positions.table.weight"),
    (lambda t, c: c.update(model_type="gpt2"), "model_type is 'gpt2'; expected 'bert'"),
    (lambda t, c: c.update(position_embedding_type="relative_key"), "position_embedding_type is 'relative_key'"),
    (lambda t, c: c.update(hidden_act="swish"), "hidden_act is 'swish'"),
    (lambda t, c: c.update(num_attention_heads=5), "cannot be built: d_model is 12; expected a multiple of heads, 5"),
    (lambda t, c: c.pop("hidden_size"), "config.json lacks 'hidden_size'"),
])
def test_files_refused(tmp_path, change, message):
    _, tensors, config = saved(small_bert().float(), tmp_path)
    change(tensors, config)
    store(tmp_path, tensors, config)
    with pytest.raises(HubError, match=message):
        BERT.from_pretrained(tmp_path)


# --- bad input -------------------------------------------------------------------------------------------------------

B = small_bert()


@pytest.mark.parametrize("make, message", [
    (lambda: B(torch.tensor([[11]])), "tokens contains values from 11 to 11; expected 0 to 10"),
    (lambda: B(torch.tensor([[-1, 2]])), "tokens contains values from -1"),
    (lambda: B(torch.zeros(1, 11).long()), r"tokens has shape \(1, 11\); expected \(B, T\) with T from 1 to 10"),
    (lambda: B(TOKENS, TYPES + 1), "token_types contains values from 1 to 2; expected 0 to 1"),
    (lambda: B(TOKENS, TYPES[:, 1:]), r"token_types has shape \(3, 7\)"),
    (lambda: B(TOKENS, TYPES, MASK.long()), "mask has shape .* torch.int64; expected"),
    (lambda: B(TOKENS, TYPES, MASK[:1]), r"mask has shape \(1, 8\)"),
    (lambda: B.loss(PretrainingBatch(TOKENS, TYPES, MASK, MASK & False, TOKENS)), "chosen is False everywhere"),
    (lambda: BERTConfig(5, layers=0), "layers is 0; expected at least 1"),
    (lambda: BERT(BERTConfig(5, heads=5, d_model=12)), "d_model is 12; expected a multiple of heads, 5"),
    (lambda: mask_tokens(TOKENS, 1, 11, rate=0.0), "rate is 0.0"),
    (lambda: mask_tokens(TOKENS, 1, 4), "tokens contains .*; expected 0 to 3"),
    (lambda: sentence_pairs([]), "documents contains only documents of fewer than two"),
    (lambda: sentence_pairs([[torch.tensor([1])] * 3]), "documents has one document"),
])
def test_bad_input(make, message):
    with untyped(), pytest.raises(ValueError, match=message):
        make()
