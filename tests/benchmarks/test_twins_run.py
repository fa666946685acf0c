"""The run on twins: what each may read of a story, which words count, and what the chapter says of the record."""
from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from benchmarks.reproduce import denoising, twins
from benchmarks.reproduce.denoising import END, MASK, PAD, SEP
from benchmarks.reproduce.recipes import Job
from course_lib import records


@pytest.fixture(scope="module")
def few():
    """Parts of sixty stories and forty sentences."""
    parts = twins.as_tokens(twins.draw())
    first = [part._replace(tokens=part.tokens[:n], real=part.real[:n], subject=part.subject[:n])
             for part, n in ((parts.train, 60), (parts.valid.stories, 60), (parts.valid.sentences, 40))]
    asked = twins.Asked(*first[1:])
    return twins.Parts(first[0], asked, asked, parts.info)


def test_new_stories_have_two_sentences_and_none_was_read():
    parts = twins.as_tokens(twins.draw())
    read = {tuple(row.tolist()) for row in parts.train.tokens}
    for asked in (parts.valid, parts.test):
        assert ((asked.stories.tokens == END).sum(dim=1) == 2).all() and ((asked.sentences.tokens == END).sum(dim=1) == 1).all()
        assert not [row for row in asked.stories.tokens if tuple(row.tolist()) in read]


def test_places_hold_each_word_once(few):
    there = twins.words_of(few.valid.stories)
    assert not there[few.valid.stories.tokens <= END].any() and SEP not in few.valid.stories.tokens[there]
    assert sum(int(there[:, some].sum()) for some in twins.PLACES.values()) == int(there.sum()) > 400


@pytest.mark.parametrize("reader", twins.STARTS)
def test_each_reads_what_its_row_says(few, reader):
    """Exchange a word: GPT's nats change at its place and behind it, BERT's everywhere."""
    torch.manual_seed(0)
    model, _ = twins.STARTS[reader](few.train, 0)
    part, at = few.valid.stories, 4
    other = part.tokens.clone()
    other[:, at] = (other[:, at] - len(denoising.SPECIAL) + 1) % 5 + len(denoising.SPECIAL)
    before, after = (twins.nats_by_word(model.eval(), part._replace(tokens=tokens)) for tokens in (part.tokens, other))
    changed = ((before - after).abs() > 1e-5).any(dim=0)
    assert changed[at:8].all() and bool(changed[1:at].all()) is (reader == "BERT")
    assert bool(changed[1:at].any()) is (reader == "BERT")


def test_the_nats_are_those_of_one_word_at_a_time(few):
    torch.manual_seed(0)
    part = few.valid.stories
    row, length = part.tokens[0], int(part.real[0].sum())
    gpt, bert = (twins.STARTS[reader](few.train, 0)[0].eval() for reader in ("GPT", "BERT"))
    for at in (1, 5, length - 2):
        with torch.no_grad():
            left = gpt(row[None, :at])[0, -1]
            both = bert.pretraining_logits(row[None, :length].index_fill(1, torch.tensor([at]), MASK),
                                           torch.zeros(1, length, dtype=torch.long))[0][0, at]
        for model, logits in ((gpt, left), (bert, both)):
            assert twins.nats_by_word(model, part)[0, at].item() == pytest.approx(F.cross_entropy(logits, row[at]).item(), abs=1e-4)


def test_what_fills_up_is_no_part_of_a_mean_vector(few):
    torch.manual_seed(0)
    model, part = twins.STARTS["BERT"](few.train, 0)[0].eval(), few.valid.sentences
    wider = part._replace(tokens=F.pad(part.tokens, (0, 2), value=PAD), real=F.pad(part.real, (0, 2), value=False))
    assert torch.allclose(twins.mean_vectors(model, part), twins.mean_vectors(model, wider), atol=1e-5)


def test_the_recipe_learns_and_the_first_seed_chooses_the_penalty(few, tmp_path):
    (row,) = (row for row in twins.RUNS["twins-stories"].rows if row.label == "GPT")
    trained = row.recipe(Job(few, 0, torch.device("cpu"), tmp_path), row, {**row.settings, "updates": 30, "seeds": 2, "lr": 8e-3}, "few")
    first, second = trained.model
    assert first.subjects.C == second.subjects.C in twins.PENALTIES
    best = first.subjects_right(few.valid.sentences)
    assert all(first.label(C).subjects_right(few.valid.sentences) <= best for C in twins.PENALTIES)
    measured = twins.nats_and_subjects(trained.model, few.valid)
    assert measured["mean"] < 4.2 and len(measured["seeds"]) == len(measured["subjects"]["seeds"]) == 2
    assert sum(part["over"] for part in measured["by place"].values()) == measured["over"]


def test_counts_give_each_word_its_share(few):
    model = twins.Often(few.train)
    assert model.log_p.exp().sum().item() == pytest.approx(1)
    known = twins.Asked(few.train, few.valid.sentences)
    assert twins.nats_counted(model, known)["mean"] == pytest.approx(-(model.log_p.exp() * model.log_p).nansum().item(), abs=1e-4)


def test_both_get_the_same_training():
    _, gpt, bert = twins.RUNS["twins-stories"].rows
    assert {**gpt.settings, "reader": "BERT"} == bert.settings and gpt.candidates == bert.candidates
    sizes = [sum(p.numel() for name, p in twins.STARTS[reader](None, 0)[0].named_parameters() if name.startswith("blocks."))
             for reader in twins.STARTS]
    assert sizes[0] == sizes[1] > 0


def test_what_the_chapter_says_of_the_record():
    """Both sides help most at the beginning and a little at the end; in the middle GPT leads; BERT's vectors lead seed by seed."""
    counted, gpt, bert = (row["test"] for row in records.read("twins-stories")["rows"])
    first, middle, last = ([a - b for a, b in zip(*(part["by place"][name]["seeds"] for part in (gpt, bert)))] for name in twins.PLACES)
    assert len(first) == twins.SEEDS and min(first) > 0.6 and -0.1 < min(middle) and max(middle) < 0 and 0 < min(last) and max(last) < 0.2
    assert all(each["mean"] > 3.9 for each in counted["by place"].values())
    ahead = [b - g for g, b in zip(gpt["subjects"]["seeds"], bert["subjects"]["seeds"])]
    assert all(1.5 < points < 3.5 for points in ahead) and gpt["subjects"]["standard_error"] > 5
