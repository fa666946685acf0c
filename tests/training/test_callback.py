"""A callback is told what the bar shows: enough for a CSV, and for the event files of other loggers."""
from __future__ import annotations

import pytest

from course_lib.density import FVSBN
from course_lib.training import Report, epoch_order, fit
from tests.support.training import DATA, SETTINGS, SPLIT, Noisy, killed, seed_all

TRAIN, VALID = DATA[:37], DATA[37:]


def reports(**settings) -> list[Report]:
    told: list[Report] = []
    model = FVSBN(6)
    history = fit(model, TRAIN, VALID, batch_size=10, callback=told.append, progress=False, **{"epochs": 3} | settings)
    assert history.epochs == told[-1].epoch
    return told, history


def test_callback_reports_every_step():
    told, history = reports(schedule="linear")
    assert [report.step for report in told] == list(range(1, 13)) and {report.steps for report in told} == {12}
    assert [report.epoch for report in told] == [1] * 4 + [2] * 4 + [3] * 4
    closing = told[3::4]
    assert [report.train for report in closing] == history.train and [report.valid for report in closing] == history.valid
    assert all(report.train is None and report.valid is None for report in told if report not in closing)
    assert [report.lr for report in closing] == history.lr
    sizes = [10, 10, 10, 7]
    for e in range(3):                                               # the epoch's loss is the mean of its steps'
        steps = told[4 * e:4 * e + 4]
        assert sum(r.loss * n for r, n in zip(steps, sizes)) / 37 == pytest.approx(history.train[e], rel=1e-12)
    first = TRAIN[epoch_order(37, 0, 1)[:10]]
    assert told[0].loss == pytest.approx(-FVSBN(6).log_prob(first).mean().item())


def test_callback_after_resume(tmp_path):
    path, told = tmp_path / "run.ckpt", []
    killed(path, 12, checkpoint_every=1)                             # epoch 3 has 3 steps behind it
    seed_all()
    history = fit(Noisy(), *SPLIT, checkpoint=path, checkpoint_every=1, callback=told.append, **SETTINGS)
    assert [report.step for report in told] == list(range(12, history.steps[-1] + 1))
    assert (told[0].epoch, told[0].train) == (3, history.train[2])
