"""Tokens hidden by the rule of BERT."""
from __future__ import annotations

import torch
from torch import Tensor

from course_lib.exercises.bert._shared import HIDDEN, RATE, REPLACED, text
from course_lib.exercises.draws import integer
from course_lib.grading.checks import Fault
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "mlm_mask", chapter="bert", place=4, title="Hide fifteen in a hundred",
    contract="tokens (B, T) long; special (B, T) bool, True where a token may never be chosen; g a torch.Generator, from "
             "which everything is drawn. Choose each other token with probability 0.15. Of those chosen, 80 % become "
             "mask_id, 10 % a random token below vocab_size, 10 % stay. Return (inputs, labels), both (B, T) long and "
             "new; tokens stays as it is. labels holds the original token where one was chosen, kept ones included, and "
             "-100 elsewhere.",
    points=["mlm"], difficulty=3, minutes=25)


@exercise.step
def chosen_tokens(special, g):
    return (torch.rand(special.shape, generator=g) < RATE) & ~special


@exercise.step
def hidden_and_replaced(chosen, g):
    fate = torch.rand(chosen.shape, generator=g)
    return chosen & (fate < HIDDEN), chosen & (fate >= HIDDEN) & (fate < HIDDEN + REPLACED)


@exercise.step
def random_tokens(shape, vocab_size, g):
    return torch.randint(vocab_size, shape, generator=g)


@exercise.step
def labels_of(tokens, inputs, chosen):
    return torch.where(chosen, tokens, -100)


@exercise.reference()
@exercise.step
def mlm_mask_reference(tokens, special, vocab_size, mask_id, g):
    chosen = chosen_tokens(special, g)
    hidden, replaced = hidden_and_replaced(chosen, g)
    inputs = torch.where(hidden, mask_id, torch.where(replaced, random_tokens(tokens.shape, vocab_size, g), tokens))
    return inputs, labels_of(tokens, inputs, chosen)


@exercise.misconception(chosen_tokens, "You choose special tokens as well. [CLS], [SEP] and padding are never chosen.")
def special_too(special, g):
    return torch.rand(special.shape, generator=g) < RATE


@exercise.misconception(
    hidden_and_replaced,
    "All the tokens that you choose become [MASK]. Of 100 chosen tokens 80 do; 10 are replaced, 10 stay.")
def only_masks(chosen, g):
    return chosen, torch.zeros_like(chosen)


@exercise.misconception(
    hidden_and_replaced,
    "No token that you choose stays as it is: those that are not hidden are all replaced. Half of those stay.")
def none_kept(chosen, g):
    hidden, _ = hidden_and_replaced.original(chosen, g)
    return hidden, chosen & ~hidden


@exercise.misconception(
    hidden_and_replaced,
    "No token that you choose is replaced by a random one. Of 100 chosen tokens 10 are.")
def none_replaced(chosen, g):
    hidden, _ = hidden_and_replaced.original(chosen, g)
    return hidden, torch.zeros_like(chosen)


@exercise.misconception(
    labels_of,
    "Tokens that stay as they are have no label in your result. They were chosen too, and are to be predicted.")
def kept_unlabelled(tokens, inputs, chosen):
    return torch.where(inputs != tokens, tokens, -100)


@exercise.misconception(labels_of, "Your labels are the inputs of the model. They have to be the original tokens.")
def labels_read(tokens, inputs, chosen):
    return torch.where(chosen, inputs, -100)


@exercise.misconception(
    labels_of,
    "You label every token. Where none was chosen, the label is -100, and the loss skips it.")
def labels_everywhere(tokens, inputs, chosen):
    return tokens.clone()


@exercise.misconception(
    chosen_tokens,
    "You choose the same places in every row. Each token is chosen independently of the others.")
def same_columns(special, g):
    return (torch.rand(1, special.shape[1], generator=g) < RATE) & ~special


@exercise.misconception(
    random_tokens,
    "Every token that you replace gets the same random token. Sample one for each.")
def one_token(shape, vocab_size, g):
    return random_tokens.original((1,), vocab_size, g)


@exercise.misconception(
    mlm_mask_reference,
    "Two calls with generators in the same state give different results. Sample from g alone.")
def unseeded(tokens, special, vocab_size, mask_id, g):
    return mlm_mask_reference.original(tokens, special, vocab_size, mask_id, None)


@exercise.misconception(
    hidden_and_replaced,
    "You replace a tenth of those chosen tokens that do not become [MASK], which is 2 of 100 chosen tokens. Replace half of them, so that 10 of "
    "100 are replaced.")
def tenth_of_the_rest(chosen, g):
    hidden, _ = hidden_and_replaced.original(chosen, g)
    return hidden, chosen & ~hidden & (torch.rand(chosen.shape, generator=g) < REPLACED)


def draw_of(generator: torch.Generator) -> torch.Generator:
    return torch.Generator().manual_seed(integer(generator, 0, 2**31))


@exercise.property("the rule, over thirty thousand tokens", points=5)
def rule(run, generator, solve):
    V, mask_id = integer(generator, 400, 600), 4
    tokens, special = text(generator, 100, 300, V)
    g = draw_of(generator)
    result = run(tokens, special, V, mask_id, g)
    if not isinstance(result, list | tuple) or len(result) != 2 or not all(
            isinstance(part, Tensor) and part.shape == tokens.shape and part.dtype == torch.long for part in result):
        return Fault(f"Your function should return inputs and labels, two tensors of shape {tuple(tokens.shape)} and dtype "
                     "torch.int64.", None, "wrong_shape")
    inputs, labels = result
    return (labels_fault(tokens, special, inputs, labels) or shares_fault(tokens, special, inputs, labels, mask_id)
            or draws_fault(run, (tokens, special, V, mask_id), g, draw_of(generator), inputs)
            or replaced_fault(tokens, inputs, mask_id, V) or special_fault(run, tokens[:1], V, mask_id, g))


def labels_fault(tokens: Tensor, special: Tensor, inputs: Tensor, labels: Tensor) -> Fault | None:
    chosen = labels != -100
    if torch.equal(labels, tokens):
        return Fault("Every token has a label.", "labels_everywhere")
    if chosen.all() and ((labels == 0) | (labels == tokens)).all():
        return Fault("Your labels are 0 where no token was chosen. The loss skips -100; 0 is a token.")
    if (chosen & special).any():
        return Fault("Special tokens have a label.", "special_too" if (labels == tokens)[chosen].all() else None)
    if not (labels == tokens)[chosen].all():
        return Fault("Labels differ from the original tokens.", "labels_read" if (labels == inputs)[chosen].all() else None)
    if not (inputs == tokens)[~chosen].all():
        return Fault("Tokens without a label were changed.")
    return None


def shares_fault(tokens: Tensor, special: Tensor, inputs: Tensor, labels: Tensor, mask_id: int) -> Fault | None:
    """Bounds five standard errors wide: of 24,000 ordinary tokens some 3,600 are chosen."""
    chosen = labels != -100
    if not chosen.any():
        return Fault("No token was chosen.")
    rate = float(chosen.sum() / (~special).sum())
    hidden, kept = (float((chosen & part).sum() / chosen.sum()) for part in (inputs == mask_id, inputs == tokens))
    seen = f"You choose {rate:.1%} of the ordinary tokens; {hidden:.0%} of them become [MASK], {1 - hidden - kept:.0%} " \
           f"another token, {kept:.0%} stay. The rule is 15 %, and 80, 10, 10."
    usual = abs(rate - RATE) < 0.015
    if kept < 0.005 and abs(rate - 0.135) < 0.012 and abs(hidden - 8 / 9) < 0.03:
        return Fault(seen, "kept_unlabelled")
    if usual and hidden > 0.995:
        return Fault(seen, "only_masks")
    if usual and abs(hidden - HIDDEN) < 0.04 and kept < 0.01:
        return Fault(seen, "none_kept")
    if usual and abs(hidden - HIDDEN) < 0.04 and hidden + kept > 0.999:
        return Fault(seen, "none_replaced")
    if usual and abs(hidden - HIDDEN) < 0.035 and abs(kept - 0.18) < 0.03:
        return Fault(seen, "tenth_of_the_rest")
    columns = (chosen | special).all(0) | (~chosen).all(0)
    if columns.all():
        return Fault("The same places are chosen in every row.", "same_columns")
    if not usual or abs(hidden - HIDDEN) > 0.035 or abs(kept - 0.1) > 0.03:
        return Fault(seen)
    return None


def replaced_fault(tokens: Tensor, inputs: Tensor, mask_id: int, V: int) -> Fault | None:
    """Some 360 replacements: in the upper half of the vocabulary half of the time, within five standard errors."""
    strange = inputs[(inputs != tokens) & (inputs != mask_id)]
    if len(strange.unique()) == 1:
        return Fault("There is one replacement for all.", "one_token")
    if strange.min() < 0 or strange.max() >= V:
        return Fault("A replacement is no token of the vocabulary.")
    upper = float((strange >= V / 2).double().mean())
    if abs(upper - 0.5) > 0.14 or len(strange.unique()) < len(strange) / 4:
        return Fault("Your replacements are not spread over the whole vocabulary.")
    return None


def draws_fault(run, args: tuple, g: torch.Generator, other: torch.Generator, inputs: Tensor) -> Fault | None:
    if not torch.equal(run(*args, g)[0], inputs):
        return Fault("The same generator gives two results.", "unseeded")
    if torch.equal(run(*args, other)[0], inputs):
        return Fault("Generators in different states give the same result. Sample from g, and do not seed it.")
    return None


def special_fault(run, tokens: Tensor, V: int, mask_id: int, g: torch.Generator) -> Fault | None:
    """Of a row in which every token is special nothing is chosen."""
    inputs, labels = run(tokens, torch.ones_like(tokens, dtype=torch.bool), V, mask_id, g)
    if torch.equal(inputs, tokens) and torch.equal(labels, torch.full_like(tokens, -100)):
        return None
    return Fault("Where every token is special, inputs should be tokens, and labels -100.")


def unchanged_cases(generator):
    tokens, special = text(generator, 5, 40, 90)
    return [(tokens, special, 90, 4, draw_of(generator))]


exercise.unchanged(unchanged_cases)
exercise.hint(
    "How to split the chosen ones.",
    "Draw a second number u for every place. Where chosen: u below 0.8 hides, from 0.8 to 0.9 replaces, from 0.9 keeps.")
exercise.hint(
    "Your shares are right and your labels are not.",
    "Make the labels from the original tokens and from `chosen` alone: torch.where(chosen, tokens, -100). What happens to "
    "a chosen token later does not matter to them.")
exercise.hint(
    "Two calls differ, or all calls are alike.",
    "Give generator=g to each torch.rand and torch.randint, and call neither manual_seed nor torch.manual_seed.")
