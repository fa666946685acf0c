"""next_exercise: what comes before comes first, a mistake with a name leads to what is easier, and what is solved is never named."""
from __future__ import annotations

import json
import random

import pytest

from course_lib.grading import EXERCISES, before, check, kept, next_exercise, standing
from course_lib.grading.bank import CHAPTERS
from course_lib.grading.judge.report import Report
from course_lib.grading.next_step import chosen, led_by
from tests.grading.test_standing import NAME, reported, said, solve

pytestmark = pytest.mark.slow
OWN = "OwnMultiHeadAttention"
SAME = [(name, one, other) for one in EXERCISES.values() for name in one.misconceptions for other in EXERCISES.values()
        if other.difficulty < one.difficulty and other.chapter in {one.chapter, *before.needs(one.chapter)}
        and before.same_mistake(name, other, one)]


def fail(name, mistake=None, times=1, earned=2):
    for _ in range(times):
        standing.record(reported(name, "wrong_value", earned, mistake))


def step():
    return chosen(standing.lines())


def of(number):
    """The exercises of a chapter."""
    return CHAPTERS[int(number) - 1].EXERCISES


def easiest(number, without=()):
    return min((one for one in of(number) if one.id not in without), key=lambda one: one.difficulty).id


def test_with_nothing_done_the_course_begins(folder, capsys):
    one = EXERCISES[easiest("01")]
    assert said(capsys, next_exercise) == (
        f"{one.id}: {one.title}\nChapter 01, difficulty 1 of 5, about {one.minutes} minutes, {one.possible} points.\n"
        "It is the easiest exercise of chapter 01, where the course begins.\n")


def test_what_is_begun_goes_on_until_five_tries_then_the_chapters_before_it(folder, capsys):
    name, sentence = next(iter(EXERCISES[NAME].misconceptions.items()))
    for tries in range(1, standing.STUCK):
        fail(NAME, name)
        text = " ".join(said(capsys, next_exercise).split())
        assert text.startswith(f"{NAME}: {EXERCISES[NAME].title} ")
        assert f"You have begun it, and have 2 of its 6 points. The last check of {NAME} said: {sentence} Hint: hint(\"{NAME}\"" in text
        assert kept.read()["exercises"][NAME]["tries"] == tries
    fail(NAME, name)
    assert step().exercise.id == easiest("01")                       # chapter 03 needs it
    assert step().why == "Chapter 03 builds on chapter 01, in which you have solved nothing yet."
    assert f'{NAME} has taken 5 tries: hint("{NAME}"' in step().hint and "come back to it later" in step().hint
    solve(easiest("01"))
    solve(*(one.id for one in of("01")))
    assert step().exercise.id == easiest("03", without=[NAME])


def test_a_chapter_after_another_its_own_rest_then_what_was_left_out(folder, capsys):
    solve(*(one.id for one in of("03")))
    assert step().exercise.id == easiest("04") and "comes next" in step().why
    solve(easiest("04"))
    assert step().exercise.id == easiest("04", without=[easiest("04")]) and "where you are" in step().why
    solve(*(one.id for chapter in CHAPTERS[3:] for one in chapter.EXERCISES))
    assert step().exercise.id == easiest("01") and step().why == "Of what you have left out, it comes first."
    solve(*(one.id for chapter in CHAPTERS[:2] for one in chapter.EXERCISES))
    assert said(capsys, next_exercise) == f"All {len(EXERCISES)} exercises are solved.\n"


def test_a_chapter_waits_for_each_that_it_needs(folder):
    """Chapter 15 needs 02, of which nothing is solved; all else before 15 is. After one exercise of 02 the course goes on there,
    and then at 15, not at what was left out."""
    assert "02" in before.needs("15") and not {"02"} & (before.needs("14") | before.needs("13"))
    left = easiest("05")
    solve(*(one.id for chapter in CHAPTERS[:14] for one in chapter.EXERCISES if one.chapter not in ("02", "10") and one.id != left))
    solve(easiest("14"))
    assert step().exercise.id == easiest("02")
    assert step().why == "Chapter 15 builds on chapter 02, in which you have solved nothing yet."
    solve(easiest("02"))
    assert step().exercise.id == easiest("02", without=[easiest("02")])
    solve(*(one.id for one in of("02")))
    assert step().exercise.id == easiest("15")


def test_who_has_solved_something_of_a_chapter_knows_what_it_needs(folder):
    solve("attention")
    assert step().exercise.chapter == "13"


@pytest.mark.parametrize("chapter, all_before", [("01", set()), ("05", {"01", "03", "04"}), ("14", {"01", "03", "13"}), ("99", set())])
def test_what_comes_before_a_chapter(chapter, all_before):
    assert before.needs(chapter) == all_before


def test_a_mistake_with_a_name_leads_to_the_easier_exercise(folder, capsys):
    fail(OWN, "no_scale")
    assert step().exercise.id == "attention" and step().why == (
        f"The last check of {OWN} named a mistake; attention is easier, and the same mistake can be made there.")
    assert EXERCISES[OWN].misconceptions["no_scale"] in " ".join(said(capsys, next_exercise).split())
    fail("attention", "no_scale")                                    # it has its own mistake now, and nothing easier
    assert step().exercise.id == "attention" and step().why == "You have begun it, and have 2 of its 7 points."
    solve("attention")
    assert step().exercise.id == OWN                                 # what is solved is not named: back, with what helps
    assert EXERCISES[OWN].misconceptions["no_scale"] in step().mistake and f'hint("{OWN}"' in step().hint
    assert step().read.chapter == "13"
    fail(OWN)                                                        # and without a name it goes on as it was
    assert step().exercise.id == OWN and not step().mistake


def test_two_mistakes_at_once_have_their_names_too(folder):
    """They explain the answer together; each leads on."""
    own, names = EXERCISES[OWN], ["opposite", "no_scale"]
    both = " And: ".join(own.misconceptions[name] for name in names)
    standing.record(Report(OWN, "wrong_value", 0, own.possible, message=both))
    assert {*standing.lines()[OWN]["mistakes"]} == {*names} and kept.read()["exercises"][OWN]["misconception"] is None
    assert step().exercise.id == "attention" and all(own.misconceptions[name] in step().mistake for name in names)


def test_a_line_of_before_has_its_one_name(folder):
    old = {"state": "wrong_value", "misconception": "no_scale", "earned": 0, "best": 0, "possible": 12, "tries": 1,
           "version": EXERCISES[OWN].version, "solved_before": False, "date": "2025-01-01T00:00:00.000000"}
    (folder / kept.FILE).write_text(json.dumps({"exercises": {OWN: old}}))
    assert step().exercise.id == "attention"


def test_without_the_name_the_failed_exercise_goes_on(folder):
    fail(OWN)
    assert step().exercise.id == OWN


def test_an_easier_exercise_that_took_five_tries_is_not_named_again(folder):
    fail("attention", times=standing.STUCK)
    fail(OWN, "no_scale")
    assert step().exercise.id == OWN


def test_what_builds_on_an_exercise_that_is_stuck_waits(folder):
    solve(easiest("01"))
    solve("bert_segments", "nsp_pair", "best_span")
    fail("bert_embed", times=standing.STUCK)
    assert before.leads_to(EXERCISES["bert_embed"], EXERCISES["OwnBERT"])
    seen = set()
    while (one := step().exercise).chapter == "18" and one.id != "bert_embed":
        seen.add(one.id)
        solve(one.id)
    assert seen and "OwnBERT" not in seen


def test_most_words_of_the_sentence_choose_the_section_and_the_hint():
    own = EXERCISES["OwnMultiHeadAttention"]
    assert before.section(own.misconceptions["not_masked"], own).heading == "Masks"
    assert before.section("", own).heading == "Several heads"
    assert before.section("no word of it") is None
    hints = [before.hint_for(sentence, one) for one in EXERCISES.values() for sentence in one.misconceptions.values()]
    assert {type(one) for one in hints} == {int, type(None)}
    assert before.hint_for("", own) is None


@pytest.mark.parametrize("id, name, heading", [
    *(("choice_gradients", name, "Through a hard choice") for name in EXERCISES["choice_gradients"].misconceptions),
    *(("OwnDecoder", name, "From one sequence to another") for name in ("last_column", "one_direction", "starts_at_zero")),
    ("additive_attention", "mean_of_padding", "Padding that is looked at"), ("additive_attention", "even", "Four scores"),
    ("nade_sample", "own_randomness", "The running sum")])
def test_where_no_word_of_the_sentence_chooses_the_title_does(id, name, heading):
    one = EXERCISES[id]
    assert before.section(one.misconceptions[name], one).heading == heading


def test_every_exercise_has_a_section_and_every_mistake_is_said_whole(folder):
    assert all(before.section("", one) for one in EXERCISES.values())
    assert len(SAME) > 80
    for name, one, other in SAME[::10]:
        done = standing.lines()
        done[one.id] |= {"tries": 1, "state": "wrong_value", "mistakes": [name]}
        found = led_by(one, other, done)
        assert one.misconceptions[name] in found.mistake and found.why.count(". ") == 0
        assert all(len(line) <= standing.WIDTH or found.read.place in line for line in str(found).splitlines())


@pytest.mark.parametrize("seed", range(6))
def test_it_ends_whatever_the_answers_are_and_never_names_what_is_solved(folder, seed, monkeypatch):
    """A learner who solves, fails with or without a name, or jumps. The same lines give the same step."""
    draw, lines, ever = random.Random(seed), standing.lines(), set()
    for turn in range(3000):
        found = chosen(lines)
        if found is None:
            break
        assert str(found) == str(chosen(lines))
        one = found.exercise
        assert standing.standing(one, lines[one.id]) != "solved" and found.why.endswith(".")
        if draw.random() < 0.2:
            one = draw.choice([each for each in EXERCISES.values() if standing.standing(each, lines[each.id]) != "solved"])
        right = draw.random() < 0.5
        ever |= {one.id}
        lines[one.id] |= {"state": "right" if right else "wrong_value", "tries": lines[one.id]["tries"] + 1, "date": f"{turn:05}",
                          "best": one.possible if right else 0, "mistakes": draw.sample([*one.misconceptions], draw.randrange(3))}
    assert found is None and ever == {*EXERCISES}


def test_where_all_that_is_open_has_taken_five_tries_one_of_them_is_named(folder, capsys):
    solve(*(name for name in EXERCISES if name != NAME))
    fail(NAME, times=standing.STUCK)
    assert said(capsys, next_exercise).startswith(f"{NAME}: ")


def test_what_is_kept_of_no_exercise_is_passed_over(folder, capsys):
    (folder / kept.FILE).write_text(json.dumps({"exercises": {"no_such_exercise": {"tries": 2, "date": "9999"}}}))
    assert said(capsys, next_exercise).startswith(f"{easiest('01')}: ")


def test_check_names_next_exercise_where_it_helps(folder, capsys):
    right = EXERCISES[NAME].solve

    def fvsbn_conditionals(x, W, c):
        return right(x, W, c)

    assert said(capsys, check, fvsbn_conditionals).endswith("next_exercise() says what is worth doing next.\n")

    def fvsbn_conditionals(x, W, c):                                 # noqa: F811
        return x @ W.tril(-1).T + c

    assert said(capsys, check, fvsbn_conditionals).endswith("next_exercise() says what may help with that.\n")

    def fvsbn_conditionals(x, W, c):                                 # noqa: F811
        raise NotImplementedError

    assert "next_exercise" not in said(capsys, check, fvsbn_conditionals)
