"""Models as one graph, compared with themselves: `python -m tests.support.graphs BACKEND NAMES...`, one line of JSON.

In a process of its own, since the types that the tests check at every call are none of the graph's business.
"""
from __future__ import annotations

import contextlib
import json
import sys
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn

from course_lib.density import FVSBN, MADE
from course_lib.transformer import BERT, GPT, Transformer
from course_lib.validation import unchecked


class Call(nn.Module):
    """A model, and what is asked of it, as a module that is called with tensors."""

    def __init__(self, model: nn.Module, ask):
        super().__init__()
        self.model, self.ask = model, ask

    def forward(self, *inputs):
        answer = self.ask(self.model, *inputs)
        return answer if isinstance(answer, torch.Tensor) else torch.cat([part.flatten() for part in answer])


def cases() -> dict[str, tuple[Call, tuple[torch.Tensor, ...]]]:
    """A question for each model, with its input."""
    torch.manual_seed(0)
    bits, tokens = torch.randint(2, (3, 6)), torch.randint(3, 7, (3, 5))
    mask = torch.arange(5) < torch.tensor([5, 3, 4])[:, None]
    size = {"heads": 2, "d_model": 8, "dropout": 0.0}
    gpt = GPT({"vocab_size": 7, "window": 8, "layers": 2, "bos_id": 0, **size})
    bert = BERT({"vocab_size": 7, "window": 8, "layers": 2, **size})
    transformer = Transformer({"source": 7, "target": 7, "pad_id": 0, "bos_id": 1, "eos_id": 2, "d_ff": 8,
                               "encoder_layers": 1, "decoder_layers": 1, **size})
    asked = {
        "FVSBN": (FVSBN(6), lambda model, x: model.log_prob(x), (bits,)),
        "MADE": (MADE(6, (8, 8)), lambda model, x: model.log_prob(x), (bits,)),
        "GPT": (gpt, lambda model, x: model(x), (tokens,)),
        "GPT, padding": (gpt, lambda model, x, mask: model(x, mask), (tokens, mask)),
        "GPT, loss": (gpt, lambda model, x: model.loss(x)[0], (tokens,)),
        "GPT, log_prob": (gpt, lambda model, x: model.log_prob(x), (tokens,)),
        "BERT": (bert, lambda model, x, mask: model.pretraining_logits(x, None, mask), (tokens, mask)),
        "Transformer": (transformer, lambda model, x, y: model.log_prob(y, x), (tokens, tokens)),
    }
    for model, _, _ in asked.values():
        for p in model.double().parameters():
            nn.init.normal_(p, 0, 0.3)
    return {name: (Call(model, ask), inputs) for name, (model, ask, inputs) in asked.items()}


def difference(name: str, backend: str) -> dict[str, float | str]:
    """Largest differences in values and gradients, compiled and exported, and the error message outside of `unchecked`.

    The model is first compiled outside of `unchecked`, which is refused, before any other call in this thread."""
    call, inputs = cases()[name]
    compiled = torch.compile(call.forward, fullgraph=True, backend=backend)
    with contextlib.suppress(torch._dynamo.exc.Unsupported):
        compiled(*inputs)
        raise AssertionError(f"{name} reads no values")
    with unchecked():
        got, want, said = compiled(*inputs), call(*inputs), {}
        if backend == "eager":
            said["export"] = apart([torch.export.export(call, inputs, strict=False).module()(*inputs)], [want])
    gradients = [torch.autograd.grad(value.square().sum(), call.parameters(), materialize_grads=True, allow_unused=True)
                 for value in (got, want)]
    said |= {"value": apart([got], [want]), "gradient": apart(*gradients), "moves": apart(gradients[0], [0.0])}
    wrong = (torch.full_like(inputs[0], 9), *inputs[1:])
    try:
        call(*wrong)
    except ValueError as error:
        said["outside"] = str(error)
    return said


def apart(ours, theirs) -> float:
    """The largest distance of two tensors of the same place."""
    theirs = theirs if len(theirs) == len(ours) else theirs * len(ours)
    return max(float((a - b).detach().abs().max()) for a, b in zip(ours, theirs, strict=True))


if __name__ == "__main__":
    backend, *names = sys.argv[1:]
    report = {}
    for name in names or cases():
        with ThreadPoolExecutor(1) as thread:
            report[name] = thread.submit(difference, name, backend).result()
    print(json.dumps(report))
