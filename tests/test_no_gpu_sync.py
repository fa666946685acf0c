"""Within `unchecked` a GPU is not waited for: no value comes to the processor in a forward, nor in a training step.

Shown without a GPU. A tensor on the device "meta" has a shape and no values, so whatever needs one fails there. What comes
from the processor in between, or goes there, is seen by a mode that looks at every operation.
"""
from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from course_lib.density import FVSBN, MADE, NADE
from course_lib.pixels import GatedPixelCNN, PixelCNN
from course_lib.recurrent import RecurrentLM
from course_lib.transformer import BERT, GPT, PretrainingBatch, Transformer
from course_lib.validation import unchecked
from tests.support.types import untyped

TOKENS, BITS = torch.arange(15).reshape(3, 5) % 4 + 3, torch.arange(18).reshape(3, 6) % 2
REAL = torch.arange(5) < torch.tensor([5, 3, 4])[:, None]
SIZE = {"heads": 2, "d_model": 8, "dropout": 0.1}

INDEXED = ("index", "index_put", "index_put_", "_index_put_impl_")


class Waits(TorchDispatchMode):
    """Notes what a GPU would be waited for: a value that is read, a size that depends on values, a copy between devices.

    What needs values is answered as if all were True or 1, so that the rest is seen too.
    """

    def __init__(self):
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        kwargs, name = kwargs or {}, op.overloadpacket.__name__
        given = [each for each in args if isinstance(each, Tensor)]
        if name in ("_local_scalar_dense", "equal", "is_nonzero"):
            self.seen.append(name)
            return 1
        if name == "nonzero":
            self.seen.append(name)
            return torch.ones(args[0].shape).nonzero().to("meta")
        if name in INDEXED and any(each is not None and each.dtype == torch.bool for each in args[1]):
            self.seen.append(f"{name} by a mask")
            places = [(each,) if each is None or each.dtype != torch.bool else everywhere(each) for each in args[1]]
            args = (args[0], [each for parts in places for each in parts], *args[2:])
        if name in ("_to_copy", "copy_"):
            to = torch.device(kwargs.get("device") or args[0].device)
            if any(each.device.type != to.type for each in given):
                self.seen.append("a copy between devices")
                if to.type == "cpu":
                    return torch.zeros(args[0].shape, dtype=kwargs.get("dtype") or args[0].dtype)
        return op(*args, **kwargs)


def everywhere(mask: Tensor) -> tuple[Tensor, ...]:
    """The places of a mask that is True everywhere."""
    return tuple(place.to("meta") for place in torch.ones(mask.shape).nonzero(as_tuple=True))


def gpt() -> GPT:
    return GPT({"vocab_size": 7, "window": 8, "layers": 2, "bos_id": 0, **SIZE})


def bert() -> BERT:
    return BERT({"vocab_size": 7, "window": 8, "layers": 2, **SIZE})


def translator() -> Transformer:
    return Transformer({"source": 7, "target": 7, "pad_id": 0, "bos_id": 1, "eos_id": 2, "d_ff": 8, "encoder_layers": 1,
                        "decoder_layers": 1, **SIZE})


def likelihood(model, x: Tensor, *context) -> Tensor:
    return -model.log_prob(x, *context).mean()


IMAGES = ((2, 3), 4, 2)
QUESTIONS = {
    "FVSBN": (lambda: FVSBN(6), likelihood, BITS),
    "FVSBN, another order": (lambda: FVSBN(6, order=[2, 0, 1, 5, 4, 3]), likelihood, BITS),
    "NADE": (lambda: NADE(6, 4), likelihood, BITS),
    "NADE, another order": (lambda: NADE(6, 4, order=[2, 0, 1, 5, 4, 3]), likelihood, BITS),
    "MADE": (lambda: MADE(6, (8, 8)), likelihood, BITS),
    "PixelCNN": (lambda: PixelCNN(*IMAGES), likelihood, BITS),
    "gated PixelCNN": (lambda: GatedPixelCNN(*IMAGES), likelihood, BITS),
    "LSTM": (lambda: RecurrentLM(7, 8, bos_id=0), lambda model, x: model.loss(x)[0], TOKENS),
    "GPT": (gpt, lambda model, x: model.loss(x)[0], TOKENS),
    "GPT, log_prob": (gpt, likelihood, TOKENS),
    "GPT, padding": (gpt, lambda model, x, mask: model(x, mask).square().mean(), TOKENS, REAL),
    "BERT": (bert, lambda model, x, mask: model.pretraining_logits(x, None, mask)[0].square().mean(), TOKENS, REAL),
    "Transformer": (translator, likelihood, TOKENS, TOKENS),
}
# The losses that pick out some positions have as many rows as there are such; what each waits for, in its order.
PICKING = {
    "GPT, loss": (gpt, lambda model, x, mask: model.loss((x, mask))[0], TOKENS, REAL),
    "BERT, loss": (bert, lambda model, x, mask: model.loss(PretrainingBatch(x, mask.long(), mask, mask, x, mask[:, 0]))[0],
                   TOKENS, REAL),
}


def waits(make, ask, *inputs: Tensor) -> list[str]:
    """What a step of training waits for: the forward, the backward, the update."""
    model, inputs = make().to("meta"), [each.to("meta") for each in inputs]
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with untyped(), unchecked(), Waits() as mode:
        ask(model, *inputs).backward()
        optimizer.step()
    assert any(p.grad is not None for p in model.parameters())
    return mode.seen


@pytest.mark.parametrize("name", QUESTIONS)
def test_training_step_reads_no_value(name):
    assert waits(*QUESTIONS[name]) == []


@pytest.mark.parametrize("name", PICKING)
def test_loss_of_positions_reads_their_number(name):
    seen = waits(*PICKING[name])
    assert seen and set(seen) <= {"index by a mask", "index_put by a mask", "index_put_ by a mask"}
