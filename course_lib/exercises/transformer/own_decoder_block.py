"""A decoder block of one's own, equal to the library's."""
from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from course_lib.exercises.building import judged
from course_lib.exercises.draws import normal, uneven, uniform
from course_lib.grading.checks import Fault
from course_lib.grading.exercise import Exercise
from course_lib.transformer.attention import MultiHeadAttention
from course_lib.transformer.blocks import DecoderBlock

exercise = Exercise(
    "OwnDecoderBlock", chapter="transformer", place=3, title="A decoder block of your own",
    contract="A class OwnDecoderBlock(nn.Module), made with d_model, heads, d_ff and norm, \"post\" or \"pre\". Its parameters are "
             "those of attention and cross_attention, two Heads(d_model, heads) as the notebook gives them; of the linear layers "
             "widen, from d_model to d_ff, and narrow, back; and of three layer norms nn.LayerNorm(d_model): norm1, norm2, norm3. "
             "forward(x, memory, memory_mask=None): causal self-attention of x (B, T, D), then attention to memory (B, S, D), then "
             "narrow(relu(widen(...))), each with its own norm: LN(x + f(x)) for \"post\", x + f(LN(x)) for \"pre\", where "
             "memory is taken as it comes. memory_mask (B, S), boolean, is True for the tokens of memory that may be attended to, "
             "at least one a row. Returns (B, T, D). The library's DecoderBlock judges it.",
    points=["encoder-decoder", "residual", "layer-norm", "transformer-block"], difficulty=3, minutes=40, kind="build",
    deadline=20.0, forbid=("torch.nn.TransformerDecoderLayer", "torch.nn.TransformerEncoderLayer"))


@exercise.class_reference()
class OwnDecoderBlock(nn.Module):
    """Three sublayers, each with a norm and a residual connection."""

    def __init__(self, d_model, heads, d_ff, norm):
        super().__init__()
        self.attention, self.cross_attention = (MultiHeadAttention(d_model, heads) for _ in range(2))
        self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(d_model) for _ in range(3))
        self.placement = norm

    def forward(self, x, memory, memory_mask=None):
        x = self.residual(x, self.norm1, self.attend)
        x = self.residual(x, self.norm2, lambda y: self.attend_to(memory, y, memory_mask))
        return self.residual(x, self.norm3, self.feed)

    @exercise.step
    def residual(self, x, norm, sublayer):
        return norm(x + sublayer(x)) if self.placement == "post" else x + sublayer(norm(x))

    @exercise.step
    def attend(self, x):
        return self.attention(x, causal=True)

    @exercise.step
    def attend_to(self, memory, x, memory_mask):
        return self.cross_attention(x, memory, mask=None if memory_mask is None else memory_mask[:, None])    # (B, 1, S)

    @exercise.step
    def feed(self, x):
        return self.narrow(self.widen(x).relu())


@exercise.misconception(
    OwnDecoderBlock.residual,
    "Your norms are in the wrong place: \"post\" is LN(x + f(x)), \"pre\" is x + f(LN(x)).")
def other_place(self, x, norm, sublayer):
    return x + sublayer(norm(x)) if self.placement == "post" else norm(x + sublayer(x))


@exercise.misconception(
    OwnDecoderBlock.residual,
    "You use norm1 three times. Each of the three sublayers has a norm of its own.")
def one_norm(self, x, norm, sublayer):
    return OwnDecoderBlock.residual.original(self, x, self.norm1, sublayer)


@exercise.misconception(
    OwnDecoderBlock.residual,
    "The outputs of your sublayers replace x. Each is added to x, which is the residual connection.")
def no_residual(self, x, norm, sublayer):
    return norm(sublayer(x)) if self.placement == "post" else sublayer(norm(x))


@exercise.misconception(
    OwnDecoderBlock.attend,
    "Position t of your result depends on positions after t of x. The self-attention is causal.")
def not_causal(self, x):
    return self.attention(x)


@exercise.misconception(
    OwnDecoderBlock.attend_to,
    "You apply the causal mask to memory too. All of the memory is known before the first word, so every position attends to "
    "all of it.")
def causal_everywhere(self, memory, x, memory_mask):
    mask = torch.ones(len(x), x.shape[1], memory.shape[1], dtype=torch.bool).tril()
    return self.cross_attention(x, memory, mask=mask if memory_mask is None else mask & memory_mask[:, None])


@exercise.misconception(
    OwnDecoderBlock.attend_to,
    "You normalize memory as well. It is taken as it comes, keys and values from memory itself.")
def memory_normalized(self, memory, x, memory_mask):
    return OwnDecoderBlock.attend_to.original(self, self.norm2(memory), x, memory_mask)


@exercise.misconception(
    OwnDecoderBlock.attend_to,
    "For \"pre\" you normalize memory as well. It is taken as it comes: the norm concerns x, to which the result is added.")
def memory_normalized_in_pre(self, memory, x, memory_mask):
    return OwnDecoderBlock.attend_to.original(self, self.norm2(memory) if self.placement == "pre" else memory, x, memory_mask)


@exercise.misconception(OwnDecoderBlock.attend_to, "Your result does not depend on memory_mask.")
def mask_ignored(self, memory, x, memory_mask):
    return self.cross_attention(x, memory)


@exercise.misconception(
    OwnDecoderBlock.attend_to,
    "You mask the real tokens of memory and attend to the others. True in memory_mask marks tokens that may be attended to.")
def mask_opposite(self, memory, x, memory_mask):
    return OwnDecoderBlock.attend_to.original(self, memory, x, None if memory_mask is None else ~memory_mask)


@exercise.misconception(
    OwnDecoderBlock.feed,
    "There is no ReLU between widen and narrow in your block, so the two are a single linear map.")
def no_relu(self, x):
    return self.narrow(self.widen(x))


def parameters(generator, D: int, F: int) -> dict[str, Tensor]:
    weights = {}
    for name, rows, columns in (("attention.qkv", 3 * D, D), ("attention.out", D, D), ("cross_attention.qkv", 3 * D, D),
                                ("cross_attention.out", D, D), ("widen", F, D), ("narrow", D, F)):
        weights |= {f"{name}.weight": normal(generator, rows, columns, scale=1.2 / math.sqrt(columns)),
                    f"{name}.bias": normal(generator, rows, scale=0.4)}
    for name in ("norm1", "norm2", "norm3"):
        weights |= {f"{name}.weight": uniform(generator, D, low=0.5, high=1.5), f"{name}.bias": normal(generator, D, scale=0.4)}
    return weights


def drawn(generator, norm: str, masked: bool = False) -> tuple:
    """A case of this arrangement."""
    B, T, S, half = uneven(generator, (2, 3), (3, 5), (4, 7), (2, 4))
    H, D, d_ff = 2, 2 * half, 2 * half + 3
    rest = ()
    if masked:                                                                 # short rows, and gaps
        rest = (torch.arange(S) < torch.randint(1, S, (B, 1), generator=generator),)
        rest[0][0] = torch.arange(S) % 2 == 1
    return ("forward", {"d_model": D, "heads": H, "d_ff": d_ff, "norm": norm}, parameters(generator, D, d_ff),
            normal(generator, B, T, D, scale=1.5), normal(generator, B, S, D, scale=1.5), *rest)


def post(generator):
    return [drawn(generator, "post") for _ in range(2)]


def pre(generator):
    """Uneven sizes; a batch of one, with a memory as long as x."""
    cases = [drawn(generator, "pre") for _ in range(2)]
    _, config, weights, x, _ = drawn(generator, "pre")
    return [*cases, ("forward", config, weights, x[:1], normal(generator, 1, *x.shape[1:], scale=1.5))]


def masked(generator):
    return [drawn(generator, norm, masked=True) for norm in ("post", "pre")]


def steady(generator):
    """`masked`, drawn again where rounding moves the gradient: now and then a norm divides by next to nothing."""
    cases = masked(generator)
    return cases if all(rounding(case) < 2e-6 for case in cases) else steady(generator)


def rounding(case: tuple) -> float:
    """By how much the gradients by the parameters differ in single precision from those in double, over the largest of them."""
    _, config, weights, *x = case
    gradients = []
    for dtype in (torch.float32, torch.float64):
        block = OwnDecoderBlock(**config).to(dtype)
        block.load_state_dict(weights)
        y = block(*(part.to(dtype) if part.is_floating_point() else part for part in x))
        weighting = torch.linspace(-1, 1, y.numel(), dtype=dtype).view(y.shape).sin()
        gradients.append([p.double() for p in torch.autograd.grad((weighting * y).sum(), list(block.parameters()))])
    gap = max(float((single - double).abs().max()) for single, double in zip(*gradients))
    return gap / max(float(double.abs().max()) for double in gradients[1])


exercise.compare("norm after, as in the paper", post, points=4)
exercise.compare("norm before, as in GPT-2", pre, points=3)
exercise.compare("memory with a mask", masked, points=2)
exercise.slopes("gradient", steady, points=1)


@judged(exercise, "the library's DecoderBlock", 2, among=())
def librarys(run, generator):
    for method, config, weights, x, memory, mask in masked(generator):
        block = DecoderBlock(**config)
        block.load_state_dict({librarys_name(name): weight for name, weight in weights.items()})
        right, mine = block(x, memory, memory_mask=mask[:, None]), run(method, config, weights, x, memory, mask)
        gap = float((mine - right).detach().abs().max()) if isinstance(mine, Tensor) and mine.shape == right.shape else math.nan
        if not gap < 1e-4:
            return Fault(f"On the same weights your result differs from that of the library's DecoderBlock by up to {gap:.2g}.")
    return None


def librarys_name(name: str) -> str:
    """What the library's block calls this parameter."""
    part, kind = name.rsplit(".", 1)
    if part.startswith("norm"):
        return f"residual{part[-1]}.norm.{'gamma' if kind == 'weight' else 'beta'}"
    return f"feed_forward.{name}" if part in ("widen", "narrow") else name


exercise.hint(
    "You do not know where to begin.",
    "In __init__: the two Heads, the two linear layers, the three norms, and norm itself. In forward, write the three lines for "
    "\"post\" first: x = self.norm1(x + self.attention(x, mask=causal)), then the other two in the same way.")
exercise.hint(
    "Post is right, pre is not.",
    "x + f(LN(x)): the norm is applied to what goes into the layer, and the sum stays unnormalised. The memory comes in as it is: "
    "self.cross_attention(self.norm2(x), memory, ...).")
exercise.hint(
    "The masks.",
    "torch.ones(T, T, dtype=torch.bool).tril() is the causal one, for the self-attention alone. memory_mask is (B, S), and Heads "
    "takes (T, S) or (B, T, S): memory_mask[:, None], with an axis of length 1 for the queries.")
