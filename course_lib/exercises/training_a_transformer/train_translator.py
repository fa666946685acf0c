"""A translator trained to whole sentences: the learner writes the training, the library's Transformer translates with it."""
from __future__ import annotations

import math
from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.data.toy_translation import BOS, EOS, PAD, draw_pairs, to_ids, vocabularies
from course_lib.decoding import greedy
from course_lib.exercises.draws import integer
from course_lib.grading.checks import Fault
from course_lib.grading.exercise import Exercise
from course_lib.transformer.transformer import Transformer, TransformerConfig

exercise = Exercise(
    "train_translator", chapter="training-a-transformer", place=8, title="Train a translator",
    contract="source (N, S) and target (N, T) are sentences of the chapter's small language as whole numbers, 0 after the end of a "
             "row; a target ends with 2. words is the pair of the sizes of the two vocabularies. Train Translator(*words), as the "
             "notebook gives it; its decoder reads 1 before the first word. Return its state_dict(). The library's Transformer with "
             "these weights translates 200 new sentences, word by word. To reach: 80 % of the words, given the right ones before; "
             "then 95 % of whole sentences. Your function has 40 seconds on one core.",
    points=["encoder-decoder", "teacher-forcing"], difficulty=3, minutes=40, kind="train", deadline=40.0)

PAIRS, ASKED, WORDS, WHOLE = 3000, 200, 0.8, 0.95
STEPS, BATCH = 110, 64
PAD_ID, BOS_ID, EOS_ID = (vocabularies()[0].id(symbol) for symbol in (PAD, BOS, EOS))                 # 0, 1, 2 in both


@exercise.step
def train(model, source, before, after, steps=STEPS, maximize=False):
    """Predict `after` (N, T) from the source and from `before` (N, T), the words that the decoder reads."""
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, maximize=maximize)
    for _ in range(steps):
        rows = torch.randint(len(source), (BATCH,))
        logits = predicted(model, source[rows], before[rows])
        loss = F.cross_entropy(logits.flatten(0, 1), after[rows].flatten(), ignore_index=PAD_ID)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@exercise.reference()
def train_translator_reference(source, target, words):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = translator(words)
        train(model, source, shifted(target), target)
    return dict(model.state_dict())


@exercise.misconception(
    train,
    "Your norms have their initial values, every gamma 1 and every beta 0, so no step of an optimizer has changed this model.")
def untrained(model, source, before, after):
    pass


@exercise.misconception(
    train,
    "Your model assigns the right words less probability than a uniform guess among all words: you ascend the loss. Minimize "
    "it.")
def uphill(model, source, before, after):
    train.original(model, source, before, after, steps=25, maximize=True)


@exercise.misconception(
    train,
    "Your model repeats the word that it has just read, because in training its decoder was given the target itself. The "
    "input for word t is the start sign 1 and the words up to t - 1.")
def not_shifted(model, source, before, after):
    train.original(model, source, after, after, steps=60)


@exercise.misconception(
    train,
    "Your model continues well after the first word, but it does not predict the first word. In training it never read the "
    "start sign: give the decoder 1, then the target without its last place.")
def no_start(model, source, before, after):
    train.original(model, source, before[:, 1:], after[:, 1:])


@exercise.misconception(
    train,
    "Your model hardly depends on its source: with another sentence in its place it predicts much the same words. Rows of "
    "source and target must stay pairs, so use one set of indices for both. Check as well whether your loss still falls.")
def source_unread(model, source, before, after):
    train.original(model, source[torch.randperm(len(source))], before, after, steps=60)


@exercise.misconception(
    train,
    "Your model predicts the words but not the end of a sentence: after the last word it should predict the end sign 2. That "
    "sign belongs in the loss, which leaves out 0 alone.")
def no_end(model, source, before, after):
    train.original(model, source, before, after.masked_fill(after == EOS_ID, PAD_ID))


def translator(words: tuple[int, int]) -> Transformer:
    """The library's model of the size that the notebook gives."""
    return Transformer(TransformerConfig(*words, pad_id=PAD_ID, bos_id=BOS_ID, eos_id=EOS_ID, d_model=64, heads=4, d_ff=128,
                                         encoder_layers=1, decoder_layers=1, dropout=0.0, norm="pre"))


def predicted(model: Transformer, source: Tensor, before: Tensor) -> Tensor:
    """Logits (B, T, V) of what follows each of the words `before` (B, T), whatever they are."""
    return model.logits(model.decode(before, *model.encode(source)))


def drawn(generator) -> tuple[Tensor, ...]:
    """Pairs to train on, and others that are none of them."""
    return tuple(tensor.clone() for tensor in pairs_of(integer(generator, 0, 2**31)))


@lru_cache(4)
def pairs_of(seed: int) -> tuple[Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    pairs = draw_pairs(PAIRS, generator)
    known = {pair.source for pair in pairs}
    new = [pair for pair in draw_pairs(4 * ASKED, generator) if pair.source not in known][:ASKED]
    return *to_ids(pairs), *to_ids(new)


def learnt(run, source: Tensor, target: Tensor) -> Transformer | Fault:
    """The library's model with the weights that the learner's training gives, or what is wrong with them."""
    words = tuple(map(len, vocabularies()))
    model, weights = translator(words), run(source, target, words)
    wanted = model.state_dict()
    if not isinstance(weights, dict) or not all(isinstance(weight, Tensor) for weight in weights.values()):
        return Fault("Your function should return the weights of a Translator, a dict of tensors: model.state_dict().", None,
                     "wrong_shape")
    for name in sorted({*wanted, *weights}):
        if name not in weights or name not in wanted:
            return Fault(f"The weights have {'no ' if name in wanted else ''}{str(name)[:60]}; those of a Translator(*words) "
                         f"{'have' if name in wanted else 'do not'}.", None, "wrong_shape")
        if weights[name].shape != wanted[name].shape or weights[name].is_complex():
            return Fault(f"{name} has shape {tuple(weights[name].shape)}; in a Translator(*words) it has {tuple(wanted[name].shape)}.",
                         None, "wrong_shape")
    if not all(weight.isfinite().all() for weight in weights.values()):
        return Fault("Some of your weights are NaN or infinite. Train with a smaller learning rate.")
    model.load_state_dict(weights)
    return model.eval()


@exercise.property(f"{WORDS:.0%} of the words, given those before", points=2)
@torch.no_grad()
def word_by_word(run, generator, solve):
    source, target, new, wanted = drawn(generator)
    with torch.enable_grad():
        model = learnt(run, source, target)
    if isinstance(model, Fault):
        return model
    logits, word = predicted(model, new, shifted(wanted)), wanted > EOS_ID
    right = share((logits.argmax(-1) == wanted)[word])
    if right >= WORDS:
        return None
    nats = float(F.cross_entropy(logits[word], wanted[word]))
    return Fault(f"Given the right words before, {right:.0%} of the words of new sentences are predicted; {WORDS:.0%} are asked for. "
                 f"A word costs {nats:.2f} nats, a guess among all words {math.log(logits.shape[-1]):.2f}.",
                 why_not(model, new, wanted, logits, nats))


def why_not(model: Transformer, source: Tensor, wanted: Tensor, logits: Tensor, nats: float) -> str | None:
    """The misconception that the model's behaviour shows, if it shows one."""
    norms = [parameter for name, parameter in model.named_parameters() if name.endswith(("gamma", "beta"))]
    if all(torch.equal(norm, norm.round()) for norm in norms):
        return "untrained"
    word, guess = wanted > EOS_ID, math.log(logits.shape[-1])
    below = logits < logits.gather(-1, wanted[..., None])                                      # less likely than the right word
    if nats > guess and share(below[word]) < 0.3:
        return "uphill"
    if share((predicted(model, source, wanted).argmax(-1) == wanted)[word]) > 0.8:             # of what it reads
        return "not_shifted"
    if lacks_its_start(model, source, wanted):
        return "no_start"
    elsewhere = predicted(model, source.roll(1, 0), shifted(wanted))
    moved = (logits.softmax(-1) - elsewhere.softmax(-1)).abs().sum(-1)[word].mean() / 2
    return "source_unread" if float(moved) < 0.1 and nats < guess - 1 else None


def lacks_its_start(model: Transformer, source: Tensor, wanted: Tensor) -> bool:
    """Whether the model goes on well from a first word that stands in the start sign's place, and does not find that word."""
    going_on = (predicted(model, source, wanted[:, :-1]).argmax(-1) == wanted[:, 1:])[wanted[:, 1:] > EOS_ID]
    first = (predicted(model, source, shifted(wanted)).argmax(-1) == wanted)[:, 0]
    return share(going_on) > 0.9 and share(first) < 0.8


def shifted(target: Tensor) -> Tensor:
    """What stands before each place of the target: the start sign, and all but the last."""
    return F.pad(target[:, :-1], (1, 0), value=BOS_ID)


def share(flags: Tensor) -> float:
    return float(flags.double().mean())


@exercise.property(f"{WHOLE:.0%} of whole sentences", points=3)
@torch.no_grad()
def whole(run, generator, solve):
    source, target, new, wanted = drawn(generator)
    with torch.enable_grad():
        model = learnt(run, source, target)
    if isinstance(model, Fault):
        return model
    T = wanted.shape[1]
    decoded = greedy(model, length=T, context=new, eos_id=EOS_ID)
    written = decoded.tokens.masked_fill(torch.arange(decoded.tokens.shape[1]) >= decoded.length[:, None], PAD_ID)
    right = float((F.pad(written, (0, T - written.shape[1]), value=PAD_ID) == wanted).all(1).double().mean())
    if right >= WHOLE:
        return None
    word = wanted > EOS_ID
    correct = predicted(model, new, shifted(wanted)).argmax(-1) == wanted
    words, ends = share(correct[word]), share(correct[wanted == EOS_ID])
    return Fault(f"{right:.0%} of the new sentences are translated without a mistake; {WHOLE:.0%} are asked for. Given the right words "
                 f"before, {words:.1%} of the words are predicted and {ends:.1%} of the ends.",
                 "no_end" if words > 0.9 and ends < 0.1 else "no_start" if lacks_its_start(model, new, wanted) else None)


exercise.hint(
    "You do not know what the decoder should read.",
    "While word t is predicted, it has the words before it: F.pad(target[:, :-1], (1, 0), value=1) is the start sign and then the "
    "target, one place to the right. What it should say is target.")
exercise.hint(
    "The loss falls, and the sentences are wrong.",
    "Look at one sentence by eye: argmax of the logits beside the target. One place off? The first word? The last? What comes "
    "after the end is 0, and counts for nothing: F.cross_entropy(..., ignore_index=0) leaves it out.")
exercise.hint(
    "It takes too long, or does not get there.",
    "A hundred and fifty steps of Adam at 0.003 with 64 rows each are enough. The loss of a batch comes below 0.05 then.")
