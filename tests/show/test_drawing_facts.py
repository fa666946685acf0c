"""The drawings say what the models are: connections, shared weights, numbers and shapes come out of the library."""
from __future__ import annotations

import math
import re
from collections import Counter
from xml.etree import ElementTree

import torch

from course_lib import hub
from course_lib.density import FVSBN, MADE, NADE
from course_lib.show.architectures import (
    decoder_block,
    encoder_decoder,
    gpt,
    made,
    nade,
    query_key_value,
    transformer_block,
)
from course_lib.show.drawing import SVG, drawing
from course_lib.transformer import GPTConfig
from course_lib.transformer.attention import attention_weights
from course_lib.transformer.blocks import DecoderBlock, TransformerBlock
from course_lib.transformer.gpt import GPT


def signs(name: str, sign: str, tied: bool | None = None) -> list[str]:
    """The labels of all shapes of a kind; only those with a double line, or without, if asked."""
    found = []
    for node in ElementTree.fromstring(drawing(name).svg).iter(f"{SVG}g"):
        outlines = [e for e in node if e.tag in (f"{SVG}polygon", f"{SVG}rect")]
        if node.get("class").split()[1:] == [f"cd-{sign}"] and (tied is None or tied == (len(outlines) == 2)):
            found.append("".join(node.itertext()))
    return found


def texts(name: str) -> str:
    """All texts of a drawing, one a line."""
    lines = ["".join(text.itertext()) for text in ElementTree.fromstring(drawing(name).svg).iter(f"{SVG}text")]
    return re.sub("[\u2003 ]+", " ", "\n".join(lines))


def shapes(name: str) -> set[tuple[int, ...]]:
    """Every shape that stands in a drawing."""
    return {tuple(map(int, found.split(", "))) for found in re.findall(r"\((\d+(?:, \d+)*)\)", texts(name))}


# --- density ---------------------------------------------------------------------------------------------------------


def test_fvsbn_drawing():
    model = FVSBN(4)
    drawn = signs("fvsbn", "weight")
    assert len(set(drawn)) == len(drawn) == model.bias.numel() + int(model.earlier.sum())
    pairs = {(int(label[2]), int(label[1])) for label in drawn if label[1] != "0"}
    assert pairs == {(int(i) + 1, int(j) + 1) for i, j in model.earlier.nonzero()}
    assert signs("fvsbn", "weight", tied=True) == []
    assert f"= {len(drawn)} parameters" in texts("fvsbn")


def test_nade_drawing():
    model = NADE(nade.N, nade.H)
    readers = Counter(f"w{j + 1}" for i in range(model.n) for j in model.parents(i))
    readers["c"] = model.n                                           # every layer reads the bias
    below = Counter({label: 1 for label in readers})                 # the running sum meets each of them once
    assert Counter(signs("nade", "weight", tied=True)) == readers + below
    assert signs("nade", "weight", tied=False) == [f"V{i + 1},b{i + 1}" for i in range(model.n)]
    assert len(signs("nade", "plus")) == model.n - 1
    assert {model.W.squeeze(1).T.shape, model.V.squeeze(1).shape} == {(2, 4), (4, 2)}
    assert "W (2, 4)" in texts("nade") and "V (4, 2)" in texts("nade") and "(B, 2)" in texts("nade")


def test_made_drawing():
    model = MADE(3, (4, 4), order=[1, 2, 0], seed=2)
    assert [degrees.tolist() for degrees in (*model.degrees, model.degrees[0])] == made.DEGREES
    masks = [layer.mask.bool() for layer in model.layers]
    onward = [torch.eye(3)]                                          # paths from a layer to the outputs
    for mask in reversed(masks):
        onward.insert(0, onward[0] @ mask.float())
    lines = list(made.connections())
    assert len(lines) == sum(mask.numel() for mask in masks)
    for line in lines:
        mask = masks[line.layer]
        assert line.is_open == bool(mask[line.target, line.source]), line
        assert line.leads == bool(line.is_open and onward[line.layer + 1][made.OUTPUT, line.target] > 0), line
    assert {line.source for line in lines if line.leads and line.layer == 0} == {1}, "p(x_3 | x_2) reads x_2 alone"

    drawn = Counter(name for path in ElementTree.fromstring(drawing("made").svg).iter(f"{SVG}path")
                    for name in path.get("class").split() if name in ("cd-cut", "cd-cross", "cd-flow", "cd-attend"))
    open_, leading = sum(line.is_open for line in lines), sum(line.leads for line in lines)
    legend = 1                                                       # each kind of line once more, with its meaning
    assert drawn == {"cd-cut": len(lines) - open_ + legend, "cd-cross": len(lines) - open_ + legend,
                     "cd-flow": open_ - leading + legend, "cd-attend": leading + legend}
    assert signs("made", "unit")[3:11] == [str(m) for layer in made.DEGREES[1:3] for m in layer]
    assert {tuple(mask.shape) for mask in masks} == shapes("made")


# --- transformers ----------------------------------------------------------------------------------------------------


def test_query_key_value_drawing():
    vocabulary, i = ["the", "cat", "chases", "dog"], query_key_value.ASKS - 1
    table = torch.randn(4, 8, generator=torch.Generator().manual_seed(6), dtype=torch.float64)
    X = table[[vocabulary.index(word) for word in query_key_value.WORDS]]
    generator = torch.Generator().manual_seed(3)
    W_Q, W_K = (torch.randn(8, 4, generator=generator, dtype=torch.float64) / math.sqrt(8) for _ in range(2))
    W_V = torch.randn(8, 6, generator=generator, dtype=torch.float64)
    q, K = X @ W_Q, X @ W_K
    scores, weights = (q @ K.T / 2)[i], attention_weights(q, K)[i]
    assert [f"{s:.2f}".replace("-", "−") for s in scores.tolist()] == query_key_value.SCORES
    assert [f"{w:.2f}"[1:] for w in weights.tolist()] == query_key_value.WEIGHTS
    assert sum(int(weight[1:]) for weight in query_key_value.WEIGHTS) == 100           # as printed, too: "sum 1"
    assert signs("query_key_value", "unit") == query_key_value.SCORES + query_key_value.WEIGHTS
    assert signs("query_key_value", "weight", tied=True) == ["WK", "WV"]           # W^Q is met by one word here
    wanted = {W_Q.shape, W_V.shape, q[i].shape, K.shape, (X @ W_V).shape, scores.shape, (X @ W_V)[i].shape}
    assert shapes("query_key_value") == set(map(tuple, wanted))


def test_transformer_block_drawing():
    t = transformer_block
    block = TransformerBlock(t.D, t.HEADS, t.D_FF, norm="pre")
    met = []
    for layer in (block.residual1.norm, block.feed_forward.widen, block.feed_forward):
        layer.register_forward_hook(lambda layer, given, out: met.append(tuple(out.shape)))
    x = torch.randn(t.B, t.T, t.D)
    out = block(x)
    head = block.attention.keys_values(x).k
    assert tuple(head.shape) == (t.B, t.HEADS, t.T, 4)
    assert f"{t.HEADS} heads, each (1, 5, 4)" in texts("transformer_block")
    assert shapes("transformer_block") == {*met, tuple(out.shape), (t.B, t.T, head.shape[-1])}
    assert len(signs("transformer_block", "plus")) == len(signs("transformer_block", "elsewhere")) == 2
    with torch.no_grad():                                            # the equation at the foot is the library's
        u = x + block.attention(block.residual1.norm(x))
        assert torch.allclose(block(x), u + block.feed_forward(block.residual2.norm(u)), atol=1e-6)


def test_decoder_block_drawing():
    d = decoder_block
    assert (d.T, d.S) == (len(encoder_decoder.TARGET), len(encoder_decoder.SOURCE))
    block = DecoderBlock(d.D, d.HEADS, d.D_FF)
    h, m = torch.randn(1, d.T, d.D), torch.randn(1, d.S, d.D)
    met = []
    block.feed_forward.widen.register_forward_hook(lambda layer, given, out: met.append(tuple(out.shape)))
    z = block(h, m)
    assert shapes("decoder_block") == {tuple(h.shape), tuple(m.shape), tuple(z.shape), *met, (d.T, d.T), (d.T, d.S)}
    assert block.cross_attention.weights(h, m).shape[-2:] == (d.T, d.S)
    assert len(signs("decoder_block", "plus")) == 3 and signs("decoder_block", "layer").count("layer norm") == 3
    with torch.no_grad():                                            # the equations at the foot are the library's
        u = block.residual1.norm(h + block.attention(h, causal=True))
        w = block.residual2.norm(u + block.cross_attention(u, m))
        assert torch.allclose(z, block.residual3.norm(w + block.feed_forward(w)), atol=1e-6)
    near = torch.autograd.functional.jacobian(lambda h: block(h, m)[0, :, 0], h).abs().sum((1, 3)) > 0
    assert torch.equal(near, torch.ones(d.T, d.T).tril().bool())     # the mask that is drawn


def test_gpt_drawing():
    s = hub.load("gpt-tiny-shakespeare").config
    assert (s.vocab_size, s.d_model, s.layers, s.window) == (gpt.V, gpt.D, gpt.LAYERS, gpt.WINDOW)
    model = GPT(GPTConfig(s.vocab_size, s.window, 1, s.heads, s.d_model))
    tokens = torch.zeros(1, gpt.T, dtype=torch.long)
    wanted = {tokens.shape, model(tokens).shape, model.tokens.weight.shape, model.positions.table.weight.shape,
              model.tokens(tokens).shape}
    assert shapes("gpt") == set(map(tuple, wanted))
    assert model.head is None and signs("gpt", "layer", tied=True) == ["embedding E", "linear E⊤"]
    assert signs("gpt", "tensor") == [*gpt.TEXT[:-1], *gpt.TEXT[1:]], "each target is the next token"
    assert f"L = {gpt.LAYERS} ×" in texts("gpt")
