"""Attention in a BERT: its maps and costs against layers written out."""
from __future__ import annotations

import math

import pytest
import torch

from course_lib.explorables import BertAttention, NadePixels
from course_lib.explorables.bert_attention import costs, largest, maps
from course_lib.tokenizers import WordPieceTokenizer
from course_lib.transformer import BERT, BERTConfig
from tests.explorables.figure import Figure, choose, click, close, data, keys, marks, texts

TEXT = "low lower lowest slow slower slowest"


def tokenizer() -> WordPieceTokenizer:
    return WordPieceTokenizer.fit(TEXT, size=30)


def small(**changes) -> BERT:
    torch.manual_seed(3)
    bert = BERT(BERTConfig(**{"vocab_size": len(tokenizer().vocabulary), "window": 12, "layers": 3, "heads": 2, "d_model": 8,
                              "d_ff": 12, **changes}))
    with torch.no_grad():
        for p in bert.parameters():
            p.add_(0.4 * torch.randn(p.shape))
    return bert.double().eval()


@pytest.fixture(scope="module")
def english() -> BertAttention:
    return BertAttention()


def read(bert: BERT, tokens: torch.Tensor, off=()) -> tuple[list[torch.Tensor], torch.Tensor]:
    """The stack for one text, head by head: weights of every layer (H, T, T), and the last vectors (T, D)."""
    x = bert.norm(bert.tokens.weight[tokens] + bert.positions.table.weight[:len(tokens)] + bert.types.weight[0])
    found, K = [], bert.config.d_model // bert.config.heads
    for layer, block in enumerate(bert.blocks):
        q, k, v = block.attention.qkv(x).chunk(3, dim=-1)
        rows, joined = [], []
        for h in range(bert.config.heads):
            own = slice(h * K, (h + 1) * K)
            scores = torch.tensor([[(a @ b).item() / math.sqrt(K) for b in k[:, own]] for a in q[:, own]], dtype=x.dtype)
            rows.append(scores.exp() / scores.exp().sum(dim=1, keepdim=True))
            joined.append(torch.zeros_like(v[:, own]) if (layer, h) in off else rows[-1] @ v[:, own])
        found.append(torch.stack(rows))
        x = block.residual1.norm(x + block.attention.out(torch.cat(joined, dim=-1)))
        x = block.residual2.norm(x + block.feed_forward(x))
    return found, x


@torch.no_grad()
def test_maps_equal_literal_softmax():
    bert, tokens = small(), torch.tensor([2, 7, 9, 11, 3])
    found = maps(bert, tokens)
    torch.testing.assert_close(found, torch.stack(read(bert, tokens)[0]), rtol=0, atol=0.5001e-4)
    assert torch.equal((found * 10_000).round() / 10_000, found)


@torch.no_grad()
@pytest.mark.parametrize("off", [(), ((1, 0),), ((0, 1), (2, 0))])
def test_costs_equal_literal_loop(off):
    bert, tokens, mask = small(), torch.tensor([2, 7, 9, 11, 3]), 4
    wanted = []
    for at in range(1, 4):
        hidden = tokens.clone()
        hidden[at] = mask
        logits = bert.mlm(read(bert, hidden, off)[1][at], bert.tokens.weight)
        wanted.append((logits.exp().sum().log() - logits[tokens[at]]).item())
    torch.testing.assert_close(costs(bert, tokens, mask, off), torch.tensor(wanted, dtype=torch.float64), rtol=0, atol=1e-10)


def test_word_clipped_to_sentence():
    w = BertAttention(small(), tokenizer(), ["slow lower", "low"], word=5)
    w.sentence = 1
    assert w.word == len(w.texts[1]["pieces"]) - 1 < 5


# --- in the browser ----------------------------------------------------------------------------------------------------


def test_javascript_equals_torch(modules, english):
    got = modules.evaluate("""async ({ texts, size }) => {
      const { unpack } = await import("./bert_attention.js");
      return texts.map(t => ["trained", "untrained"].map(which => unpack(t[which], size, t.pieces.length, 10000)));
    }""", {"texts": english.texts, "size": english.size})
    for found, wanted in zip(got, english._maps, strict=True):
        for js, torch_ in zip(found, wanted, strict=True):
            close(js, torch_)


def agrees(page, w) -> None:
    map_, pieces = w.weights, w.texts[w.sentence]["pieces"]
    own = (lambda i, j: i == w.word) if w.side == "looks" else (lambda i, j: j == w.word)
    T = len(pieces)
    assert texts(page, ".cl-ba-left b") == pieces
    wanted = {f"{i},{j}": map_[i, j].item() for i in range(T) for j in range(T) if own(i, j) or map_[i, j] >= 0.05}
    links = dict(zip(marks(page, "[data-link]", "link"), data(page, "a", ".cl-ba svg"), strict=True))
    assert set(links) == set(wanted)
    assert set(marks(page, "line.cl-ba-on", "link")) == {pair for pair in wanted if own(*map(int, pair.split(",")))}
    close([links[pair] for pair in wanted], list(wanted.values()))
    line = map_[w.word] if w.side == "looks" else map_[:, w.word]
    numbers = data(page, "a", "[data-word]")
    seen, none = (numbers[T:], numbers[:T]) if w.side == "looks" else (numbers[:T], numbers[T:])
    close(seen, line)
    assert none == [None] * T
    assert [text for text in texts(page, "[data-word] span") if text] == [f"{a:.2f}".removeprefix("0") for a in seen]
    assert marks(page, "[data-word][aria-pressed='true']", "word") == [f"{w.word},{w.side}"]
    assert marks(page, "[data-head][aria-pressed='true']", "head") == [",".join(map(str, w.shown))]
    close(data(page, "sharp"), w._maps[w.sentence][0].max(dim=-1).values.mean(dim=-1).flatten())
    layers, heads = w.size
    worth = torch.tensor([w.cost_of(layer, head) for layer in range(layers) for head in range(heads)])
    with_it, without = w.costs
    most = int((without - with_it).argmax())
    nats = torch.stack([with_it.mean(), without.mean(), with_it[most], without[most]])
    for name, want in (("worth", worth), ("nats", nats)):            # costs have four decimals
        assert data(page, name) == pytest.approx(want.tolist(), abs=1e-4)
    said = " ".join(texts(page, ".cl-ba p, .cl-ba h4"))
    assert w.text().splitlines()[2] in said, "the line of the word is that of the text alternative"
    assert all(f"{pieces[i]} looks at {pieces[j]} {a:.2f}" in said for i, j, a in largest(map_))


def made(**traits) -> BertAttention:
    return BertAttention(small(), tokenizer(), ["slow lower slowest", "low"], **traits)


BAD = [
    (lambda: BertAttention(small()), "model and tokenizer belong together"),
    (lambda: BertAttention(NadePixels, tokenizer()), "expected a BERT"),
    (lambda: BertAttention(small(), tokenizer(), []), "expected a list of at least one text"),
    (lambda: BertAttention(small(), tokenizer(), ["low"] * 2000), "the maps take 1,024,000 characters; expected at most 300,000"),
    (lambda: BertAttention(small(), tokenizer(), ["low"], sentence=1), "sentence is 1; expected 0 to 0"),
    (lambda: BertAttention(small(), tokenizer(), ["low"], word=4), "word is 4; expected 0 to 3"),
    (lambda: BertAttention(small(), tokenizer(), ["low"], shown=[3, 0]), r"shown is \[3, 0\]; expected layers 0 to 2"),
    (lambda: BertAttention(small(), tokenizer(), ["low"], side="up"), "side is 'up'; expected 'looks' or 'looked at'"),
]
FIGURE = Figure(made, agrees, bad=BAD, change={"sentence": 1, "untrained": True},
                says=("new looks at york 0.88", "A hidden word costs "), moves=[
    (keys("ArrowDown", "ArrowRight", "ArrowDown", "Enter", at="[data-word='0,looks']"), {"word": 2, "side": "looked at"}),
    (keys("Tab", "ArrowRight", "ArrowDown", "ArrowDown", "ArrowLeft", "Enter"), {"shown": [2, 0]}),
    (click("[data-head='2,1']"), {"shown": [2, 1]}),
    (click("[data-word='3,looked at']"), {"word": 3}),
    (click("show the untrained twin"), {"untrained": True}),
    (click("show the trained model"), {"untrained": False}),
    (choose(".cl-ba select", 1), {"sentence": 1}),
])
