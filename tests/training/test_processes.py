"""Two processes under torchrun have the loss curve of one; shares are uneven in every batch, and one may be empty."""
from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib.training import evaluate, fit, loop
from course_lib.training.processes import Processes

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


class Tokens(nn.Module):
    """A mean over tokens of rows of unequal length; one parameter that only long rows reach, and one that none does."""

    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(int(os.environ.get("RANK", "0")))    # the first process's will count
        self.weight = nn.Parameter(torch.randn(6, 6, generator=generator, dtype=torch.float64))
        self.bias = nn.Parameter(torch.zeros(6, dtype=torch.float64))
        self.rare = nn.Parameter(torch.zeros(6, 2, dtype=torch.float64))
        self.unused = nn.Parameter(torch.ones(2, 2, dtype=torch.float64))

    def nll(self, x):
        x = x.double()
        logits = F.linear(x, self.weight.tril(-1), self.bias)
        if x[:, 0].any():
            logits = logits + x[:, :1] * self.rare.sum(1)           # not reached at all by a share without such rows
        return F.binary_cross_entropy_with_logits(logits, x, reduction="none")

    def log_prob(self, x):
        return -self.nll(x).sum(1)


class Weighted(Tokens):
    def loss(self, batch):
        mask = batch.cumsum(1) < 3                                   # 2 to 6 tokens a row
        return self.nll(batch)[mask].mean(), int(mask.sum())


def rows(num):
    return (torch.rand(num, 6, generator=torch.Generator().manual_seed(num)) < 0.4).to(torch.uint8)


SETTINGS = {"epochs": 5, "batch_size": 5, "lr": 0.1, "weight_decay": 0.3, "clip": 0.5, "schedule": "cosine",
            "warmup": 2}
SCENARIOS = {                                                        # class, rows, rows of validation, settings
    "short last batch of 3": (Tokens, 23, 9, {}),
    "last batch of 1 row": (Tokens, 21, 1, {}),
    "weighted by tokens": (Weighted, 23, 9, {}),
    "pieces as well": (Weighted, 23, 9, {"accumulate": 2}),
    "early stopping": (Tokens, 11, 7, {"epochs": 60, "lr": 0.3, "schedule": None, "warmup": 0, "patience": 2}),
}


def play(name, **more):
    """One scenario: its history without times, and its final weights as lists."""
    cls, num, held_out, settings = SCENARIOS[name]
    model = cls()
    history = fit(model, rows(num), rows(100 + held_out)[:held_out], **SETTINGS | settings | more).to_dict()
    history.pop("seconds")
    return history, {key: p.tolist() for key, p in model.named_parameters()}


class Stop(Exception):
    pass


def in_each_process(folder: Path):
    """What torchrun runs: everything goes into one file a process."""
    rank, bars, real = int(os.environ["RANK"]), [], loop.tqdm

    def bar(*args, **kwargs):
        bars.append(not kwargs.get("disable", False))
        return real(*args, **kwargs)

    loop.tqdm = bar
    results = {name: play(name) for name in SCENARIOS}
    results["bars"] = bars
    results["evaluate"] = evaluate(Tokens(), rows(9))                # no process waits for another here

    # a killed run, resumed: the states of both generators come back
    class Drawing(Tokens):
        limit = None

        def log_prob(self, x):
            return super().log_prob(x) * (1 + 0.3 * torch.rand(()))

        def loss(self, batch):
            self.limit = self.limit and self.limit - 1
            if self.limit == 0:
                raise Stop
            return -self.log_prob(batch).mean()

    path = folder / "run.ckpt"
    for key, limits, checkpoint in (("whole", (None,), None), ("resumed", (9, None), path)):
        for limit in limits:
            torch.manual_seed(rank)
            model = Drawing()
            model.limit = limit
            try:
                fit(model, rows(23), rows(9), checkpoint=checkpoint, checkpoint_every=2, **SETTINGS)
            except Stop:
                continue
            results[key] = [model.weight.tolist(), torch.rand(3).tolist()]
    for key, broken in (("refused", {"lr": 0.2}), ("damaged", {})):
        if key == "damaged" and rank == 0:
            path.write_bytes(b"")
            path.with_name("run.ckpt.previous").unlink()
        try:
            fit(Drawing(), rows(23), rows(9), checkpoint=path, **SETTINGS | broken)
        except ValueError as error:
            results[key] = str(error)

    # a loss that is not a number in one process stops both
    class Half(Tokens):
        def loss(self, batch):
            return -self.log_prob(batch).mean() * (float("nan") if rank == 1 else 1)

    try:
        fit(Half(), rows(23), **SETTINGS)
    except FloatingPointError as error:
        results["nan"] = str(error)
    (folder / f"{rank}.json").write_text(json.dumps(results))


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    folder = tmp_path_factory.mktemp("two")
    script = folder / "script.py"
    script.write_text(f"import sys\nsys.path[:0] = [{str(ROOT)!r}]\nimport torch\ntorch.set_num_threads(1)\n"
                      "from pathlib import Path\nfrom tests.training import test_processes as here\n"
                      f"here.in_each_process(Path({str(folder)!r}))\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    done = subprocess.run([sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--nnodes=1",
                           "--master-addr=127.0.0.1", f"--master-port={port}", str(script)],
                          capture_output=True, text=True, cwd=ROOT, timeout=500, check=False,
                          env=os.environ | {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in (0, 1)]


@pytest.mark.parametrize("name", SCENARIOS)
def test_two_processes_have_the_history_and_the_weights_of_one(two, name):
    history, weights = play(name)
    for rank in (0, 1):
        theirs, theirs_weights = two[rank][name]
        for key in ("train", "valid", "lr"):
            assert theirs[key] == pytest.approx(history[key], rel=0, abs=1e-9), key
        assert {k: v for k, v in theirs.items() if k not in ("train", "valid", "lr")} == \
               {k: v for k, v in history.items() if k not in ("train", "valid", "lr")}
        for key, value in weights.items():
            torch.testing.assert_close(torch.tensor(theirs_weights[key]), torch.tensor(value), rtol=0, atol=1e-9)
    if name == "early stopping":
        assert history["stopped"] and history["restored"]


def test_only_the_first_process_shows_a_bar(two):
    assert set(two[0]["bars"]) == {True} and set(two[1]["bars"]) == {False}


def test_a_killed_run_of_two_processes_is_resumed_bit_for_bit(two):
    assert two[0]["whole"][0] == two[1]["whole"][0]                  # both hold the same weights
    assert two[0]["whole"][1] != two[1]["whole"][1]                  # and draw for themselves
    for rank in (0, 1):
        assert two[rank]["resumed"] == two[rank]["whole"]


def test_an_error_of_one_process_reaches_the_other(two):
    for results in two:
        assert "lr was 0.1, now 0.2" in results["refused"]
        assert "run.ckpt is damaged" in results["damaged"]
        assert "the training loss is nan at epoch 1, step 1" in results["nan"]


def test_a_share_is_a_part_and_the_shares_are_the_whole():
    for num, size in ((5, 2), (1, 2), (7, 3), (2, 4), (8, 1)):
        shares = [Processes(rank, size, torch.device("cpu")).share(torch.arange(num)) for rank in range(size)]
        assert torch.equal(torch.cat(shares), torch.arange(num))
        assert max(map(len, shares)) - min(map(len, shares)) <= 1


@pytest.mark.gpu
def test_one_process_on_a_gpu_needs_no_others():
    history = fit(Tokens(), rows(23), epochs=2, device="cuda")
    assert history.epochs == 2
