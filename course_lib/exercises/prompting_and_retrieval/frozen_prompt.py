"""Prompt tuning: a few vectors in front of a frozen model are all that is trained."""
from __future__ import annotations

import math
from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.exercises.building import judged
from course_lib.exercises.draws import integer, normal
from course_lib.grading.checks import Fault
from course_lib.grading.exercise import Exercise
from course_lib.grading.protocol.calls import same
from course_lib.grading.proxy import check_tensor, model_error

KINDS, EACH, WIDTH = 3, 5, 16                               # who, what, where; words of each; numbers of a vector
V = KINDS * EACH + KINDS + 1                                # and the three orders, and the sign that asks
ASKS, PRETRAINING, STEPS, SHARE, NEW = V - 1, 250, 100, 0.9, 300

exercise = Exercise(
    "FrozenPrompt", chapter="prompting-and-retrieval", place=5, title="Tune the prompt alone",
    contract="A class FrozenPrompt(nn.Module), made with body, the weights of Reader as the notebook gives it, and num. It has reader, "
             "a Reader with these weights, which stays as it is, and the parameter prompt (num, D), small at the start. forward(x), "
             "x (B, T) tokens: the logits (B, V) that the reader gives when the vectors of prompt stand before those of the tokens of "
             "each row. fit(x, y, steps): at most `steps` updates of the prompt by the cross-entropy of the answers y (B,); afterwards "
             "no parameter of the reader holds a gradient, and none has moved. To reach with 40 rows, num = 2 and 100 updates: 90 % of "
             "300 new rows.",
    points=["task-finetune", "zero-few-shot"], difficulty=3, minutes=35, kind="build", deadline=20.0)


class Reader(nn.Module):
    """The last vector of each row looks at all of them, once."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(V, WIDTH)
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.widen, self.answer = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, V)

    def forward(self, vectors: Tensor) -> Tensor:
        scores = self.query(vectors[:, -1:]) @ self.key(vectors).mT / math.sqrt(WIDTH)             # (B, 1, T)
        return self.answer(F.relu(self.widen(scores.softmax(dim=-1) @ self.value(vectors))))[:, 0]


@exercise.class_reference()
class FrozenPrompt(nn.Module):
    """A frozen reader behind a prompt, which is trained."""

    def __init__(self, body, num):
        super().__init__()
        self.reader = self.frozen_reader(body)
        self.prompt = nn.Parameter(0.1 * torch.randn(num, WIDTH))

    @exercise.step
    def frozen_reader(self, body):
        reader = Reader()
        reader.load_state_dict(body)
        return reader.requires_grad_(False)

    def forward(self, x):
        return self.reader(self.with_prompt(self.reader.tokens(x.long())))

    @exercise.step
    def with_prompt(self, vectors):
        return torch.cat([self.prompt.expand(len(vectors), -1, -1), vectors], dim=1)

    @exercise.step
    def fit(self, x, y, steps):
        tune(self, [self.prompt], x, y, steps)


def tune(model, parameters, x, y, steps, maximize=False):
    optimizer = torch.optim.Adam(parameters, lr=0.1, maximize=maximize)
    for _ in range(steps):
        loss = F.cross_entropy(model(x), y.long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@exercise.misconception(
    FrozenPrompt.with_prompt,
    "Your logits do not depend on the prompt. Its vectors stand before those of the tokens, in every row.")
def no_prompt(self, vectors):
    return vectors


@exercise.misconception(
    FrozenPrompt.with_prompt,
    "Your prompt stands behind the tokens. The last vector of a row is the one that asks: it has to stay the last.")
def behind(self, vectors):
    return torch.cat([vectors, self.prompt.expand(len(vectors), -1, -1)], dim=1)


@exercise.misconception(
    FrozenPrompt.frozen_reader,
    "Your reader does not have the weights of body, so what it learned before is lost. Load them, reader.load_state_dict(body).")
def fresh_reader(self, body):
    return Reader().requires_grad_(False)


@exercise.misconception(
    FrozenPrompt.frozen_reader,
    "Parameters of your reader hold gradients after fit. They are computed at every update and never used: requires_grad_(False) on the "
    "reader spares them.")
def not_frozen(self, body):
    return FrozenPrompt.frozen_reader.original(self, body).requires_grad_(True)


@exercise.misconception(
    FrozenPrompt.fit,
    "The weights of your reader have moved in fit. That is fine-tuning; here the prompt alone is given to the optimizer.")
def trained_whole(self, x, y, steps):
    tune(self, self.requires_grad_(True).parameters(), x, y, steps)


@exercise.misconception(
    FrozenPrompt.fit,
    "After fit the prompt is as it was made. Do gradients reach it, and does the optimizer have it?")
def stays(self, x, y, steps):
    pass


@exercise.misconception(
    FrozenPrompt.fit,
    "After fit your model assigns less probability to the right answers than before, on the very rows that it was trained on. The steps "
    "lead away from them.")
def uphill(self, x, y, steps):
    tune(self, [self.prompt], x, y, steps, maximize=True)


@lru_cache(1)
@torch.enable_grad()
def pretrained() -> dict[str, Tensor]:
    """The weights of a reader that has followed orders: an order, words of three kinds mixed, and the sign that asks; the
    answer is the word of the kind that the order names."""
    generator = torch.Generator().manual_seed(0)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        reader = Reader()
    optimizer = torch.optim.Adam(reader.parameters(), lr=0.03)
    for step in range(PRETRAINING):
        optimizer.param_groups[0]["lr"] = 0.03 * (1 - step / PRETRAINING)
        kind = torch.randint(KINDS, (64,), generator=generator)
        x, y = rows(kind, generator)
        order = (KINDS * EACH + kind)[:, None]
        loss = F.cross_entropy(reader(reader.tokens(torch.cat([order, x], dim=1))), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {name: one.detach().clone() for name, one in reader.state_dict().items()}


def rows(kind: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """One word of each kind in any order and the sign that asks, (B, 4); the word of the kind (B,) that is asked for."""
    words = EACH * torch.arange(KINDS) + torch.randint(EACH, (len(kind), KINDS), generator=generator)      # (B, kinds)
    turned = torch.rand(words.shape, generator=generator).argsort(dim=1)
    x = torch.cat([words.gather(1, turned), torch.full((len(kind), 1), ASKS)], dim=1)
    return x, words.gather(1, kind[:, None])[:, 0]


def drawn(generator: torch.Generator) -> tuple[dict[str, Tensor], list[tuple[Tensor, Tensor]]]:
    """The pre-trained weights with words under new numbers; rows without an order, all of one kind: to train on, and new."""
    number = torch.cat([torch.randperm(V - 1, generator=generator), torch.tensor([ASKS])])
    body = {name: one.clone() for name, one in pretrained().items()}
    for name in ("tokens.weight", "answer.weight", "answer.bias"):
        body[name][number] = pretrained()[name]
    kind = integer(generator, 0, KINDS - 1)
    parts = [rows(torch.full((count,), kind), generator) for count in (40, NEW)]
    return body, [(number[x], number[y]) for x, y in parts]


def logits_asked(generator):
    """Drawn weights of the reader and of prompts of several lengths."""
    found = []
    for num, B, T in ((2, 3, 4), (4, 2, 5), (3, 5, 2)):
        weights = {f"reader.{name}": normal(generator, *one.shape, scale=1.0 if one.dim() == 1 or "tokens" in name else 0.4)
                   for name, one in Reader().named_parameters()}
        body = {name.removeprefix("reader."): one for name, one in weights.items()}
        x = torch.randint(V, (B, T), generator=generator)
        found.append(("forward", {"body": body, "num": num}, {"prompt": normal(generator, num, WIDTH, scale=1.5), **weights}, x))
    return found


exercise.compare("the logits with a prompt in front", logits_asked, points=3)


def held_by(run, what: str, number: int, body: dict[str, Tensor]) -> dict[str, Tensor | None]:
    """The parameters of the learner's model, or their gradients, by name."""
    found = run(what, number, None)
    wanted = {"prompt", *(f"reader.{name}" for name in body)}
    if not isinstance(found, dict) or found.keys() != wanted or not all(one is None or isinstance(one, Tensor) for one in found.values()):
        raise model_error("its parameters are not those of its reader and its prompt")
    return found


@judged(exercise, "the reader stays, and only the prompt has a gradient", 3, among=())
def frozen(run, generator):
    body, (train, _) = drawn(generator)
    number = run("make", {"body": body, "num": 2}, None)
    before = held_by(run, "parameters", number, body)
    for name, one in body.items():
        if not same(before[f"reader.{name}"], one):
            return Fault(f"Before any update reader.{name} is not what body has.", "fresh_reader")
    run("fit", number, None, *train, 3)
    after, held = held_by(run, "parameters", number, body), held_by(run, "grads", number, body)
    moved = [name for name in body if not same(after[f"reader.{name}"], body[name])]
    if moved:
        return Fault(f"After three updates {len(moved)} of the {len(body)} tensors of the reader have moved, {moved[0]} the first.",
                     "trained_whole")
    full = [name for name in body if held[f"reader.{name}"] is not None]
    if full:
        return Fault(f"After three updates {len(full)} of the {len(body)} tensors of the reader hold a gradient, {full[0]} the first.",
                     "not_frozen")
    if same(after["prompt"], before["prompt"]):
        return Fault("After three updates the prompt is as it was made.", "stays")
    return None


@judged(exercise, f"{SHARE:.0%} of new rows", 4, among=())
def score(run, generator):
    body, (train, (x, y)) = drawn(generator)
    number = run("make", {"body": body, "num": 2}, None)

    def logits(x):
        return check_tensor(run("forward", number, None, x), (len(x), V), "forward")

    nats = [F.cross_entropy(logits(train[0]), train[1]).item()]
    run("fit", number, None, *train, STEPS)
    nats.append(F.cross_entropy(logits(train[0]), train[1]).item())
    right = float((logits(x).argmax(dim=1) == y).double().mean())
    if right >= SHARE:
        return None
    return Fault(f"After {STEPS} updates {right:.0%} of {NEW} new rows are answered right; {SHARE:.0%} are asked for. The loss of the "
                 f"rows in training went from {nats[0]:.2f} to {nats[1]:.2f} nats.", "uphill" if nats[1] > nats[0] + 0.01 else None)


exercise.hint(
    "You do not know where the prompt goes.",
    "The reader takes vectors, not tokens. self.prompt.expand(len(x), -1, -1) is (B, num, D); torch.cat([that, self.reader.tokens(x)], "
    "dim=1) is what it reads.")
exercise.hint(
    "The reader moves, or holds gradients.",
    "self.reader.requires_grad_(False) after its weights are loaded, and an optimizer over [self.prompt]. Gradients run through the "
    "reader to the prompt all the same.")
exercise.hint(
    "The score stays below 90 %.",
    "Adam with a rate of 0.1 and all rows in every update. Print the loss at every tenth: it begins above 2 nats and comes below 0.1.")
