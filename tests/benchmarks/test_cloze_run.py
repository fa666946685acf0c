"""Taylor's cloze as a run, made small: which words are gaps, that no model reads the word it is to restore, what is counted."""
from __future__ import annotations

import itertools

import pytest
import torch
from torch import nn

from benchmarks import store
from benchmarks.reproduce import cloze, cloze_networks
from benchmarks.reproduce.recipes import Job, Repeats
from benchmarks.reproduce.run import Row
from course_lib.tokenizers import WordPieceTokenizer
from course_lib.words import BiLM

SENTENCES = ["The dog ran , and the man didn't open the door .", "\"Go away !\" said a well-known cat", "It was wet .",
             "the old man saw a dog at the door and the dog saw a cat ."]
TOKENIZER = WordPieceTokenizer.fit(" ".join(SENTENCES + 3 * [" ".join(SENTENCES).replace("known", "")]), 70)
SYMBOLS = TOKENIZER.vocabulary.symbols
V = len(SYMBOLS)


@pytest.fixture
def passage(monkeypatch) -> cloze.Passage:
    monkeypatch.setattr(cloze, "GAPS", 6)
    (found,) = cloze.passages_of("stories", SENTENCES, TOKENIZER)
    return found


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(cloze, "PIECES", V)
    monkeypatch.setattr(cloze_networks, "PIECES", V)
    monkeypatch.setattr(cloze, "is_word", lambda: torch.tensor([cloze.WORD.fullmatch(symbol) is not None for symbol in SYMBOLS]))


def test_every_fifth_word_is_a_gap_and_signs_are_none(passage):
    words = [word for text in SENTENCES for word in cloze.WORD.findall(text.lower())]
    deleted = words[4::5]
    assert deleted == ["the", "door", "well", "wet", "a", "and", "cat"] and passage.asked == len(deleted)
    whole = [word for word in deleted if word in SYMBOLS]
    assert 0 < len(whole) < len(deleted)                             # some in pieces, which are asked and not tried
    assert [SYMBOLS[passage.sentences[row][place]] for row, place in passage.gaps] == whole
    for tokens, text in zip(passage.sentences, SENTENCES):
        edge = TOKENIZER.vocabulary.eos_id
        assert tokens[0] == tokens[-1] == edge and tokens[1:-1].tolist() == TOKENIZER.encode(text.lower()).tolist()


def test_what_a_treebank_cuts_off_is_joined_again(monkeypatch):
    monkeypatch.setattr(cloze, "GAPS", 1)
    ((cut,), (whole,)) = (cloze.passages_of("web", [text], TOKENIZER) for text in ("the man did n't open it", "the man didn't open it"))
    assert cut.asked == whole.asked == 1 and cut.sentences[0].tolist() == whole.sentences[0].tolist()


def fillers() -> dict[str, nn.Module]:
    torch.manual_seed(0)
    rows = TOKENIZER.encode(" ".join(SENTENCES)).view(1, -1)
    return {"trigram": cloze.ByCounts(3).fit_counts(rows), "both sides": cloze.ByCounts(2, both=True).fit_counts(rows),
            "window": cloze.ByWindow(width=8, radius=2, hidden=8), "two GRUs": cloze.ByTwoRNNs(width=8, hidden=8),
            "ELMo, forward": elmo(False), "ELMo": elmo(True)}


def elmo(both: bool) -> nn.Module:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cloze.hub, "load", lambda name: BiLM(V, 8))
        model = cloze.ByELMo(both, minus=0.5)
    model.log_p.copy_(torch.arange(V) / V)
    return model.eval()


@pytest.mark.parametrize("name", ["trigram", "both sides", "window", "two GRUs", "ELMo, forward", "ELMo"])
def test_no_model_reads_the_word_and_each_reads_its_neighbours(passage, name):
    model = fillers()[name].eval()
    tokens, real = cloze.pad(passage.sentences, TOKENIZER.vocabulary.eos_id)
    one_sided = name in ("trigram", "ELMo, forward")
    with torch.no_grad():
        for number, (row, place) in enumerate(passage.gaps):
            def scores(at: int) -> torch.Tensor:
                changed = tokens.clone()
                changed[row, at] = (changed[row, at] + 1) % V
                return model.at(changed, real, *torch.tensor(passage.gaps).T)[number]

            asked = model.at(tokens, real, *torch.tensor(passage.gaps).T)[number]
            assert torch.equal(scores(place), asked)
            assert not torch.equal(scores(place - 1), asked)
            assert torch.equal(scores(place + 1), asked) is one_sided


def test_a_bigram_of_both_sides_is_the_product(passage):
    model = fillers()["both sides"]
    tokens, real = cloze.pad(passage.sentences, TOKENIZER.vocabulary.eos_id)
    (row, place), w = passage.gaps[0], 7
    left, right = int(tokens[row, place - 1]), int(tokens[row, place + 1])
    chain = model.log_prob(torch.tensor([[w, right]]), torch.tensor([[left]]))             # log p(w | l) + log p(r | w)
    scores = model.at(tokens, real, torch.tensor([row]), torch.tensor([place]))
    assert scores[0, w].item() == pytest.approx(chain.item(), abs=1e-5)


def test_elmo_subtracts_what_a_word_has_without_its_sentence(passage):
    model = elmo(True)
    tokens, real = cloze.pad(passage.sentences, TOKENIZER.vocabulary.eos_id)
    row, place = passage.gaps[1]
    with torch.no_grad():
        own = passage.sentences[row][None]
        after, before = model.model(own)
        expected = after[0, place - 1].log_softmax(0) + before[0, place + 1].log_softmax(0) - 0.5 * model.log_p
        torch.testing.assert_close(model.at(tokens, real, torch.tensor([row]), torch.tensor([place]))[0], expected)


@pytest.mark.parametrize("right", [True, False])
def test_a_softmax_over_samples_is_at_rest_where_the_whole_one_is(monkeypatch, right):
    """The gradient of the loss, every draw of two others weighed by its probability: 0 at log p, and at no other scores."""
    p, q = torch.tensor([0.6, 0.3, 0.1]), torch.tensor([0.2, 0.3, 0.5])
    monkeypatch.setattr(cloze_networks, "PIECES", 3)
    monkeypatch.setattr(cloze_networks, "NOISE", 2)
    model = cloze_networks.ByWindow(width=2, radius=1, hidden=2).double()
    model.q = q.double()
    nn.init.zeros_(model.scores.weight)
    model.scores.bias.data = (p if right else (p * q).sqrt()).double().log()
    for own, *others in itertools.product(range(3), repeat=3):
        monkeypatch.setattr(torch, "multinomial", lambda *args, others=others, **named: torch.tensor(others))
        (p[own] * q[others].prod() * model.loss(torch.tensor([[own]]))[0]).backward()
    assert (float(model.scores.bias.grad.abs().max()) < 1e-7) is right


def test_of_several_seeds_a_passage_has_their_mean(passage, tmp_path):
    model = Repeats([Knows(True), Knows(False), Knows(False)])
    found, one = cloze.restored(model, [passage, passage]), cloze.restored(Knows(True), [passage, passage])
    assert found["mean"] == pytest.approx(one["mean"] / 3, abs=0.01) and "seeds" not in one
    assert found["seeds"] == [one["mean"], 0, 0] and found["deviation_over_seeds"] == pytest.approx(one["mean"] / 3 ** 0.5, abs=0.01)


def test_a_network_a_seed_of_the_size_and_the_rows_that_are_asked_for(tmp_path, monkeypatch):
    read, rows = [], torch.arange(40).view(8, 5) % V
    monkeypatch.setattr(cloze_networks, "fit", lambda model, given, **settings: read.append((given, settings)) or type("", (), {"seconds": [1.0]}))
    job = Job(cloze.Parts(rows, [], [], {}), 0, torch.device("cpu"), tmp_path)
    row = Row("window", cloze.ByWindow, cloze.by_seeds, {"width": 4, "hidden": 4})
    trained = cloze.by_seeds(job, row, {"every": 4, "seeds": 2, "radius": 3, "lr": 0.1}, "window-0")
    assert [model.radius for model in trained.model] == [3, 3] and trained.seconds == 2
    assert all(torch.equal(given, rows[::4]) for given, _ in read)
    assert [settings["seed"] for _, settings in read] == [0, 1] and read[0][1]["lr"] == 0.1
    assert read[0][1]["checkpoint"] != read[1][1]["checkpoint"] and not torch.equal(*(one.scores.weight for one in trained.model))
    assert trained.model[0].q.sum().item() == pytest.approx(1) and trained.model[0].q[0] > trained.model[0].q[V - 1]


class Knows(nn.Module):
    """Every word, or none."""

    def __init__(self, right: bool):
        super().__init__()
        self.right = right

    def at(self, tokens, real, row, place):
        return (1 if self.right else -1) * nn.functional.one_hot(tokens[row, place], V).float()


def test_a_word_in_pieces_counts_as_not_restored(passage):
    other = passage._replace(source="plays", ease=30.0)
    for right in (True, False):
        found = cloze.restored(Knows(right), [passage, passage._replace(ease=50.0), other, other._replace(ease=20.0)])
        share = 100 * len(passage.gaps) / passage.asked
        assert found["mean"] == pytest.approx(share if right else 0, abs=0.01) and found["over"] == 4 * passage.asked
        assert list(found["sources"]) == ["stories", "plays"] and found["sources"]["plays"]["flesch"] == 25.0
        assert all(one["r"] == 0 for one in found["flesch"].values())       # the score has no spread
        assert found["sources"]["plays"]["right_of_those"] == (100 if right else 0)
        assert found["sources"]["plays"]["one_piece"] == pytest.approx(share, abs=0.1)


def test_the_correlation_within_sources_takes_their_means_away():
    """Within each source y falls with x; over all it rises."""
    source = torch.tensor([0] * 10 + [1] * 10)
    x = torch.arange(10.0).repeat(2).double() + 100 * source
    y = -torch.arange(10.0).repeat(2).double() + 100 * source
    assert cloze.correlation(x, y)["r"] > 0.9 and cloze.correlation(x, y, source)["r"] == pytest.approx(-1)
    assert cloze.correlation(x, y, source)["standard_error"] == 0 and cloze.correlation(x, y)["over"] == 20


def test_a_bigram_alone_reads_both_sides():
    with pytest.raises(ValueError, match="n is 3; expected a bigram"):
        cloze.ByCounts(3, both=True)


def test_what_chapter_11_says_of_the_networks_holds_for_every_seed():
    rows = {row["model"]: row for row in store.read()["cloze-english"]["rows"]}
    pairs, elmo = (rows[name]["test"]["mean"] for name in ("bigram, the words on both sides", "ELMo, both ways"))
    window, gru = rows["window, words on both sides"], rows["two GRUs, joined"]
    assert pairs < min(gru["test"]["seeds"]) and max(gru["test"]["seeds"]) < elmo
    assert all(abs(share - pairs) < window["test"]["standard_error"] for share in window["test"]["seeds"])
    assert window["settings"]["radius"] == max(window["candidates"], key=lambda each: each["valid"])["radius"] == 2
    assert {each["lr"] for each in window["candidates"]} == {each["lr"] for each in gru["candidates"]} == set(cloze.RATES)
    assert gru["settings"]["epochs"] == window["settings"]["epochs"] == 2
    assert rows["ELMo, both ways"]["parameters"] > gru["parameters"] > window["parameters"]
