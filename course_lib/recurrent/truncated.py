"""Truncated backpropagation through time on one long text, cut into parallel streams."""

from __future__ import annotations

import torch
from jaxtyping import Float, Integer
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from course_lib.recurrent.language_model import RecurrentLM
from course_lib.recurrent.layers import Memory
from course_lib.validation import check_sizes


def streams(text: Integer[Tensor, "T"], batch: int, length: int) -> DataLoader:
    """Cut a text into `batch` parallel streams, and these into pieces: a loader of tokens (batch, length + 1).

    batch   number of streams, which are the rows of each batch
    length  number of predicted tokens in a row of a batch

    Row b of a batch continues row b of the previous batch. The two rows share one token, which is the last target of
    the previous row and the first input of the next row. Tokens that do not fill a last batch are dropped. Raises
    ValueError if the text is too short for one batch.
    """
    check_sizes(batch=batch, length=length)
    if text.dim() != 1 or len(text) < batch * length + 1:
        raise ValueError(f"text has shape {tuple(text.shape)}; expected (T,) with T at least {batch * length + 1}, "
                         "batch * length + 1: use a smaller batch or length")
    pieces = (len(text) - 1) // (batch * length)
    starts = torch.arange(batch) * pieces * length                   # (batch,) of each stream
    at = starts[None, :, None] + torch.arange(pieces)[:, None, None] * length + torch.arange(length + 1)
    rows = text[at].flatten(0, 1)                                    # (pieces * batch, length + 1), piece by piece
    return DataLoader(TensorDataset(rows), batch_size=batch)


class Carried(nn.Module):
    """Language model that is trained on streams: each batch starts from the final states of the previous batch.

    States are carried from batch to batch, gradients are not (truncated backpropagation through time). The states are
    in a buffer, so checkpoints of `fit` contain them. In eval mode the first batch starts from the model's initial
    states, and the stored states of training are not changed.

    model  the language model, whose parameters are shared
    batch  number of rows of a training batch, as in `streams`

    >>> text = torch.arange(100) % 7
    >>> model = Carried(RecurrentLM(vocab_size=7, hidden=16), batch=4)
    >>> from course_lib.training import fit
    >>> fit(model, streams(text, batch=4, length=8), epochs=2, progress=False).epochs
    2
    """

    def __init__(self, model: RecurrentLM, batch: int):
        super().__init__()
        self.model, self.batch = model, batch
        parts = [torch.stack(state) for state in model.layers.start(batch)]
        self.register_buffer("memory", torch.stack(parts).detach().clone())                # (layers, parts, B, H)
        self._reading: Memory | None = None                          # in eval mode

    def loss(self, tokens: Integer[Tensor, "B L"]) -> tuple[Float[Tensor, ""], int]:
        """Mean cross-entropy in nats per predicted token, and their number: all tokens except the first of each row."""
        if self.training and len(tokens) != self.batch:
            raise ValueError(f"tokens has {len(tokens)} rows; expected {self.batch}, one for each stream")
        memory = self._reading
        if self.training:                                            # a copy: the buffer is written below
            memory = tuple(tuple(state.unbind()) for state in self.memory.clone().unbind())
        logits, memory = self.model.read(tokens[:, :-1], memory)
        if self.training:
            self.memory.copy_(torch.stack([torch.stack(state) for state in memory]).detach())
        else:
            self._reading = memory
        target = tokens[:, 1:]
        return nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten()), target.numel()

    def train(self, mode: bool = True) -> Carried:
        self._reading = None
        return super().train(mode)


@torch.no_grad()
def nats_of_text(model: RecurrentLM, text: Integer[Tensor, "T"], before: Integer[Tensor, "S"],
                 piece: int = 1000) -> Float[Tensor, "T"]:
    """Negative log-probability in nats of each token of a text, given all tokens before it.

    before  text that precedes `text`, at least one token; it is not scored
    piece   number of tokens that are processed at once, which does not change the result
    """
    if before.dim() != 1 or text.dim() != 1 or len(before) < 1 or len(text) < 1:
        raise ValueError(f"text has shape {tuple(text.shape)} and `before` has shape {tuple(before.shape)}; expected "
                         "(T,) and (S,) with T and S at least 1")
    training = model.training
    model.eval()
    device, memory, losses = model.head.weight.device, None, []
    tokens = torch.cat([before, text])
    for read, target in zip(tokens[:-1].split(piece), tokens[1:].split(piece)):
        logits, memory = model.read(read[None].to(device), memory)
        losses.append(nn.functional.cross_entropy(logits[0], target.to(device), reduction="none").cpu())
    model.train(training)
    return torch.cat(losses)[len(before) - 1:]
