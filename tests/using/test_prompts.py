"""Prompts, options, learning in the prompt, answers alone."""
from __future__ import annotations

import pytest
import torch

from course_lib.using import (
    AnswerLoss,
    answers,
    best_possible,
    draw_prompts,
    option_scores,
    right_by_examples,
    seen_before,
    write_prompt,
)
from tests.support.random import rng
from tests.using import checks as check


def test_write_prompt():
    text = write_prompt("who won ?", [("a b", "a"), ("c d", "c")], "Answer.", ["one source", "another"])
    assert text == "Answer.\n[1] one source\n[2] another\na b answer: a\nc d answer: c\nwho won ? answer:"
    assert write_prompt("who ?") == "who ? answer:"


def test_answer_loss_padding():
    model, answer = check.gpt(), torch.tensor([[False, True, True]])
    row = torch.tensor([[1, 5, 6]])
    alone, _ = AnswerLoss(model).loss((row, torch.ones_like(row).bool(), answer))
    nothing = torch.tensor([[False]])
    for side, order in (("right", (0, 1)), ("left", (1, 0))):
        tokens, real, said = (torch.cat([(own, filled)[k] for k in order], dim=1)
                              for own, filled in ((row, torch.tensor([[-1]])), (row > 0, nothing), (answer, nothing)))
        loss, num = AnswerLoss(model).loss((tokens, real, said))
        assert num == 2, side
        torch.testing.assert_close(loss, alone)


def test_best_possible():
    """An oracle that remembers what it saw, and else guesses one symbol: as good as the formula says."""
    prompts = draw_prompts(20_000, 4, 6, rng(0))
    right = torch.where(seen_before(prompts), True, prompts[:, 1::2] == 4)
    assert (right.double().mean(dim=0) - best_possible(4, 6)).abs().max() < 0.015


def test_seen_before():
    prompts = torch.tensor([[0, 5, 1, 6, 0, 5, 2, 7], [1, 6, 1, 6, 1, 6, 1, 6]])
    assert seen_before(prompts).tolist() == [[False, False, True, False], [False, True, True, True]]
    assert answers(prompts)[0].tolist() == [False, True] * 4


def test_right_by_examples():
    model, prompts = check.gpt(), draw_prompts(6, 4, 4, rng(1))
    got = right_by_examples(model, prompts)
    for b in range(6):
        for k in range(4):
            guess = model(prompts[b:b + 1, :2 * k + 1])[0, -1].argmax()
            assert bool(got[b, k]) == bool(guess == prompts[b, 2 * k + 1])


GPT = check.gpt()


@pytest.mark.parametrize("call, message", [
    (lambda: write_prompt(" "), "question is empty; expected a text to answer"),
    (lambda: option_scores(GPT, torch.tensor([1]), []), "options has the lengths []; expected at least one option"),
    (lambda: option_scores(GPT, torch.ones(8, dtype=torch.long), [torch.tensor([1, 2])]),
     "prompt has 8 tokens and the longest option 2; expected at most 9 together, one more than the window"),
    (lambda: option_scores(GPT, torch.tensor([], dtype=torch.long), [torch.tensor([1])]), "prompt is empty"),
    (lambda: AnswerLoss(GPT).loss((check.TOKENS, check.MASK, check.MASK[:, :3])), "answer has shape (2, 3)"),
    (lambda: AnswerLoss(GPT).loss((check.TOKENS, check.MASK, ~check.MASK)), "answer is True at no real token"),
    (lambda: draw_prompts(0), "num is 0, symbols is 6 and pairs is 14; expected at least 1, 2 and 1"),
    (lambda: best_possible(1), "symbols is 1 and pairs is 14; expected symbols >= 2 and pairs >= 1"),
])
def test_bad_input(call, message):
    with pytest.raises(ValueError) as error:
        call()
    assert message in str(error.value)
