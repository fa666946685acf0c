"""The text on which `OwnRecurrent` is trained, and the loss on new text."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.data.toy_agreement import texts
from course_lib.grading.proxy import Proxy, check_tensor, model_error

LETTERS = "\n .abcdefghijklmnopqrstuvwxyz"                           # symbol 0 ends a text and stands before every other
UNITS, TEXTS = 64, 800                                               # of the training
ROWS, WARM, SCORED = 48, 10, 60                                      # of new text: in each row 10 characters are read before the 60 scored


def agreement(generator):
    """A text in which a verb follows its subject over other words, and the loss on new text, in nats per character."""
    def ids(num: int) -> Tensor:
        text = "".join(f"{line}\n" for line in texts(num, generator))
        return torch.tensor([LETTERS.index(letter) for letter in text])

    train, rows = ids(TEXTS), ids(ROWS + 40)[:ROWS * (WARM + SCORED + 1)].view(ROWS, -1)

    def loss(model: Proxy) -> float:
        state, total = None, 0.0
        for k in range(WARM + SCORED):                               # one character at a time: reading ahead gains nothing
            result = model.ask("read", rows[:, k:k + 1], state)
            if not isinstance(result, list | tuple) or len(result) != 2:
                raise model_error("read gives no pair of logits and a state")
            logits, state = check_tensor(result[0], (ROWS, 1, len(LETTERS)), "read").detach(), result[1]
            total += float(F.cross_entropy(logits[:, 0].double(), rows[:, k + 1])) if k >= WARM else 0.0
        return total / SCORED

    return {"symbols": len(LETTERS), "hidden": UNITS, "bos_id": 0}, train, loss
