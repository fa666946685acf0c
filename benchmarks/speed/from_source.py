"""Training steps beside peers that are in no package index: karpathy's pytorch-made and nanoGPT, E. Hotaj's
pytorch-generative.

The folder PEERS holds their repositories:

    git clone https://github.com/karpathy/nanoGPT && git clone https://github.com/karpathy/pytorch-made
    git clone https://github.com/EugenHotaj/pytorch-generative
    PEERS=$PWD make bench NAME="speed-made-step-500 speed-gpt-step-nanogpt speed-gpt-step-nanogpt-bf16 speed-pixelcnn-step"

Without it these comparisons are skipped, with a message.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import nn

from benchmarks.speed.comparison import Comparison, peer, peer_from_source, peer_package
from benchmarks.speed.density import N, batch
from benchmarks.speed.transformers import as_ours, numbers
from course_lib.density import MADE
from course_lib.pixels import PixelCNN
from course_lib.transformer.gpt import GPT
from course_lib.validation import unchecked

TRANSPOSED = ("attn.c_attn.weight", "attn.c_proj.weight", "mlp.c_fc.weight", "mlp.c_proj.weight")   # in GPT-2's files


def as_in_fit(model: nn.Module, loss: Callable[[], torch.Tensor], bf16: bool = False) -> Callable[[], torch.Tensor]:
    """A training step as in `fit`: values unchecked, AdamW as one kernel."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    device = next(model.parameters()).device.type

    def call() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        with unchecked(), torch.autocast(device, torch.bfloat16, enabled=bf16):
            value = loss()
        value.backward()
        optimizer.step()
        return value.detach()

    return call


def bernoulli_loss(logits: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return F.binary_cross_entropy_with_logits(logits, x, reduction="sum") / len(x)


def mades(n: int, hidden: int) -> tuple[MADE, nn.Module]:
    """Ours and pytorch-made's, with one hidden layer and the same weights and masks."""
    theirs = peer_from_source("pytorch-made", "made.py").MADE(n, [hidden], n, natural_ordering=True)
    ours = MADE(n, (hidden,))
    for mine, other in zip(ours.layers, (layer for layer in theirs.net if isinstance(layer, nn.Linear)), strict=True):
        mine.load_state_dict(other.state_dict())                     # weights, bias and mask
    return ours, theirs


def made_step() -> Comparison:
    torch.manual_seed(0)
    (ours, theirs), x = mades(N, 500), batch()
    calls = {"course_lib": as_in_fit(ours, lambda: -ours.log_prob(x).mean()),
             "pytorch-made": as_in_fit(theirs, lambda: bernoulli_loss(theirs(x), x))}
    same(calls, 1e-3)
    return Comparison(
        "MADE, 500 hidden: a training step beside pytorch-made",
        f"{len(x)} images of 28 x 28, AdamW in one kernel included, from the same weights and masks; values unchecked, as in `fit`.",
        calls, fast="course_lib", slow="pytorch-made")


def gpt_step(bf16: bool) -> Comparison:
    """The GPT of the other comparisons, with nanoGPT's exact GELU and weights."""
    torch.manual_seed(0)
    nano = peer_from_source("nanoGPT", "model.py")
    theirs = nano.GPT(nano.GPTConfig(block_size=128, vocab_size=65, n_layer=6, n_head=6, n_embd=192, dropout=0.0, bias=True))
    ours = as_ours(GPT, in_hugging_faces_form(theirs))
    tokens = numbers(0, 65, 16, 128)
    given, target = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
    calls = {"course_lib": as_in_fit(ours, lambda: ours.loss(tokens)[0], bf16),
             "nanoGPT": as_in_fit(theirs, lambda: theirs(given, target)[1], bf16)}
    same(calls, 0.05 if bf16 else 1e-4)
    return Comparison(
        "GPT, 6 layers, width 192: a training step beside nanoGPT" + (", in bfloat16" if bf16 else ""),
        "16 rows of 128 tokens, AdamW in one kernel included, from the same weights, with the exact GELU on both sides; values "
        "unchecked, as in `fit`." + (" Both under bfloat16 autocast." if bf16 else ""),
        calls, fast="course_lib", slow="nanoGPT")


def in_hugging_faces_form(theirs: nn.Module) -> nn.Module:
    """Convert nanoGPT's model to Hugging Face's class, whose matrices are (in, out)."""
    hf, c = peer("transformers"), theirs.config
    model = hf.GPT2LMHeadModel(hf.GPT2Config(
        vocab_size=c.vocab_size, n_positions=c.block_size, n_embd=c.n_embd, n_layer=c.n_layer, n_head=c.n_head,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, activation_function="gelu", bos_token_id=0, eos_token_id=64))
    model.load_state_dict({name: rearrange(value, "o i -> i o") if name.endswith(TRANSPOSED) else value
                           for name, value in theirs.state_dict().items()})
    return model


def pixelcnns(depth: int) -> tuple[PixelCNN, nn.Module]:
    """Ours and pytorch-generative's, width 32, with the same weights; the loss is above 1e5 unless its doubling of maps is undone."""
    theirs = peer_package("pytorch-generative", "pytorch_generative.models.autoregressive.pixel_cnn").PixelCNN(
        n_residual=depth, residual_channels=16, head_channels=32)
    theirs._head[1].weight.data.mul_(0.5 ** depth)
    ours = PixelCNN((28, 28), width=32, depth=depth, first=7, inner=16)
    with_weights_of(theirs, ours)
    return ours, theirs


def pixelcnn_step() -> Comparison:
    """PixelCNN of the size in pytorch-generative's script."""
    torch.manual_seed(0)
    ours, theirs = pixelcnns(15)
    x = batch()[:50]
    image, target = ours.image(x), x.view(-1, 1, 28, 28)
    calls = {"course_lib": as_in_fit(ours, lambda: -ours.log_prob(x).mean()),
             "pytorch-generative": as_in_fit(theirs, lambda: bernoulli_loss(theirs(image), target))}
    same(calls, 1e-2, steps=1)                                       # then Adam's steps differ, because the weights have other scales
    return Comparison(
        "PixelCNN, 15 blocks, width 32: a training step beside pytorch-generative",
        f"{len(x)} images of 28 x 28, AdamW in one kernel included. The function is the same: pytorch-generative adds a block's input "
        "twice, so that its maps double at each block, and the weights here are scaled for that. It keeps the rows of a kernel "
        "that the mask hides, and sets them to 0 at each pass. Values unchecked, as in `fit`.",
        calls, fast="course_lib", slow="pytorch-generative")


@torch.no_grad()
def with_weights_of(theirs: nn.Module, ours: PixelCNN) -> None:
    """Set `ours` to the same function. A block of theirs maps h to 2h + f(h), so their maps after l blocks are 2^l times ours."""
    def take(mine: nn.Module, other: nn.Module, weight: float = 1.0, bias: float = 1.0) -> None:
        mine.weight.copy_(weight * other.weight[:, :, :mine.weight.shape[2]])          # rows below the center are masked
        mine.bias.copy_(bias * other.bias)

    take(ours.first, theirs._input)
    for k, (block, other) in enumerate(zip(ours.blocks, theirs._causal_layers, strict=True)):
        _, down, _, masked, _, up = other._net
        take(block.down, down, weight=2.0 ** k)
        take(block.masked, masked)
        take(block.up, up, weight=0.5 ** (k + 1), bias=0.5 ** (k + 1))
    _, first, _, last = theirs._head
    take(ours.head[0], first, weight=2.0 ** len(ours.blocks))
    take(ours.head[1], last)


def same(calls: dict[str, Callable[[], torch.Tensor]], tolerance: float, steps: int = 3) -> None:
    """Raise AssertionError if the contenders' losses differ in one of the first steps."""
    for _ in range(steps):
        torch.testing.assert_close(*(call() for call in calls.values()), atol=tolerance, rtol=0)


COMPARISONS = {
    "speed-made-step-500": made_step,
    "speed-pixelcnn-step": pixelcnn_step,
    "speed-gpt-step-nanogpt": partial(gpt_step, bf16=False),
    "speed-gpt-step-nanogpt-bf16": partial(gpt_step, bf16=True),
}
