"""fit and evaluate on a DataLoader, and by an optimizer of one's own."""
from __future__ import annotations

import pytest
import torch
from torch.utils.data import BatchSampler, DataLoader, IterableDataset, RandomSampler, TensorDataset

from course_lib.density import FVSBN
from course_lib.training import CheckpointError, evaluate, fit
from course_lib.training.batches import epoch_batches
from tests.support.training import DATA, Killed, Noisy, seed_all

QUIET = {"progress": False}


def loader(data=DATA, batch_size=10, seed=None, shuffle=True, **more):
    generator = None if seed is None else torch.Generator().manual_seed(seed)
    return DataLoader(TensorDataset(data), batch_size, shuffle=shuffle, generator=generator, **more)


def weights(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


# --- a DataLoader -----------------------------------------------------------------------------------------------------


def test_loader_equals_tensors():
    class Order:                                                     # a sampler of batches that knows fit's order
        epoch = 0

        def __iter__(self):
            self.epoch += 1
            return iter(rows.tolist() for rows in epoch_batches(len(DATA), 10, 3, self.epoch))

        def __len__(self):
            return 5

    ours, theirs = FVSBN(6), FVSBN(6)
    settings = {"epochs": 3, "lr": 0.05, "weight_decay": 0.1, "schedule": "cosine", "warmup": 2, **QUIET}
    told = []
    one = fit(ours, DataLoader(TensorDataset(DATA), batch_sampler=Order()), DataLoader(TensorDataset(DATA), 7),
              callback=told.append, **settings)
    two = fit(theirs, DATA, DATA, batch_size=10, seed=3, **settings)
    assert torch.equal(weights(ours), weights(theirs)) and one.train == two.train and one.steps == two.steps
    assert one.valid == pytest.approx(two.valid, rel=1e-12)
    assert [report.step for report in told] == list(range(1, 16))


def test_evaluate_loader():
    model = FVSBN(6)
    model.randomize(torch.Generator().manual_seed(0))
    assert evaluate(model, loader(batch_size=9)) == pytest.approx(evaluate(model, DATA), rel=1e-12)


@pytest.mark.parametrize("own", [None, 4])
def test_loader_resume(tmp_path, own):
    """Its order is drawn by torch's global generator, or by its own: the state of both is in the checkpoint."""
    class Mortal(Noisy):
        limit = None

        def loss(self, batch):
            if self.limit is not None and int(self.calls) >= self.limit:
                raise Killed
            return super().loss(batch)

    def run(path=None, limit=None):
        seed_all()
        model = Mortal()
        model.limit = limit
        history = fit(model, loader(seed=own), DATA[:9], epochs=6, lr=0.2, checkpoint=path, **QUIET).to_dict()
        return {key: history[key] for key in ("train", "valid", "best_epoch")}, weights(model)

    whole = run()
    for limit in (12, 23):                                           # in the third and in the fifth epoch
        with pytest.raises(Killed):
            run(tmp_path / "run.ckpt", limit)
    again = run(tmp_path / "run.ckpt")
    assert again[0] == whole[0] and torch.equal(again[1], whole[1])
    with pytest.raises(CheckpointError, match="belongs to another run: train differs"):
        fit(Mortal(), loader(batch_size=9), DATA[:9], epochs=6, lr=0.2, checkpoint=tmp_path / "run.ckpt", **QUIET)


@pytest.mark.parametrize("own", [
    lambda generator: loader(sampler=RandomSampler(DATA, generator=generator), shuffle=False),
    lambda generator: DataLoader(TensorDataset(DATA), batch_sampler=BatchSampler(RandomSampler(DATA, generator=generator), 10,
                                                                                 False))])
@pytest.mark.parametrize("validated", [False, True])
def test_sampler_resume(tmp_path, own, validated):
    """The state of a sampler's own generator is in the checkpoint, of the data for validation too."""
    class Shaken(FVSBN):
        def log_prob(self, x, context=None):
            return super().log_prob(x) if self.training else super().log_prob(x) * torch.arange(1, len(x) + 1)

    def run(epochs, path=None):
        seed_all()
        model, data = Shaken(6), own(torch.Generator().manual_seed(4))
        history = fit(model, *((DATA, data) if validated else (data,)), epochs=epochs, lr=0.2, checkpoint=path, **QUIET)
        return history.train, history.valid, weights(model).tolist()

    run(2, tmp_path / "run.ckpt")
    assert run(5, tmp_path / "run.ckpt") == run(5)


@pytest.mark.parametrize("name", ["train", "valid"])
def test_persistent_workers_refused(tmp_path, name):
    """Their seed is drawn once a process, so a run that is resumed cannot draw as the first did."""
    data = {"train": DATA, "valid": DATA} | {name: loader(num_workers=1, persistent_workers=True)}
    with pytest.raises(ValueError, match=f"checkpoint was given and {name} is a DataLoader with persistent_workers"):
        fit(FVSBN(6), **data, epochs=1, checkpoint=tmp_path / "run.ckpt", **QUIET)
    assert not (tmp_path / "run.ckpt").exists()


class Endless(IterableDataset):
    def __init__(self, rows, said=None):
        self.rows, self.said = rows, said

    def __iter__(self):
        return iter(self.rows)


class Liar(Endless):
    def __len__(self):
        return self.said


@pytest.mark.parametrize("train, settings, error, sentence", [
    (loader(), {"seed": 1}, ValueError, "seed was given, but train is a DataLoader, which orders its own batches"),
    (loader(), {"lengths": torch.ones(47)}, ValueError, "lengths was given, but train is a DataLoader"),
    (loader(), {"checkpoint_every": 5}, ValueError, "checkpoint_every was given, but train is a DataLoader"),
    (DataLoader(Endless(DATA), 10), {}, ValueError, "does not know its length"),
    (DataLoader(Liar(DATA, 67), 10), {}, ValueError, "train gave 5 batches in epoch 1; expected 7, the length"),
    (DataLoader(TensorDataset(DATA[:0]), 10), {}, ValueError, "a DataLoader without batches"),
    (DataLoader([{"x": row} for row in DATA], 10), {}, TypeError, "train gives batches of type dict; expected tensors"),
])
@pytest.mark.filterwarnings("ignore:Length of IterableDataset")
def test_loader_refused(train, settings, error, sentence):
    with pytest.raises(error, match=sentence):
        fit(FVSBN(6), train, epochs=1, **settings, **QUIET)


def test_loader_empty():
    empty = DataLoader(TensorDataset(DATA[:0]), 10)
    with pytest.raises(ValueError, match="valid is a DataLoader that gave no batch"):
        fit(FVSBN(6), DATA, empty, epochs=1, **QUIET)
    with pytest.raises(ValueError, match="data is a DataLoader that gave no batch"):
        evaluate(FVSBN(6), empty)


# --- an optimizer of one's own ----------------------------------------------------------------------------------------


def test_optimizer_equals_hand_written_loop():
    ours, theirs = FVSBN(6), FVSBN(6)
    fit(ours, DATA, epochs=3, batch_size=10, optimizer=torch.optim.SGD(ours.parameters(), lr=0.5, momentum=0.9), **QUIET)
    optimizer = torch.optim.SGD(theirs.parameters(), lr=0.5, momentum=0.9)
    for epoch in (1, 2, 3):
        for rows in epoch_batches(len(DATA), 10, 0, epoch):
            optimizer.zero_grad()
            (-theirs.log_prob(DATA[rows]).mean()).backward()
            optimizer.step()
    assert torch.equal(weights(ours), weights(theirs))


def test_optimizer_schedule_by_group():
    model = FVSBN(6)
    optimizer = torch.optim.SGD([{"params": [model.weight], "lr": 0.4}, {"params": [model.bias], "lr": 0.1}])
    rates = []
    history = fit(model, DATA, epochs=1, batch_size=10, optimizer=optimizer, schedule=lambda step: 1 / step,
                  callback=lambda report: rates.append([group["lr"] for group in optimizer.param_groups]), **QUIET)
    assert rates == [[pytest.approx(0.4 / s), pytest.approx(0.1 / s)] for s in range(1, 6)]
    assert [group["lr"] for group in optimizer.param_groups] == [0.4, 0.1] and history.lr == [pytest.approx(0.4 / 5)]


def test_optimizer_own_scheduler_checkpoint(tmp_path):
    """A checkpoint does not hold the state of a scheduler of torch's, so a run with one is refused."""
    model = FVSBN(6)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.4)
    halving = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    with pytest.raises(ValueError, match="the optimizer's learning rate was changed during the run"):
        fit(model, DATA, epochs=3, batch_size=47, optimizer=optimizer, callback=lambda report: halving.step(),
            checkpoint=tmp_path / "run.ckpt", **QUIET)


def test_optimizer_resume(tmp_path):
    def run(path=None, epochs=6, momentum=0.9, **more):
        seed_all()
        model = Noisy()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=momentum, nesterov=True)
        fit(model, DATA, epochs=epochs, batch_size=10, optimizer=optimizer, checkpoint=path, **more, **QUIET)
        return weights(model)

    whole = run()
    run(tmp_path / "run.ckpt", epochs=2)
    with pytest.raises(CheckpointError, match="belongs to another run: optimizer"):
        run(tmp_path / "run.ckpt", momentum=0.8)
    with pytest.raises(CheckpointError, match="lr was None, now 0.05.*optimizer"):
        fit(Noisy(), DATA, epochs=6, batch_size=10, lr=0.05, checkpoint=tmp_path / "run.ckpt", **QUIET)
    assert torch.equal(run(tmp_path / "run.ckpt"), whole)


class Closed(torch.optim.SGD):
    def step(self, closure):
        return super().step(closure)


def test_optimizer_refused(tmp_path):
    model, other = FVSBN(6), FVSBN(6)
    with pytest.raises(ValueError, match="optimizer contains parameters that FVSBN does not have"):
        fit(model, DATA, epochs=1, optimizer=torch.optim.SGD(other.parameters(), lr=0.1), **QUIET)
    for given, named in (({"lr": 0.1}, "lr"), ({"betas": (0.5, 0.9), "weight_decay": 0.1}, "betas and weight_decay")):
        with pytest.raises(ValueError, match=f"^{named} and optimizer were given; expected only optimizer, which has its own"):
            fit(model, DATA, epochs=1, optimizer=torch.optim.SGD(model.parameters(), lr=0.1), **given, **QUIET)

    for closed in (torch.optim.LBFGS(model.parameters()), Closed(model.parameters(), lr=0.1)):
        with pytest.raises(ValueError, match=f"optimizer is of type {type(closed).__name__}, whose step needs a closure"):
            fit(model, DATA, epochs=1, optimizer=closed, **QUIET)

    class Remembering(torch.optim.SGD):
        def step(self, closure=None):
            self.state[self.param_groups[0]["params"][0]]["path"] = [1, 2]
            return super().step(closure)

    with pytest.raises(TypeError, match="Remembering keeps path as a list; a checkpoint can hold tensors only"):
        fit(model, DATA, epochs=1, optimizer=Remembering(model.parameters(), lr=0.1), checkpoint=tmp_path / "a", **QUIET)
    fit(model, DATA, epochs=1, optimizer=Remembering(model.parameters(), lr=0.1), **QUIET)
