"""Training steps beside peers on one device, in float32 and bfloat16, and their share of its matrix-product peak.

    python -m benchmarks.speed.gpu [--device cpu] [--tiny] [--full]

MADE and PixelCNN have peers only if the folder PEERS holds them: see `from_source`. The share of the peak counts the
products of the package's step.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.speed.comparison import NoPeer
from benchmarks.speed.from_source import as_in_fit, bernoulli_loss, mades, pixelcnns
from benchmarks.speed.transformers import PEER, bert_losses, gpts, numbers
from course_lib.density import MADE, NADE
from course_lib.pixels import PixelCNN
from course_lib.recurrent import Recurrent

Loss = Callable[[], Tensor]
Steps = dict[str, tuple[nn.Module, Loss]]                            # course_lib first, then its peer
ROUNDS, SECONDS = 5, 0.2                                             # per contender; at least so long a round
BF16_TOLERANCE, TOLERANCE = 0.05, 1e-3                               # relative, of the first losses


def bits(rows: int, n: int, device: torch.device) -> Tensor:
    """Random images (rows, n), one pixel in eight white, as in binarized MNIST."""
    return (torch.rand(rows, n, generator=torch.Generator().manual_seed(0)) < 0.13).float().to(device)


def gpt(device: torch.device, tiny: bool, full: bool = False) -> Steps:
    """GPT-2 of Hugging Face; `full` is its smallest published size."""
    layers, heads, width, T, rows, V = (1, 2, 8, 16, 2, 65) if tiny else (12, 12, 768, 1024, 8, 50257) if full else \
        (6, 6, 384, 256, 64, 65)
    theirs, ours = (model.to(device) for model in gpts(layers, heads, width, T, V))
    tokens = numbers(0, V, rows, T).to(device)
    return {"course_lib": (ours, lambda: ours.loss(tokens)[0]), PEER: (theirs, lambda: theirs(tokens, labels=tokens).loss)}


def bert(device: torch.device, tiny: bool) -> Steps:
    """BERT of Hugging Face, with both losses."""
    return bert_losses(*((1, 2, 8, 16, 2, 99) if tiny else (6, 8, 512, 128, 64, 8000)), device)


def nade(device: torch.device, tiny: bool) -> Steps:
    """The running sum without its hidden layers, beside the literal loop under autograd."""
    n, hidden, rows = (16, 8, 4) if tiny else (784, 500, 128)
    model, x = NADE(n, hidden).to(device), bits(rows, n, device)
    return {"course_lib": (model, lambda: -model.log_prob(x).mean()),
            "the literal loop": (model, lambda: -model.one_by_one(x).log_prob(x).sum(dim=1).mean())}


def made(device: torch.device, tiny: bool) -> Steps:
    """karpathy's pytorch-made with one hidden layer, from its weights and masks, if PEERS holds it."""
    n, hidden, rows = (16, 8, 4) if tiny else (784, 500, 128)
    x = bits(rows, n, device)
    try:
        ours, theirs = (model.to(device) for model in mades(n, hidden))
    except NoPeer:
        ours, theirs = MADE(n, (hidden,)).to(device), None
    steps = {"course_lib": (ours, lambda: -ours.log_prob(x).mean())}
    return steps if theirs is None else steps | {"pytorch-made": (theirs, lambda: bernoulli_loss(theirs(x), x))}


def pixelcnn(device: torch.device, tiny: bool) -> Steps:
    """PixelCNN of pytorch-generative, from its weights, if PEERS holds it."""
    depth, rows = (1, 2) if tiny else (15, 64)
    x = bits(rows, 784, device)
    try:
        ours, theirs = (model.to(device) for model in pixelcnns(depth))
    except NoPeer:
        ours, theirs = PixelCNN((28, 28), width=32, depth=depth, first=7, inner=16).to(device), None
    steps = {"course_lib": (ours, lambda: -ours.log_prob(x).mean())}
    if theirs is not None:
        image, target = ours.image(x), x.view(-1, 1, 28, 28)
        steps["pytorch-generative"] = theirs, lambda: bernoulli_loss(theirs(image), target)
    return steps


def lstm(device: torch.device, tiny: bool) -> Steps:
    """torch.nn.LSTM, with the same weights."""
    hidden, rows, T = (8, 2, 4) if tiny else (512, 64, 256)
    theirs = nn.LSTM(hidden, hidden, batch_first=True)
    ours = Recurrent.from_torch(theirs).to(device)
    theirs, x = theirs.to(device), torch.randn(rows, T, hidden, generator=torch.Generator().manual_seed(0)).to(device)
    return {"course_lib": (ours, lambda: ours(x)[0].square().mean()),
            "torch.nn.LSTM": (theirs, lambda: theirs(x)[0].square().mean())}


STEPS = {"GPT": gpt, "BERT": bert, "NADE": nade, "MADE": made, "PixelCNN": pixelcnn, "LSTM": lstm}


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def seconds(call: Callable[[], object], repeats: int, device: torch.device) -> float:
    """Wall-clock time per call, over `repeats` calls."""
    wait(device)
    began = time.perf_counter()
    for _ in range(repeats):
        call()
    wait(device)
    return (time.perf_counter() - began) / repeats


def medians(calls: dict[str, Callable[[], object]], device: torch.device, least: float) -> dict[str, float]:
    """Median seconds per call, in interleaved rounds of at least `least` seconds, after a warm-up."""
    for call in calls.values():
        seconds(call, 3, device)
    repeats = {name: max(1, round(least / seconds(call, 1, device))) for name, call in calls.items()}
    rounds = [{name: seconds(call, repeats[name], device) for name, call in calls.items()} for _ in range(ROUNDS)]
    return {name: statistics.median(r[name] for r in rounds) for name in calls}


def peak(dtype: torch.dtype, device: torch.device, tiny: bool) -> float:
    """FLOP per second of a large matrix product."""
    n = 256 if tiny else 8192
    a, b = (torch.randn(n, n, device=device, dtype=dtype) for _ in range(2))
    return 2 * n ** 3 / medians({"product": lambda: a @ b}, device, 0.0 if tiny else SECONDS)["product"]


def report(name: str, build: Callable[..., Steps], bf16: bool, device: torch.device, tiny: bool,
           top: float) -> str:
    """One line: milliseconds per step of each contender, the peer's time over ours, and the share of the peak."""
    torch.manual_seed(0)
    steps = build(device, tiny)
    with torch.no_grad(), torch.autocast(device.type, torch.bfloat16, enabled=bf16):
        first = [loss().float() for _, loss in steps.values()]
    torch.testing.assert_close(first[-1], first[0], rtol=BF16_TOLERANCE if bf16 else TOLERANCE, atol=0)
    calls = {label: as_in_fit(model, loss, bf16) for label, (model, loss) in steps.items()}
    time_of = medians(calls, device, 0.0 if tiny else SECONDS)
    ours, *theirs = time_of.items()
    line = f"{name:12}{'bfloat16' if bf16 else 'float32':10}{ours[1] * 1e3:10.3f} ms"
    line += "".join(f"{value * 1e3:10.3f} ms {label}, {value / ours[1]:.2f} of ours" for label, value in theirs)
    if name != "LSTM":                                               # cuDNN's products are not counted
        with FlopCounterMode(display=False) as counter:
            calls["course_lib"]()
        line += f"; {counter.get_total_flops() / ours[1] / top:.1%} of the peak"
    return line


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.gpu", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tiny", action="store_true", help="tiny sizes, to test the program")
    parser.add_argument("--full", action="store_true", help="the smallest GPT-2 at its full size only")
    chosen = parser.parse_args(arguments)
    device = torch.device(chosen.device)
    print(torch.cuda.get_device_name(device) if device.type == "cuda" else device, f"torch {torch.__version__}")
    steps = {"GPT-2": lambda *a: gpt(*a, full=True)} if chosen.full else STEPS
    for bf16 in (False, True):
        top = peak(torch.bfloat16 if bf16 else torch.float32, device, chosen.tiny)
        print(f"peak        {'bfloat16' if bf16 else 'float32':10}{top / 1e12:10.3f} TFLOP/s of a matrix product", flush=True)
        for name, build in steps.items():
            print(report(name, build, bf16, device, chosen.tiny, top), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
