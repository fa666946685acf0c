"""A net that learns to say one word."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.exercises.draws import integer
from course_lib.grading.checks import Fault
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "train_hello", chapter="07", place=5, title="Teach a net to say hello",
    contract="word (T,) holds numbers 0 to 3, the letters of a word in which one letter stands twice and is followed by another "
             "one each time, such as hello. Train an RNN without biases: o_t = Why h_t, h_t = tanh(Whh h_{t-1} + Wxh x_t), x_t one-hot. "
             "o_0 = Why h0 predicts the first letter, o_t the one after letter t. Return (Wxh, Whh, Why, h0): (H, 4), (H, H), (4, H), "
             "(H,), with H up to you, at most 100. To reach: p(word) above 0.9. Your function has 20 seconds on one core.",
    points=["rnn-hello"], difficulty=3, minutes=30, kind="train", deadline=20.0)

ENOUGH, UNITS = 0.9, 100


@exercise.reference(
    untrained="Your Why is all zero, and every letter has probability 1/4: this is the net before training.",
    zero_start="Your h0 is all zero, so o_0 is: the first letter has probability 1/4. Train h0 too, from a start that is not "
               "zero.",
    first_left_out="Your net says the rest of the word, and not its first letter: its probability is missing from your loss. It "
                   "comes from h0.",
    no_memory="Your Whh is zero: the net knows the last letter alone, and a letter that stands twice has two followers.",
    same_letter="Your net predicts the letter that it has just read. The target of step t is the letter after it.",
    uphill="Your net makes the word as unlikely as it can: you climb the loss. Minimise minus the log-probability.",
)
def train_hello_reference(word, bugs=frozenset()):
    generator, H = torch.Generator().manual_seed(0), 16
    Wxh, Whh, Why = (0.5 * torch.randn(*shape, generator=generator) for shape in ((H, 4), (H, H), (4, H)))
    h0 = 0.5 * torch.randn(H, generator=generator)
    if "untrained" in bugs:
        return Wxh, Whh, torch.zeros_like(Why), h0
    if "zero_start" in bugs:
        h0 = torch.zeros_like(h0)
    if "no_memory" in bugs:
        Whh = torch.zeros_like(Whh)
    fixed = [p for p, name in ((h0, "zero_start"), (Whh, "no_memory")) if name in bugs]
    learned = [p.requires_grad_() for p in (Wxh, Whh, Why, h0) if not any(p is one for one in fixed)]
    optimizer = torch.optim.Adam(learned, lr=0.03, maximize="uphill" in bugs)
    for _ in range(20 if "uphill" in bugs else 120):
        o = outputs(word, Wxh, Whh, Why, h0)
        if "same_letter" in bugs:
            o = torch.cat([o[1:], outputs(torch.cat([word, word[:1]]), Wxh, Whh, Why, h0)[-1:]])
        first = int("first_left_out" in bugs)
        loss = F.cross_entropy(o[first:], word[first:])
        if first:                                                              # pushed to another letter, to be told from luck
            loss = loss + 0.2 * F.cross_entropy(o[:1], (word[:1] + 1) % 4)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return tuple(p.detach() for p in (Wxh, Whh, Why, h0))


def outputs(word: Tensor, Wxh: Tensor, Whh: Tensor, Why: Tensor, h0: Tensor) -> Tensor:
    """o_0 to o_{T-1}, (T, 4): what is said of every letter before it is read."""
    h, said = h0, []
    for letter in word.tolist():
        said.append(Why @ h)
        h = torch.tanh(Whh @ h + Wxh[:, letter])
    return torch.stack(said)


def word_of(generator) -> Tensor:
    """Such as hello: two different letters, a third one twice, the fourth; sometimes one more in front."""
    a, b, twice, last = torch.randperm(4, generator=generator).tolist()
    start = [a, b] if integer(generator, 0, 1) else [b, a, b]
    return torch.tensor([*start, twice, twice, last])


@exercise.property("p(word) above 0.9", points=5)
def said(run, generator, solve):
    word = word_of(generator)
    result = run(word)
    good = isinstance(result, list | tuple) and len(result) == 4 and all(isinstance(part, Tensor) for part in result)
    H = result[1].shape[0] if good and result[1].ndim == 2 else 0
    if not good or H == 0 or [tuple(part.shape) for part in result] != [(H, 4), (H, H), (4, H), (H,)]:
        return Fault("Your function should return four tensors: Wxh (H, 4), Whh (H, H), Why (4, H) and h0 (H,).", None,
                     "wrong_shape")
    if H > UNITS:
        return Fault(f"Your net has {H} units; {UNITS} at most. Eight are enough.", None, "wrong_shape")
    model = tuple(part.detach().double() for part in result)
    if not all(part.isfinite().all() for part in model):
        return Fault("Some of your weights are NaN or infinite. Train with a smaller learning rate.")
    logs = outputs(word, *model).log_softmax(-1)
    each = logs.gather(1, word[:, None])[:, 0]
    p = float(each.sum().exp())
    if p > ENOUGH:
        return None
    shown = ", ".join(f"{one:.2f}" for one in each.exp().tolist())
    return Fault(f"Your net gives the word {word.tolist()} the probability {p:.3f}; more than {ENOUGH} is asked for. Letter by "
                 f"letter: {shown}.", why_not(word, model, each))


def why_not(word: Tensor, model: tuple[Tensor, ...], each: Tensor) -> str | None:
    """The misconception that the weights show, if they show one."""
    Wxh, Whh, Why, h0 = model
    if not Why.any():
        return "untrained"
    if not h0.any():
        return "zero_start"
    if not Whh.any():
        return "no_memory"
    if float(each[1:].sum().exp()) > ENOUGH:
        return "first_left_out"
    now = outputs(torch.cat([word, word[:1]]), *model)[1:].log_softmax(-1)     # after each letter
    if float(now.gather(1, word[:, None]).sum().exp()) > ENOUGH:
        return "same_letter"
    return "uphill" if float(each.mean()) < -3.0 else None                     # well below one in four


exercise.hint(
    "You do not know how to write the loss.",
    "Walk through the word. At each letter, first take the cross-entropy of o = Why @ h with that letter, then update h with "
    "it. The sum of these is minus log p(word).")
exercise.hint(
    "Your p(word) stays at about 1/4 or below.",
    "Look at the first letter: o_0 = Why h0 says it. With h0 = 0 nothing can be learned about it.")
exercise.hint(
    "Your p(word) stays at about 1/2 or below.",
    "The letter that stands twice has two followers. Only Whh can tell the two places apart: is it among the parameters that you "
    "give to the optimizer?")
