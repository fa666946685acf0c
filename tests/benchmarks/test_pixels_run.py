"""The run of PixelCNN on 28 x 28: what chapter 08 says of the record."""
from __future__ import annotations

from benchmarks import store


def row(name):
    return store.read()[name]["rows"][0]


def errors_apart(a, b):
    """By how many standard errors of the difference a is lower than b, as if the images were drawn anew for each."""
    a, b = a["test"], b["test"]
    return (b["mean"] - a["mean"]) / (a["standard_error"] ** 2 + b["standard_error"] ** 2) ** 0.5


def test_what_chapter_8_says_of_pixelcnn_on_mnist():
    fvsbn, nade, made, pixelcnn = (row(f"{name}-binarized-mnist{size}") for name, size in (
        ("fvsbn", ""), ("nade", ""), ("made", "-8000"), ("pixelcnn", "")))
    assert errors_apart(pixelcnn, nade) > 2 and errors_apart(pixelcnn, fvsbn) > 20
    assert 0.5 < errors_apart(made, pixelcnn) < 1.5                   # level: about one
    assert pixelcnn["parameters"] < nade["parameters"] / 10 and pixelcnn["parameters"] < made["parameters"] / 100
    assert pixelcnn["epochs"] == pixelcnn["best_epoch"] == 16 and 55 * 60 * 0.95 < pixelcnn["cpu_seconds"] < 65 * 60
    assert pixelcnn["target"]["at_most"] == 87.5 and pixelcnn["target"]["reached"] is False
    digits = {each["model"].split(",")[0]: each["test"]["mean"] for each in store.read()["pixels-digits"]["rows"]}
    assert max(digits, key=digits.get) == "PixelCNN"


def test_what_chapter_8_says_of_the_digits():
    rows = {each["model"].split(",")[0]: each for each in store.read()["pixels-digits"]["rows"]}
    test = {name: each["test"] for name, each in rows.items()}
    order = ("NADE", "Diagonal BiLSTM", "MADE", "Row LSTM", "FVSBN", "gated PixelCNN", "PixelCNN")
    assert sorted(test, key=lambda name: test[name]["mean"]) == list(order)
    assert test["gated PixelCNN"]["mean"] - test["FVSBN"]["mean"] < test["gated PixelCNN"]["deviation_over_seeds"]     # level
    assert test["PixelCNN"]["mean"] - test["FVSBN"]["mean"] > 2 * test["PixelCNN"]["deviation_over_seeds"]
    assert 0.05 < test["Row LSTM"]["mean"] - test["MADE"]["mean"] < 0.15
    assert min(each for one in test.values() for each in one["seeds"]) > 16.5
    gated = rows["gated PixelCNN"]
    assert gated["settings"]["weight_decay"] == min(each["weight_decay"] for each in gated["candidates"])


def test_what_chapter_8_says_of_the_gated_network_on_mnist():
    plain, gated = row("pixelcnn-binarized-mnist"), row("gated-pixelcnn-binarized-mnist")
    assert errors_apart(gated, plain) < 0                             # no better
    assert 1.7 < gated["parameters"] / plain["parameters"] < 2        # nearly twice as many weights
    assert gated["epochs"] == gated["best_epoch"] == 9 and 0.95 < gated["cpu_seconds"] / plain["cpu_seconds"] < 1.05
    assert gated["target"]["at_most"] == 87.5 and gated["target"]["reached"] is False
