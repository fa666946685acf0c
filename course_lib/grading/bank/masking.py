"""Chapter 18: tokens hidden by the rule of BERT, and maskers that break it."""
from __future__ import annotations

import torch
from torch import Tensor

from course_lib.grading.bank.draws import integer
from course_lib.grading.bank.remembered import Remembered
from course_lib.grading.checks import Fault
from course_lib.grading.exercise import Exercise

RATE, HIDDEN, REPLACED = 0.15, 0.8, 0.1

mlm_mask = Exercise(
    "mlm_mask", chapter="18", title="Hide fifteen in a hundred",
    contract="tokens (B, T) long; special (B, T) bool, True where a token may never be chosen; g a torch.Generator, from "
             "which everything is drawn. Choose each other token with probability 0.15. Of those chosen, 80 % become "
             "mask_id, 10 % a random token below vocab_size, 10 % stay. Return (inputs, labels), both (B, T) long: labels "
             "holds the original token where one was chosen, kept ones included, and -100 elsewhere.",
    points=["mlm"], difficulty=3, minutes=25)


@mlm_mask.reference(
    special_too="You choose special tokens as well. [CLS], [SEP] and padding are never hidden.",
    only_masks="All the tokens that you choose become [MASK]. Of 100 chosen, 80 do; 10 are replaced, 10 stay.",
    none_kept="No token that you choose keeps its place: those that are not hidden are all replaced. Half of those stay.",
    none_replaced="No token that you choose is replaced by a random one. Of 100 chosen, 10 are.",
    kept_unlabelled="Tokens that stay as they are have no label in your result. They were chosen too, and are asked for.",
    labels_read="Your labels hold what the model reads, not what stood there before.",
    labels_everywhere="You label every token. Where none was chosen, the label is -100, and the loss skips it.",
    zero_elsewhere="Your labels are 0 where no token was chosen. The loss skips -100; 0 is a token.",
    same_columns="You choose the same places in every row. Each token is chosen or not by a draw of its own.",
    one_token="Every token that you replace gets the same random token. Draw one for each.",
    unseeded="Two calls with generators in the same state give different results. Draw from g alone.",
    reseeded="Generators in different states give the same result. Draw from g, and do not seed it.",
)
def mlm_mask_reference(tokens, special, vocab_size, mask_id, g, bugs=frozenset()):
    g = {"unseeded": None, "reseeded": torch.Generator().manual_seed(0)}.get(next(iter(bugs), ""), g)
    rows = (1, tokens.shape[1]) if "same_columns" in bugs else tokens.shape
    chosen = (torch.rand(rows, generator=g) < RATE).expand_as(tokens)
    if "special_too" not in bugs:
        chosen = chosen & ~special
    fate = torch.rand(tokens.shape, generator=g)
    hidden = chosen & (fate < HIDDEN)
    replaced = chosen & (fate >= HIDDEN) & (fate < HIDDEN + REPLACED)
    if "only_masks" in bugs:
        hidden, replaced = chosen, chosen & ~chosen
    if "none_kept" in bugs:
        replaced = chosen & ~hidden
    if "none_replaced" in bugs:
        replaced = replaced & ~chosen
    size = (1,) if "one_token" in bugs else tokens.shape
    strange = torch.randint(vocab_size, size, generator=g).expand_as(tokens)
    inputs = torch.where(hidden, mask_id, torch.where(replaced, strange, tokens))
    if "kept_unlabelled" in bugs:
        chosen = hidden | replaced
    if "labels_everywhere" in bugs:
        return inputs, tokens.clone()
    labels = torch.where(chosen, inputs if "labels_read" in bugs else tokens, 0 if "zero_elsewhere" in bugs else -100)
    return inputs, labels


def text(generator: torch.Generator, B: int, T: int, V: int) -> tuple[Tensor, Tensor]:
    """Rows of tokens 5 to V - 1 with [CLS] 2 in front, a [SEP] 3 here and there, and padding 0; and which are special."""
    tokens = torch.randint(5, V, (B, T), generator=generator)
    tokens[torch.rand(B, T, generator=generator) < 0.08] = 3
    tokens[:, 0] = 2
    ends = torch.randint(3 * T // 4, T + 1, (B, 1), generator=generator)
    tokens[torch.arange(T) >= ends] = 0
    return tokens, tokens < 5


def draw_of(generator: torch.Generator) -> torch.Generator:
    return torch.Generator().manual_seed(integer(generator, 0, 2**31))


@mlm_mask.property("the rule, over thirty thousand tokens", points=5)
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
            or replaced_fault(tokens, inputs, mask_id, V))


def labels_fault(tokens: Tensor, special: Tensor, inputs: Tensor, labels: Tensor) -> Fault | None:
    chosen = labels != -100
    if torch.equal(labels, tokens):
        return Fault("Every token has a label.", "labels_everywhere")
    if chosen.all() and ((labels == 0) | (labels == tokens)).all():
        return Fault("Every place has a label, most of them 0.", "zero_elsewhere")
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
        return Fault("Another generator gives the same result.", "reseeded")
    return None


def unchanged_cases(generator):
    tokens, special = text(generator, 5, 40, 90)
    return [(tokens, special, 90, 4, draw_of(generator))]


mlm_mask.unchanged(unchanged_cases)
mlm_mask.hint(
    "You do not know how to split the chosen ones.",
    "Draw a second number u for every place. Where chosen: u below 0.8 hides, from 0.8 to 0.9 replaces, from 0.9 keeps.")
mlm_mask.hint(
    "Your shares are right and your labels are not.",
    "Make the labels from the original tokens and from `chosen` alone: torch.where(chosen, tokens, -100). What happens to "
    "a chosen token later does not matter to them.")
mlm_mask.hint(
    "Two calls differ, or all calls are alike.",
    "Give generator=g to each torch.rand and torch.randint, and call neither manual_seed nor torch.manual_seed.")

# Which masker breaks the rule?

find_masker_fault = Exercise(
    "find_masker_fault", chapter="18", title="Find what the masker gets wrong",
    contract="masker(tokens, seed) gives (inputs, labels) for tokens (B, T); every seed gives another draw. special is the "
             "list of tokens that may never be chosen. Return the part of BERT's rule that it breaks, one word: \"special\" "
             "(a special token has a label), \"labels\" (a label is not the original token), \"rate\" (not 15 % of the "
             "ordinary tokens are chosen), \"shares\" (not 80, 10, 10 % of them are hidden, replaced, kept), or \"none\". "
             "At most one part is broken.",
    points=["mlm"], difficulty=3, minutes=30, kind="find")


@find_masker_fault.reference(
    sees_nothing="You find nothing wrong with any masker.",
    first_special="You look at one kind of special token. A masker may spare [CLS] and choose [SEP] or padding.",
    hidden_only="You compare the share of [MASK] alone. 80, 20 and 0 % break the rule as well.",
    changed_only="You count the tokens that were changed. One in ten of the chosen is kept; the labels tell which.",
    over_all="You divide by all tokens. The rate is of those that may be chosen: the ordinary ones.",
    labels_unread="You do not compare the labels with the original tokens.",
    shares_of_all="Your shares are of all the tokens. They are of those that were chosen.",
)
def find_masker_fault_reference(masker, tokens, special, mask_id, bugs=frozenset()):
    if "sees_nothing" in bugs:
        return "none"
    x = tokens.repeat(20, 1)                                                   # one draw of a long text, (20 B, T)
    inputs, labels = masker(x, 0)
    chosen = inputs != x if "changed_only" in bugs else labels != -100
    ordinary = ~one_of(x, special)
    if (chosen & one_of(x, special[:1] if "first_special" in bugs else special)).any():
        return "special"
    if "labels_unread" not in bugs and (labels != x)[chosen].any():
        return "labels"
    if abs(float(chosen.sum() / (x.numel() if "over_all" in bugs else ordinary.sum())) - RATE) > 0.01:
        return "rate"
    total = x.numel() if "shares_of_all" in bugs else chosen.sum()
    hidden, kept = (float((chosen & part).sum() / total) for part in (inputs == mask_id, inputs == x))
    good = abs(hidden - HIDDEN) < 0.02 and ("hidden_only" in bugs or abs(kept - 0.1) < 0.02)
    return "none" if good else "shares"


def one_of(tokens: Tensor, kinds: list[int]) -> Tensor:
    """Where a token is one of a few. (torch.isin sorts, and takes ten times as long.)"""
    found = torch.zeros_like(tokens, dtype=torch.bool)
    for kind in kinds:
        found |= tokens == kind
    return found


def suspect(V: int, mask_id: int, touched: list[int], rate: float = RATE, hidden: float = HIDDEN,
            replaced: float = REPLACED, wrong_labels: bool = False):
    """A masker that may choose `touched` special tokens; replacements are never the token itself."""
    def masker(tokens: Tensor, seed: int) -> tuple[Tensor, Tensor]:
        g = torch.Generator().manual_seed(int(seed))
        u, fate = torch.rand(2, *tokens.shape, generator=g)
        chosen = (u < rate) & ((tokens >= 5) | one_of(tokens, touched))
        strange = 5 + (tokens - 5 + torch.randint(1, V - 5, tokens.shape, generator=g)) % (V - 5)
        inputs = torch.where(chosen & (fate < hidden), mask_id, tokens)
        inputs = torch.where(chosen & (fate >= hidden) & (fate < hidden + replaced), strange, inputs)
        return inputs, torch.where(chosen, inputs if wrong_labels else tokens, -100)

    return Remembered(masker)


def suspect_cases(generator):
    V = integer(generator, 60, 90)
    tokens, _ = text(generator, 24, 80, V)
    kinds = [suspect(V, 4, []), suspect(V, 4, [3]), suspect(V, 4, [0]), suspect(V, 4, [2]), suspect(V, 4, [], rate=0.2),
             suspect(V, 4, [], rate=0.12), suspect(V, 4, [], replaced=0.2), suspect(V, 4, [], hidden=0.9, replaced=0.0),
             suspect(V, 4, [], hidden=0.8, replaced=0.0), suspect(V, 4, [], wrong_labels=True), suspect(V, 4, [])]
    return [(kinds[k], tokens, [2, 3, 0], 4) for k in torch.randperm(len(kinds), generator=generator).tolist()]


find_masker_fault.compare("values", suspect_cases, points=5)
find_masker_fault.hint(
    "Your verdict changes from run to run.",
    "One batch chooses a few hundred tokens, and one in ten of those is few. Put the draws of twenty seeds together.")
find_masker_fault.hint(
    "You call a sound masker broken.",
    "Chosen is where the label is not -100, kept tokens included. The rate is the chosen over the ordinary tokens, the shares "
    "are over the chosen. A hundredth or two off is chance.")

EXERCISES = [mlm_mask, find_masker_fault]
