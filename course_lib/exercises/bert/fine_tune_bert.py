"""A small BERT fine-tuned to a score: which subject the first of two sentences has, half of whose words no label names."""
from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.exercises.bert._few_labels import CLASSES, CLS, MASK, NEW, PAD, WIDTH, Classifier, V, drawn
from course_lib.grading.checks import Fault
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "fine_tune_bert", chapter="18", place=8, title="Fine-tune to a score",
    contract="body holds the weights of Encoder, as the notebook gives it, pre-trained on stories; train and valid are pairs: "
             "sentences (N, T), whole numbers with padding 0, and their classes (N,), 0 to 3. Put a new linear layer, small at the "
             "start, on the vector of [CLS], the first, and train both for at most `steps` updates on train; 0 asks for the start. "
             "Look at valid before the first update and after every tenth; return the weights whose mean cross-entropy there is lowest: "
             "a dict, the names of body with head.weight (4, D) and head.bias (4,). body stays as it is. To reach with 48 sentences "
             "and 150 updates: 85 % of 400 new sentences, whose words have no label. Your function has 20 seconds on one core.",
    points=["bert-finetune"], difficulty=3, minutes=35, kind="train", deadline=20.0)

STEPS, SHARE, SMALL = 150, 0.85, 0.5                         # updates, what is to be told right, the largest number of a head
KNOWS, BLIND = 0.7, 0.95                                     # nats: a head that was trained, and one as it fell; between them, who knows


@exercise.reference(
    fresh_body="Your encoder starts from fresh weights, not from those of body: what pre-training knew is not there. Load them, "
               "encoder.load_state_dict(body), before the first step.",
    large_head="Your head starts large: it has a number above 0.5. What it is sure of before it has learned anything is noise, and so "
               "are its first gradients, which run through the whole body. Start with zeros or small numbers.",
    stays="After all steps the body is as it was given, and the head tells no class. Either no update reaches them, or none makes "
          "the validation loss smaller: print it at each look. A rate that is much too large does that, and so does a step uphill.",
    frozen="Your head is trained, and the body is as it was given: frozen. What this task asks, its vector of [CLS] does not tell. "
           "Give the optimizer the body's parameters too, and let gradients reach them.",
    on_valid="You train on the validation sentences: vectors of words have moved that stand in them alone. Then they tell nothing "
             "about new sentences any more, and no choice can be made by them. Choose with them; train on train.",
    hot="Your weights have left those of body far behind: what pre-training knew is washed away. Take a rate that is ten to a hundred "
        "times smaller.",
    softmax_twice="Of a sentence that has one class three times in four, your model is sure of that class. The least cross-entropy of "
                  "logits is at 0.75. F.cross_entropy takes logits: with a softmax before it, it is another loss.",
    torn="Your model knows how frequent each class is, and not which sentence has it: the rows of sentences and classes are torn "
         "apart. Draw one set of indices and use it for both.",
    shifted="Your model tells another class than the one that was given, the same way each time: the labels are shifted. Class c is "
            "number c of the four logits.",
    last_weights="On the validation sentences, what you return is far worse than the start was: the weights of the last step, or not "
                 "chosen by these sentences. Keep a copy of the weights at each look that is the best so far, and return that.",
    elsewhere="Your head reads another place than the first: the last one, padding, or a mean over several. It stands on the vector of "
              "[CLS], encoder(tokens)[:, 0], in training and on valid.",
    in_place="Your training changes body itself: its tensors became the parameters. Copy them, as load_state_dict does.",
)
def fine_tune_bert_reference(body, train, valid, steps, bugs=frozenset()):
    if "in_place" in bugs:
        after = fine_tune_bert_reference(body, train, valid, steps)
        for name in body if steps else ():
            body[name].copy_(after[name])
        return after
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = MeanOfAll() if "elsewhere" in bugs else Classifier()
        if "fresh_body" not in bugs:
            model.load_state_dict(body, strict=False)
        if "large_head" in bugs:
            nn.init.normal_(model.head.weight)
        if {"stays", "torn"} & bugs:
            for one in model.head.parameters():
                nn.init.zeros_(one)
        learned = model.head.parameters() if "frozen" in bugs else model.parameters()
        rate = 0.3 if "hot" in bugs else 0.03 if "frozen" in bugs else 0.003
        optimizer = torch.optim.AdamW(learned, rate)
        x, y = (torch.cat(both) for both in zip(train, valid)) if "on_valid" in bugs else train
        if "shifted" in bugs:
            y, valid = (y + 1) % CLASSES, (valid[0], (valid[1] + 1) % CLASSES)
        read = (lambda x: model(x).softmax(-1)) if "softmax_twice" in bugs else model
        best, kept = math.inf, {}
        for step in range(steps + 1):
            if step % 10 == 0 or step == steps:
                with torch.no_grad():
                    loss = float(F.cross_entropy(read(valid[0]), valid[1]))
                if loss < best or {"last_weights", "hot"} & bugs:
                    best, kept = loss, {name: one.clone() for name, one in model.state_dict().items()}
            if step == steps or "stays" in bugs:
                break
            optimizer.param_groups[0]["lr"] = rate * min(1, (step + 1) / 15) * (1 - step / steps)
            rows = torch.randint(len(x), (16,))
            told = y[torch.randint(len(x), (16,))] if "torn" in bugs else y[rows]
            optimizer.zero_grad()
            F.cross_entropy(read(x[rows]), told).backward()
            optimizer.step()
    return kept


class MeanOfAll(Classifier):
    """The fault `elsewhere`: its head stands on the mean of all places, padding among them."""

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.states(tokens, mask=tokens != PAD)[-1].mean(1))


def learnt(run, body: dict[str, Tensor], train: tuple, valid: tuple, steps: int) -> Classifier | Fault:
    """The library's model with the weights that a call gives, or what is wrong with them."""
    with torch.enable_grad():
        weights = run(body, train, valid, steps)
    model = Classifier()
    wanted = model.state_dict()
    if not isinstance(weights, dict) or not all(isinstance(one, Tensor) for one in weights.values()):
        return Fault("Your function should return weights, a dict of tensors: those of body under their names, and the head's.", None,
                     "wrong_shape")
    for name in sorted({*wanted, *map(str, weights)}):
        if name not in weights or name not in wanted:
            return Fault(f"The weights have {'no ' if name in wanted else ''}{name[:60]}; asked for are the names of body, head.weight "
                         "and head.bias.", None, "wrong_shape")
        if weights[name].shape != wanted[name].shape or weights[name].is_complex():
            return Fault(f"{name} has shape {tuple(weights[name].shape)}; expected {tuple(wanted[name].shape)}.", None, "wrong_shape")
    if not all(one.isfinite().all() for one in weights.values()):
        return Fault("Some of your weights are NaN or infinite. Train with a smaller learning rate.")
    model.load_state_dict(weights)
    return model.eval()


@exercise.property("the start: body as given, a small head", points=2)
@torch.no_grad()
def start(run, generator, solve):
    body, train, valid, _ = drawn(generator)
    model = learnt(run, body, train, valid, 0)
    if isinstance(model, Fault):
        return model
    moved = [name for name, one in model.state_dict().items() if name in body and not torch.allclose(one, body[name], atol=1e-6)]
    if moved:
        return Fault(f"With steps = 0, the start is asked for; {len(moved)} of the {len(body)} tensors of body are not as they were "
                     f"given, {moved[0]} the first.", "fresh_body" if distance(model, body) > 0.5 else None)
    largest = max(float(one.abs().max()) for one in model.head.parameters())
    if largest > SMALL:
        return Fault(f"At the start the head has a number of size {largest:.2f}; {SMALL} is the largest that is allowed.", "large_head")
    return None


def distance(model: Classifier, body: dict[str, Tensor]) -> float:
    """How far the model's body is from the given one, as a share of the given one's norm."""
    held = model.state_dict()
    squares = [((held[name] - one).square().sum(), one.square().sum()) for name, one in body.items()]
    return float((sum(gap for gap, _ in squares) / sum(norm for _, norm in squares)).sqrt())


def not_fine_tuned(model: Classifier, body: dict[str, Tensor], train: tuple[Tensor, Tensor]) -> Fault | None:
    """What is wrong with how far the body is from the given one, whatever the model says."""
    held = model.state_dict()
    same = [name for name, one in body.items() if torch.equal(held[name].float(), one)]
    if len(same) == len(body):
        nats = float(F.cross_entropy(model(train[0]), train[1]))
        return Fault("After all updates the body is as it was given.", "frozen" if nats < KNOWS else "stays" if nats > BLIND else None)
    if same:
        return Fault(f"After all updates {len(same)} of the {len(body)} tensors of body are as they were given, {same[0]} the first. "
                     "Everything is trained: does the optimizer have them all?")
    if (far := distance(model, body)) > 1.5:
        return Fault(f"After all updates the body is {far:.1f} times its own size away from where it was.", "hot")
    return None


@exercise.property("what the labels say", points=1)
@torch.no_grad()
def told(run, generator, solve):
    body, (x, _), _, _ = drawn(generator)
    a, b, c = torch.randperm(CLASSES, generator=generator)[:3].tolist()
    one, two = x[torch.randperm(len(x), generator=generator)[:2]]
    rows = torch.randperm(32, generator=generator)
    train = torch.stack([one] * 16 + [two] * 16)[rows], torch.tensor([a] * 12 + [b] * 4 + [c] * 16)[rows]
    model = learnt(run, body, train, train, 100)
    if isinstance(model, Fault):
        return model
    if fault := not_fine_tuned(model, body, train):
        return fault
    p = model(torch.stack([one, two])).softmax(-1)                                                  # (2, classes)
    if 0.52 <= p[0, a] <= 0.96 and p[1, c] >= 0.6:
        return None
    turn = (p.argmax(1) - torch.tensor([a, c])) % CLASSES
    shares = torch.bincount(train[1], minlength=CLASSES) / len(rows)                                # (classes,) of the labels
    why = "torn" if bool(((p - shares).abs() < 0.18).all()) and distance(model, body) > 0.025 else \
        "softmax_twice" if p[0, a] > 0.96 and p[1, c] > 0.9 else \
        "shifted" if turn[0] == turn[1] != 0 and p[1].max() > 0.6 else None
    return Fault(f"Of two sentences the one has class {a} 12 times and class {b} 4 times, the other class {c} always; valid is the same. "
                 f"After 100 updates your model says {p[0, a]:.2f} for class {a} of the first, where about 0.75 is right, and "
                 f"{p[1, c]:.2f} for class {c} of the second." + (" Are the updates too small?" if p.max() < 0.6 else ""), why)


@exercise.property("all of it is trained, on train alone", points=1)
@torch.no_grad()
def whole(run, generator, solve):
    body, train, valid, _ = drawn(generator)
    model = learnt(run, body, train, valid, 100)
    if isinstance(model, Fault):
        return model
    if fault := not_fine_tuned(model, body, train):
        return fault
    turned = F.cosine_similarity(model.tokens.weight, body["tokens.weight"]) < 1 - 1e-5             # (V,)
    alone = torch.tensor([not (train[0] == word).any() and bool((valid[0] == word).any()) for word in range(V)])
    if share(turned[alone]) > 0.5 and not turned[MASK]:                                             # [MASK] stands nowhere
        return Fault("Vectors of words have moved that stand in the validation sentences alone.", "on_valid")
    return None


def looks_at_itself(body: dict[str, Tensor]) -> dict[str, Tensor]:
    """The body with large weights by which every place's attention is 1 on [CLS], in float32: its vector there reads no word."""
    body, D = {name: one.clone() for name, one in body.items()}, WIDTH
    block = "blocks.0.attention.qkv."
    body["tokens.weight"][CLS] = 1000 * F.normalize(body["tokens.weight"][CLS], dim=0)
    seen = F.normalize(body["norm.gamma"] * F.normalize(body["tokens.weight"][CLS], dim=0), dim=0)      # (D,) as the block reads it
    body[block + "weight"][:D], body[block + "bias"][:D] = 0, 30.0                                    # every query
    body[block + "weight"][D:2 * D], body[block + "bias"][D:2 * D] = 30 * seen, 0                     # keys tell [CLS] from the rest
    return body


@exercise.property("the head stands on [CLS]", points=1)
@torch.no_grad()
def place(run, generator, solve):
    task = drawn(generator)
    body = looks_at_itself(task.body)
    model = learnt(run, body, task.train, task.train, 20)
    if isinstance(model, Fault):
        return model
    moved = F.cosine_similarity(model.tokens.weight, body["tokens.weight"]) < 1 - 1e-5              # (V,)
    moved[CLS] = False
    if not moved.any():
        return None
    return Fault(f"Given a body in which [CLS] looks at itself alone, the vectors of {int(moved.sum())} other tokens have moved. What "
                 "the head reads there hangs on no other token.", "elsewhere")


def share(flags: Tensor) -> float:
    return float(flags.double().mean())


@exercise.property("the weights that are best on valid", points=1)
@torch.no_grad()
def chosen(run, generator, solve):
    body, (x, y), _, _ = drawn(generator)
    model = learnt(run, body, (x, (y + 1) % CLASSES), (x, y), 100)
    if isinstance(model, Fault):
        return model
    logits = model(x)
    nats, right = float(F.cross_entropy(logits, y)), share(logits.argmax(1) == y)
    if nats < math.log(CLASSES) + 0.9 or right > 0.2:
        return None
    return Fault(f"Given wrong classes in train and right ones in valid, you return weights that get {right:.0%} of valid right, at "
                 f"{nats:.2f} nats a sentence. The start has {math.log(CLASSES):.2f}, and was better.", "last_weights")


@exercise.property(f"{SHARE:.0%} of new sentences", points=3)
@torch.no_grad()
def score(run, generator, solve):
    body, train, valid, (x, y) = drawn(generator)
    model = learnt(run, body, train, valid, STEPS)
    if isinstance(model, Fault):
        return model
    right = share(model(x).argmax(1) == y)
    if right >= SHARE:
        return None
    known = share(model(train[0]).argmax(1) == train[1])
    return Fault(f"{right:.0%} of {NEW} new sentences are told right; {SHARE:.0%} are asked for. Of the sentences in train it is "
                 f"{known:.0%}, of those in valid {share(model(valid[0]).argmax(1) == valid[1]):.0%}: "
                 + ("the updates are too small or too few to learn even train." if known < SHARE else
                    "train is learned, and not what its words have in common with others. Smaller steps keep more of body."))


def left_alone(generator):
    return [(*drawn(generator)[:3], 3)]


exercise.unchanged(left_alone, points=1)
exercise.hint(
    "You do not know where to begin.",
    "encoder = Encoder(); encoder.load_state_dict(body). A head nn.Linear(32, 4) on encoder(x)[:, 0] gives logits (B, 4). One "
    "optimizer has the parameters of both. The weights to return are {**encoder.state_dict(), 'head.weight': ..., 'head.bias': ...}.")
exercise.hint(
    "The best weights are those of the end, whatever you do.",
    "state_dict() gives the tensors themselves, and training goes on in them. Keep {name: t.clone() for name, t in ...}.")
exercise.hint(
    "The score stays below 85 %.",
    "Adam with a rate from 0.001 to 0.005, 16 sentences an update, all of the updates. Print the validation loss at each look: it "
    "should begin at 1.4, which is ln 4, and come below 0.3.")
