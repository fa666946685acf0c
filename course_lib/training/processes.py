"""Several processes under torchrun that compute the loss curve of one.

Every process holds the whole model and the whole data, and draws the same batches. Of each batch it takes its share,
and the gradients are summed, each row with the weight it has in one process: what `share` hands out unevenly, the sums
put right. With one process every method here does nothing.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from jaxtyping import Int
from torch import Tensor


@dataclass
class Processes:
    """This process's number `rank` among `size`, and the device it computes on."""

    rank: int
    size: int
    device: torch.device

    @classmethod
    def join(cls, device: torch.device) -> Processes:
        """Meet the others that torchrun started (RANK, WORLD_SIZE, LOCAL_RANK); alone where it started none."""
        if not dist.is_initialized():
            if int(os.environ.get("WORLD_SIZE", "1")) == 1 or "RANK" not in os.environ:
                return cls(0, 1, device)
            dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
            atexit.register(_leave)                                  # a second fit uses the same group
        if device.type == "cuda" and dist.get_world_size() > 1:
            device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
            torch.cuda.set_device(device)
        return cls(dist.get_rank(), dist.get_world_size(), device)

    @property
    def first(self) -> bool:
        """The one that writes files and shows the bar."""
        return self.rank == 0

    def share(self, rows: Int[Tensor, "B"]) -> Int[Tensor, "..."]:
        """This process's part of a batch; none at all if there are fewer rows than processes."""
        return rows.tensor_split(self.size)[self.rank]

    def sum(self, *numbers: float) -> list[float]:
        """Each number summed over the processes, in double precision."""
        if self.size == 1:
            return list(numbers)
        total = torch.tensor(numbers, dtype=torch.float64, device=self.device)
        dist.all_reduce(total)
        return total.tolist()

    def sum_gradients(self, parameters: Iterable[Tensor]) -> None:
        """Sum .grad over the processes. A parameter that none of them reached keeps None, as in one process."""
        if self.size == 1:
            return
        parameters = [p for p in parameters if p.requires_grad]
        reached = self.sum(*(float(p.grad is not None) for p in parameters))
        parameters = [p for p, times in zip(parameters, reached) if times]
        for dtype in {p.dtype: None for p in parameters}:            # one message a dtype
            group = [p for p in parameters if p.dtype == dtype]
            grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in group]
            flat = torch.cat([g.reshape(-1) for g in grads])
            dist.all_reduce(flat)
            for p, g in zip(group, flat.split([p.numel() for p in group])):
                p.grad = g.view_as(p)

    def broadcast(self, tensors: Iterable[Tensor]) -> None:
        """Everyone takes the first process's values."""
        if self.size > 1:
            for t in tensors:
                dist.broadcast(t.detach(), src=0)

    def gather(self, value: Any) -> list[Any]:
        """Everyone's value, by rank."""
        if self.size == 1:
            return [value]
        values = [None] * self.size
        dist.all_gather_object(values, value)
        return values

    def from_first(self, make: Callable[[], Any]) -> Any:
        """What the first process makes, or the error it meets, for everyone: the others would wait for ever."""
        if self.size == 1:
            return make()
        box = [None, None]
        if self.first:
            try:
                box[0] = make()
            except Exception as error:                               # noqa: BLE001 it is raised below, by all
                box[1] = error
        dist.broadcast_object_list(box, src=0, device=self.device)
        if box[1] is not None:
            raise box[1]
        return box[0]


def _leave() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()
