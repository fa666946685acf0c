"""Recurrent layers beside torch's, a block of attention and a convolution; sampling with a state beside full passes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import nn

from benchmarks.speed.comparison import Comparison
from course_lib.autoregressive import AutoregressiveModel
from course_lib.recurrent import Recurrent, RecurrentLM
from course_lib.transformer import GPT, GPTConfig
from course_lib.words import TextConv

ROWS, STEPS, HIDDEN = 32, 64, 256
KERNEL = 5                                                           # size of the convolution's kernel, in words


def backward(module: nn.Module, x: torch.Tensor, layer: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[], torch.Tensor]:
    """A forward and a backward pass of a layer, to the weights and to its input."""
    def call() -> torch.Tensor:
        module.zero_grad(set_to_none=True)
        x.grad = None
        outputs = layer(x)
        outputs.square().mean().backward()
        return outputs.detach()

    return call


def cell_step(kind: str) -> Comparison:
    """Forward and backward pass of one layer over a batch of sequences."""
    torch.manual_seed(0)
    theirs = getattr(nn, kind)(HIDDEN, HIDDEN, batch_first=True)
    ours = Recurrent.from_torch(theirs)
    x = torch.randn(ROWS, STEPS, HIDDEN, generator=torch.Generator().manual_seed(0)).requires_grad_()

    fast, slow = (backward(module, x, lambda z, module=module: module(z)[0]) for module in (ours, theirs))
    first = fast(), x.grad
    torch.testing.assert_close((slow(), x.grad), first)
    return Comparison(
        f"{kind}, {HIDDEN} hidden: forward and backward",
        f"One layer over {ROWS} rows of {STEPS} steps, with the same weights, outputs and gradients. `course_lib` calls torch's "
        "kernel with the weights of its own cell.",
        {"course_lib": fast, f"torch.nn.{kind}": slow},
        fast="course_lib", slow=f"torch.nn.{kind}")


def text_convolution() -> Comparison:
    """Forward and backward pass of one layer over a text: a convolution, and a GRU of the same width."""
    torch.manual_seed(0)
    convolution, gru = nn.Conv1d(HIDDEN, HIDDEN, KERNEL, padding=KERNEL // 2), nn.GRU(HIDDEN, HIDDEN, batch_first=True)
    ours = TextConv(HIDDEN, KERNEL)
    ours.load_state_dict({"W": convolution.weight.permute(2, 0, 1), "b": convolution.bias})
    cells = Recurrent.from_torch(gru)
    x = torch.randn(ROWS, STEPS, HIDDEN, generator=torch.Generator().manual_seed(0)).requires_grad_()

    calls = {"course_lib": backward(ours, x, ours), "torch.nn.Conv1d": backward(convolution, x, lambda z: convolution(z.mT).mT),
             "course_lib, GRU": backward(cells, x, lambda z: cells(z)[0]), "torch.nn.GRU": backward(gru, x, lambda z: gru(z)[0])}
    for one, other in (("course_lib", "torch.nn.Conv1d"), ("course_lib, GRU", "torch.nn.GRU")):
        torch.testing.assert_close(calls[one](), calls[other]())
    return Comparison(
        f"A convolution over text, kernel {KERNEL}, {HIDDEN} wide: forward and backward",
        f"One layer over {ROWS} texts of {STEPS} words. The convolution does all places of a text at once and reads {KERNEL} words "
        "for each; the GRU, as wide, goes from word to word and reads all before. They are different layers: only their time is "
        "compared.", calls, fast="course_lib", slow="torch.nn.GRU")


LENGTHS = (64, 256, 1024, 4096)                                      # of the texts, in tokens


def reading() -> Comparison:
    """Forward passes over texts of growing length, of a GRU and of a block of attention."""
    torch.manual_seed(0)
    gru = RecurrentLM(9, 64, "gru").eval()
    block = GPT(GPTConfig(vocab_size=9, window=max(LENGTHS), layers=1, heads=1, d_model=64)).eval()
    generator = torch.Generator().manual_seed(0)
    texts = {n: torch.randint(9, (1, n), generator=generator) for n in LENGTHS}

    def reads(model: nn.Module, n: int):
        @torch.no_grad()
        def call() -> torch.Tensor:
            return model(texts[n])

        return call

    def name(model: str, n: int) -> str:
        return model if n == 1024 else f"{model}, {n} tokens"

    lengths = (1024, *(n for n in LENGTHS if n != 1024))
    calls = {name(label, n): reads(model, n) for n in lengths
             for label, model in (("course_lib", block), ("course_lib, GRU", gru))}
    if {tuple(call().shape) for call in calls.values()} != {(1, n, 9) for n in LENGTHS}:
        raise AssertionError("a pass does not give logits for every token")
    return Comparison(
        "One block of attention and a GRU, 64 wide: a pass over 1,024 tokens",
        "One text, forward pass. They are different models: only their time is compared, and how it grows with the "
        "text. The GRU takes as many steps in a row as there are tokens; the block, called course_lib, does all tokens "
        "in one, and each reads all before it.",
        calls, fast="course_lib", slow="course_lib, GRU")


class Rereads(RecurrentLM):
    """The same network without a state: the base class processes all letters so far for each new one."""

    start, predict, update = (getattr(AutoregressiveModel, name) for name in ("start", "predict", "update"))


def drawing() -> Comparison:
    """64 letters sampled from a GRU, by a step for each or by a pass over all letters before it for each."""
    torch.manual_seed(0)
    size = {"vocab_size": 65, "hidden": HIDDEN, "cell": "gru", "embedding": 64, "bos_id": 0}
    ours, again = RecurrentLM(**size).eval(), Rereads(**size).eval()
    again.load_state_dict(ours.state_dict())

    def draws(model: RecurrentLM, length: int):
        return lambda: model.sample(1, length=length, generator=torch.Generator().manual_seed(0))

    calls = {"course_lib": draws(ours, 64), "full passes": draws(again, 64),
             "course_lib, 16 letters": draws(ours, 16), "full passes, 16 letters": draws(again, 16)}
    if not torch.equal(calls["course_lib, 16 letters"](), calls["full passes, 16 letters"]()):
        raise AssertionError("the two draw different letters: there is nothing to compare")
    return Comparison(
        f"GRU, {HIDDEN} hidden: drawing 64 letters with its state and without",
        "Same weights, same letters. With the state a letter is one step; without it, all letters so far are read "
        "again for each.",
        calls, fast="course_lib", slow="full passes")


def sampling(kind: str) -> Comparison:
    """200 characters sampled from a language model, beside torch's layer in a loop with `multinomial`."""
    torch.manual_seed(0)
    ours = RecurrentLM(65, HIDDEN, kind.lower(), embedding=64, bos_id=0).eval()
    theirs = getattr(nn, kind)(64, HIDDEN, batch_first=True)
    generator = torch.Generator()

    def fast() -> torch.Tensor:
        return ours.sample(8, length=200, generator=generator.manual_seed(0))

    @torch.no_grad()
    def slow() -> torch.Tensor:
        generator.manual_seed(0)
        token, state, tokens = torch.zeros(8, 1, dtype=torch.long), None, []
        for _ in range(200):
            h, state = theirs(ours.tokens(token), state)
            token = torch.multinomial(ours.head(h[:, 0]).softmax(-1), 1, generator=generator)
            tokens.append(token)
        return torch.cat(tokens, dim=1)

    if fast().shape != slow().shape:
        raise AssertionError("the two sample texts of different sizes")
    return Comparison(
        f"{kind}, {HIDDEN} hidden: sampling 8 texts of 200 characters",
        f"The same sizes, with weights of their own. The loop calls `torch.nn.{kind}` for each character and samples with "
        "`torch.multinomial`.",
        {"course_lib": fast, f"torch.nn.{kind} in a loop": slow}, fast="course_lib", slow=f"torch.nn.{kind} in a loop")


COMPARISONS = {"speed-rnn-step": partial(cell_step, "RNN"), "speed-lstm-step": partial(cell_step, "LSTM"),
               "speed-gru-step": partial(cell_step, "GRU"),
               "speed-text-convolution": text_convolution, "speed-recurrent-reading": reading,
               "speed-recurrent-drawing": drawing,
               "speed-rnn-sampling": partial(sampling, "RNN"), "speed-gru-sampling": partial(sampling, "GRU")}
