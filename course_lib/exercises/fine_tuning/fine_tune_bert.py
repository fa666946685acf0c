"""A small BERT fine-tuned to a score: which subject the first of two sentences has, half of whose words no label names."""
from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.exercises.fine_tuning._few_labels import CLASSES, CLS, MASK, NEW, PAD, WIDTH, Classifier, V, drawn
from course_lib.grading.checks import Fault
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "fine_tune_bert", chapter="fine-tuning", place=2, title="Fine-tune to a score",
    contract="body holds the weights of Encoder, as the notebook gives it, pre-trained on stories; train and valid are pairs: "
             "sentences (N, T), whole numbers with padding 0, and their classes (N,), 0 to 3. Put a new linear layer, small at the "
             "start, on the vector of [CLS], the first, and train both for at most `steps` updates on train; 0 asks for the start. "
             "Look at valid before the first update and after every tenth; return the weights whose mean cross-entropy there is lowest: "
             "a dict, the names of body with head.weight (4, D) and head.bias (4,). body stays as it is. To reach with 48 sentences "
             "and 150 updates: 85 % of 400 new sentences, whose words have no label. Your function has 20 seconds on one core.",
    points=["bert-finetune"], difficulty=3, minutes=35, kind="train", deadline=20.0)

STEPS, SHARE, SMALL = 150, 0.85, 0.5                         # updates, the accuracy asked for, the largest number of a head
TRAINED, UNTRAINED = 0.7, 0.95                               # nats: of a trained head at most, of an untrained one at least


@exercise.step
def model_at_start(body):
    model = Classifier()
    model.load_state_dict(body, strict=False)
    return model


@exercise.step
def loss_of(model, x, y):
    return F.cross_entropy(model(x), y)


@exercise.step
def batch(x, y):
    rows = torch.randint(len(x), (16,))
    return x[rows], y[rows]


def weights(model):
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def looks(model, train, valid, steps, rate=0.003, head_alone=False):
    """The validation loss and the weights before the first update, after every tenth, and after the last."""
    optimizer, history = torch.optim.AdamW((model.head if head_alone else model).parameters(), rate), []
    for step in range(steps + 1):
        if step % 10 == 0 or step == steps:
            with torch.no_grad():
                history.append((float(loss_of(model, *valid)), weights(model)))
        if step < steps:
            optimizer.param_groups[0]["lr"] = rate * min(1, (step + 1) / 15) * (1 - step / steps)
            optimizer.zero_grad()
            loss_of(model, *batch(*train)).backward()
            optimizer.step()
    return history


def best(looks):
    return min(looks, key=lambda look: look[0])[1]


@exercise.step
def tuned(model, train, valid, steps):
    return best(looks(model, train, valid, steps))


@exercise.reference()
def fine_tune_bert_reference(body, train, valid, steps):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return tuned(model_at_start(body), train, valid, steps)


@exercise.misconception(
    model_at_start,
    "Your encoder starts from fresh weights, not from those of body, so what it learned in pre-training is lost. Load them, "
    "encoder.load_state_dict(body), before the first step.")
def fresh_body(body):
    return Classifier()


@exercise.misconception(
    model_at_start,
    "Your head starts large: it has a number above 0.5. Its first predictions are confident and random, and so are its first gradients, "
    "which change the whole body. Start with zeros or small numbers.")
def large_head(body):
    model = model_at_start.original(body)
    nn.init.normal_(model.head.weight)
    return model


@exercise.misconception(
    model_at_start,
    "Your head is applied to another place than the first: the last one, padding, or a mean over several. It is applied to the vector of "
    "[CLS], encoder(tokens)[:, 0], in training and on valid.")
def elsewhere(body):
    model = MeanOfAll()
    model.load_state_dict(body, strict=False)
    return model


class MeanOfAll(Classifier):
    """Its head is applied to the mean of all places, padding among them."""

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.states(tokens, mask=tokens != PAD)[-1].mean(1))


@exercise.misconception(
    tuned,
    "After all steps the body is as it was given, and the head predicts no class. Either no update reaches them, or none makes the "
    "validation loss smaller: print it at each look. A rate that is much too large does that, and so does a step uphill.")
def stays(model, train, valid, steps):
    for parameter in model.head.parameters():
        nn.init.zeros_(parameter)
    return weights(model)


@exercise.misconception(
    tuned,
    "Your head is trained, and the body is as it was given: frozen. Its vector of [CLS] does not hold what this task needs. Give the "
    "optimizer the body's parameters too, and let gradients reach them.")
def frozen(model, train, valid, steps):
    return best(looks(model, train, valid, steps, rate=0.03, head_alone=True))


@exercise.misconception(
    tuned,
    "You train on the validation sentences: vectors of words that occur in them alone have moved. Then their loss says nothing about new "
    "sentences any more, and cannot be used to choose weights. Choose with valid; train on train.")
def on_valid(model, train, valid, steps):
    return tuned.original(model, tuple(map(torch.cat, zip(train, valid))), valid, steps)


@exercise.misconception(
    tuned,
    "Your weights are far from those of body, so what was learned in pre-training is lost. Take a rate that is ten to a hundred times "
    "smaller.")
def hot(model, train, valid, steps):
    return looks(model, train, valid, steps, rate=0.3)[-1][1]


@exercise.misconception(
    tuned,
    "On the validation sentences, the weights that you return are far worse than the start: they are the weights of the last step, or not "
    "chosen by these sentences. Keep a copy of the weights at each look that is the best so far, and return that.")
def last_weights(model, train, valid, steps):
    return looks(model, train, valid, steps)[-1][1]


@exercise.misconception(
    loss_of,
    "For a sentence that has one class three times in four, your model gives that class nearly all the probability. The cross-entropy of "
    "logits is least at 0.75. F.cross_entropy takes logits: with a softmax before it, it is another loss.")
def softmax_twice(model, x, y):
    return F.cross_entropy(model(x).softmax(-1), y)


@exercise.misconception(
    batch,
    "Your model predicts how frequent each class is, and not which sentence has it: the rows of sentences and classes do not belong "
    "together. Draw one set of indices and use it for both.")
def torn(x, y):
    return x[torch.randint(len(x), (16,))], y[torch.randint(len(x), (16,))]


def model_of(run, body: dict[str, Tensor], train: tuple, valid: tuple, steps: int) -> Classifier | Fault:
    """The library's model with the weights that a call gives, or what is wrong with them."""
    with torch.enable_grad():
        weights = run(body, train, valid, steps)
    model = Classifier()
    wanted = model.state_dict()
    if not isinstance(weights, dict) or not all(isinstance(tensor, Tensor) for tensor in weights.values()):
        return Fault("Your function should return weights, a dict of tensors: those of body under their names, and the head's.", None,
                     "wrong_shape")
    for name in sorted({*wanted, *map(str, weights)}):
        if name not in weights or name not in wanted:
            return Fault(f"The weights have {'no ' if name in wanted else ''}{name[:60]}; asked for are the names of body, head.weight "
                         "and head.bias.", None, "wrong_shape")
        if weights[name].shape != wanted[name].shape or weights[name].is_complex():
            return Fault(f"{name} has shape {tuple(weights[name].shape)}; expected {tuple(wanted[name].shape)}.", None, "wrong_shape")
    if not all(tensor.isfinite().all() for tensor in weights.values()):
        return Fault("Some of your weights are NaN or infinite. Train with a smaller learning rate.")
    model.load_state_dict(weights)
    return model.eval()


@exercise.property("the start: body as given, a small head", points=2)
@torch.no_grad()
def start(run, generator, solve):
    body, train, valid, _ = drawn(generator)
    model = model_of(run, body, train, valid, 0)
    if isinstance(model, Fault):
        return model
    moved = [name for name, tensor in model.state_dict().items() if name in body and not torch.allclose(tensor, body[name], atol=1e-6)]
    if moved:
        return Fault(f"With steps = 0, the start is asked for; {len(moved)} of the {len(body)} tensors of body are not as they were "
                     f"given, {moved[0]} the first.", "fresh_body" if distance(model, body) > 0.5 else None)
    largest = max(float(tensor.abs().max()) for tensor in model.head.parameters())
    if largest > SMALL:
        return Fault(f"At the start the head has a number of size {largest:.2f}; {SMALL} is the largest that is allowed.", "large_head")
    return None


def distance(model: Classifier, body: dict[str, Tensor]) -> float:
    """How far the model's body is from the given one, as a share of the given one's norm."""
    held = model.state_dict()
    squares = [((held[name] - tensor).square().sum(), tensor.square().sum()) for name, tensor in body.items()]
    return float((sum(gap for gap, _ in squares) / sum(norm for _, norm in squares)).sqrt())


def not_fine_tuned(model: Classifier, body: dict[str, Tensor], train: tuple[Tensor, Tensor]) -> Fault | None:
    """What is wrong with how far the body is from the given one, whatever the model says."""
    held = model.state_dict()
    same = [name for name, tensor in body.items() if torch.equal(held[name].float(), tensor)]
    if len(same) == len(body):
        nats = float(F.cross_entropy(model(train[0]), train[1]))
        return Fault("After all updates the body is as it was given.", "frozen" if nats < TRAINED else "stays" if nats > UNTRAINED else None)
    if same:
        return Fault(f"After all updates {len(same)} of the {len(body)} tensors of body are as they were given, {same[0]} the first. "
                     "Everything is trained: does the optimizer have them all?")
    if (far := distance(model, body)) > 1.5:
        return Fault(f"After all updates the body is {far:.1f} times its own size away from where it was.", "hot")
    return None


@exercise.property("what the labels say", points=1)
@torch.no_grad()
def labels_learned(run, generator, solve):
    body, (x, _), _, _ = drawn(generator)
    a, b, c = torch.randperm(CLASSES, generator=generator)[:3].tolist()
    first, second = x[torch.randperm(len(x), generator=generator)[:2]]
    rows = torch.randperm(32, generator=generator)
    train = torch.stack([first] * 16 + [second] * 16)[rows], torch.tensor([a] * 12 + [b] * 4 + [c] * 16)[rows]
    model = model_of(run, body, train, train, 100)
    if isinstance(model, Fault):
        return model
    if fault := not_fine_tuned(model, body, train):
        return fault
    p = model(torch.stack([first, second])).softmax(-1)                                                  # (2, classes)
    if 0.52 <= p[0, a] <= 0.96 and p[1, c] >= 0.6:
        return None
    shares = torch.bincount(train[1], minlength=CLASSES) / len(rows)                                # (classes,) of the labels
    why = "torn" if bool(((p - shares).abs() < 0.18).all()) and distance(model, body) > 0.025 else \
        "softmax_twice" if p[0, a] > 0.96 and p[1, c] > 0.9 else None
    return Fault(f"Of two sentences the one has class {a} 12 times and class {b} 4 times, the other class {c} always; valid is the same. "
                 f"After 100 updates your model gives {p[0, a]:.2f} for class {a} of the first, where about 0.75 is right, and "
                 f"{p[1, c]:.2f} for class {c} of the second." + (" Are the updates too small?" if p.max() < 0.6 else ""), why)


@exercise.property("all of it is trained, on train alone", points=1)
@torch.no_grad()
def whole(run, generator, solve):
    body, train, valid, _ = drawn(generator)
    model = model_of(run, body, train, valid, 100)
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
    body, D = {name: tensor.clone() for name, tensor in body.items()}, WIDTH
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
    model = model_of(run, body, task.train, task.train, 20)
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
    model = model_of(run, body, (x, (y + 1) % CLASSES), (x, y), 100)
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
    model = model_of(run, body, train, valid, STEPS)
    if isinstance(model, Fault):
        return model
    right = share(model(x).argmax(1) == y)
    if right >= SHARE:
        return None
    known = share(model(train[0]).argmax(1) == train[1])
    return Fault(f"{right:.0%} of {NEW} new sentences are classified correctly; {SHARE:.0%} are asked for. Of the sentences in train it is "
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
