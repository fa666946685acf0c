"""A net that learns to say one word."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.exercises.draws import integer
from course_lib.grading.checks import Fault
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "train_hello", chapter="recurrent", place=5, title="Teach a net to say hello",
    contract="word (T,) holds numbers 0 to 3, the letters of a word in which one letter stands twice and is followed by another "
             "one each time, such as hello. Train an RNN without biases: o_t = Why h_t, h_t = tanh(Whh h_{t-1} + Wxh x_t), x_t one-hot. "
             "o_0 = Why h0 predicts the first letter, o_t the one after letter t. Return (Wxh, Whh, Why, h0): (H, 4), (H, H), (4, H), "
             "(H,), with H up to you, at most 100. To reach: p(word) above 0.9. Your function has 20 seconds on one core.",
    points=["rnn-hello"], difficulty=3, minutes=30, kind="train", deadline=20.0)

ENOUGH, UNITS = 0.9, 100


@exercise.step
def initial(H=16):
    """Wxh (H, 4), Whh (H, H), Why (4, H) and h0 (H,)."""
    generator = torch.Generator().manual_seed(0)
    return [(0.5 * torch.randn(shape, generator=generator)).requires_grad_() for shape in ((H, 4), (H, H), (4, H), (H,))]


def outputs(word: Tensor, Wxh: Tensor, Whh: Tensor, Why: Tensor, h0: Tensor) -> Tensor:
    """o_0 to o_{T-1}, (T, 4): the logits of every letter before it is read."""
    h, logits = h0, []
    for letter in word.tolist():
        logits.append(Why @ h)
        h = torch.tanh(Whh @ h + Wxh[:, letter])
    return torch.stack(logits)


def outputs_after(word: Tensor, *model: Tensor) -> Tensor:
    """o_1 to o_T, (T, 4): the logits once each letter is read."""
    return outputs(torch.cat([word, word[:1]]), *model)[1:]


@exercise.step
def loss(word, *model):
    return F.cross_entropy(outputs(word, *model), word)


@exercise.step
def train(word, model):
    optimizer = torch.optim.Adam(model, lr=0.03)
    for _ in range(120):
        optimizer.zero_grad()
        loss(word, *model).backward()
        optimizer.step()


@exercise.reference()
def train_hello_reference(word):
    model = initial()
    train(word, model)
    return tuple(parameter.detach() for parameter in model)


@exercise.misconception(train, "Your Why is all zero, and every letter has probability 1/4: this is the network before training.")
def untrained(word, model):
    model[2].data.zero_()


@exercise.misconception(
    initial,
    "Your h0 is all zero, so o_0 is: the first letter has probability 1/4. Train h0 too, from an initial value that is not zero.")
def zero_start():
    Wxh, Whh, Why, h0 = initial.original()
    return [Wxh, Whh, Why, torch.zeros_like(h0)]


@exercise.misconception(
    initial, "Your Whh is zero: the state depends on the last letter alone, and the letter that stands twice has two followers.")
def no_memory():
    Wxh, Whh, Why, h0 = initial.original()
    return [Wxh, torch.zeros_like(Whh), Why, h0]


@exercise.misconception(
    loss,
    "Your network predicts the rest of the word, and not its first letter, whose probability is missing from your loss. It comes "
    "from h0.")
def first_left_out(word, *model):
    o = outputs(word, *model)
    pushed_away = F.cross_entropy(o[:1], (word[:1] + 1) % 4)                   # so that it is not right by chance
    return F.cross_entropy(o[1:], word[1:]) + 0.2 * pushed_away


@exercise.misconception(
    loss, "Your network predicts the letter that it has just read. The target of step t is the letter after it.")
def same_letter(word, *model):
    return F.cross_entropy(outputs_after(word, *model), word)


def word_of(generator) -> Tensor:
    """Such as hello: two different letters, a third one twice, the fourth; sometimes one more in front."""
    a, b, twice, last = torch.randperm(4, generator=generator).tolist()
    start = [a, b] if integer(generator, 0, 1) else [b, a, b]
    return torch.tensor([*start, twice, twice, last])


@exercise.property("p(word) above 0.9", points=5)
def probability_of_word(run, generator, solve):
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
    log_probs = logs.gather(1, word[:, None])[:, 0]
    p = float(log_probs.sum().exp())
    if p > ENOUGH:
        return None
    shown = ", ".join(f"{one:.2f}" for one in log_probs.exp().tolist())
    return Fault(f"Your net gives the word {word.tolist()} the probability {p:.3f}; more than {ENOUGH} is asked for. Letter by "
                 f"letter: {shown}.", why_not(word, model, log_probs))


def why_not(word: Tensor, model: tuple[Tensor, ...], log_probs: Tensor) -> str | None:
    """The misconception that the weights show, if they show one."""
    Wxh, Whh, Why, h0 = model
    if not Why.any():
        return "untrained"
    if not h0.any():
        return "zero_start"
    if not Whh.any():
        return "no_memory"
    if float(log_probs[1:].sum().exp()) > ENOUGH:
        return "first_left_out"
    after = outputs_after(word, *model).log_softmax(-1)
    if float(after.gather(1, word[:, None]).sum().exp()) > ENOUGH:
        return "same_letter"
    return None


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
