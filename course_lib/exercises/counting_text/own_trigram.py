"""An interpolated trigram model, in bits per character, unknown characters included."""
from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Categorical
from course_lib.counting.ngram import NGram
from course_lib.exercises.building import keeps_the_contract, reaches, stepwise_log_prob
from course_lib.exercises.draws import integer, normal
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "OwnTrigram", chapter="counting-text", place=8, title="A trigram model of your own, in bits per character",
    contract="A class OwnTrigram(AutoregressiveModel) of texts of any length. train is a string; its characters, sorted, are the "
             "symbols 0 to V-2, and V-1 is any other. encode(text) gives the symbols, (T,). conditionals(x) interpolates trigram, "
             "bigram, unigram and 1/V with the weights sigmoid(mix), mix (3,) the only parameter, mix[0] of the unigram; two start "
             "symbols stand before each text. bits(text) is its mean loss in bits per character. fit(held_out) trains mix on a text that "
             "was not counted, to within 0.02 bits of the best weights, in 20 seconds on one core. The class is tested with the library's "
             "check_all and compared with its NGram.",
    points=["shannon-ngram"], difficulty=3, minutes=50, kind="build", deadline=20.0)

GAP = 0.02                      # bits per character, to the best weights
STRANGE = "#?"                  # characters that do not occur in a training text


@exercise.class_reference()
class OwnTrigram(AutoregressiveModel):
    """Trigram, bigram, unigram and uniform distribution, interpolated by weights of the history's length alone."""

    def __init__(self, train):
        symbols = sorted(set(train))
        super().__init__(None, Categorical(len(symbols) + 1))
        self.symbols, self.train_text = symbols, train
        self.register_buffer("counts", trigram_counts(self.encode(train), len(symbols) + 1))
        self.mix = nn.Parameter(torch.zeros(3))

    @exercise.step
    def encode(self, text):
        V = self.conditional.num_values
        return torch.tensor([self.symbols.index(character) if character in self.symbols else V - 1 for character in text])

    def parents(self, i):
        return list(range(max(0, i - 2), i))

    def conditionals(self, x, context=None):
        marks = x.new_full((len(x), 2), self.conditional.num_values)
        past = torch.cat([marks, x], 1)
        counts = self.counts_after(past[:, :-2], past[:, 1:-1])                # the two symbols before each, (B, T)
        return self.conditional(self.interpolated(counts).log())

    @exercise.step
    def counts_after(self, u, v):
        """How often each symbol follows anything, v, and u v: (V,), (B, T, V), (B, T, V)."""
        return self.counts.sum((0, 1)), self.counts.sum(0)[v], self.counts[u, v]

    @exercise.step
    def weights(self):
        return self.mix.sigmoid()

    @exercise.step
    def interpolated(self, counts):
        """The probabilities of the next symbol, (B, T, V)."""
        V = self.conditional.num_values
        p = torch.full((V,), 1 / V).to(self.mix)
        for weight, count in zip(self.weights(), counts):
            total = count.sum(-1, keepdim=True)
            share = torch.where(total > 0, weight, 0)                          # an unseen history has no estimate
            p = share * count / total.clamp(min=1) + (1 - share) * p
        return p

    @exercise.step
    def costs(self, text):
        """Of each character, in bits, (T,)."""
        x = self.encode(text)[None]
        return -self.conditionals(x).log_prob(x)[0] / math.log(2)

    @exercise.step
    def bits(self, text):
        return self.costs(text).mean()

    @exercise.step
    def fit(self, held_out):
        fit_weights(self, held_out)


def fit_weights(model, text, steps=120):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.2)
    for _ in range(steps):
        loss = model.costs(text).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@exercise.misconception(
    OwnTrigram.encode,
    "Your encode maps unknown characters to symbol 0, which is a known character. Unknown characters are symbol V - 1.")
def unknown_is_zero(self, text):
    return torch.tensor([self.symbols.index(character) if character in self.symbols else 0 for character in text])


@exercise.misconception(
    OwnTrigram.counts_after,
    "You look up the two symbols before x_i in the wrong order. In p(w | u, v) the symbol immediately before x_i is v.")
def swapped(self, u, v):
    return self.counts.sum((0, 1)), self.counts.sum(0)[v], self.counts[v, u]


@exercise.misconception(
    OwnTrigram.counts_after,
    "You count and score without the beginning-of-sequence tokens. "
    "The first symbol is predicted from the history (V, V), and the second from "
    "(V, x_1).")
def no_marks(self, u, v):
    unigram, bigram, trigram = OwnTrigram.counts_after.original(self, u, v)
    mark = self.conditional.num_values
    return unigram, bigram * (v < mark)[..., None], trigram * (u < mark)[..., None]


@exercise.misconception(
    OwnTrigram.counts_after,
    "Your bigrams are counted inside the text only. The first symbol follows the beginning-of-sequence token V, so the pair (V, x_1) counts too.")
def bigram_unmarked(self, u, v):
    unigram, bigram, trigram = OwnTrigram.counts_after.original(self, u, v)
    return unigram, bigram * (v < self.conditional.num_values)[..., None], trigram


@exercise.misconception(
    OwnTrigram.weights,
    "Your weights are in the wrong order. mix[0] belongs to the unigram and mix[2] to the trigram.")
def weights_turned(self):
    return self.mix.sigmoid().flip(0)


@exercise.misconception(
    OwnTrigram.interpolated,
    "You use the weights directly, but they are nested: each applies to the probability mass that the longer history leaves, so "
    "p_3 = w_3 f_3 + (1 - w_3) p_2, and p_2 likewise.")
def not_nested(self, counts):
    weights = self.weights()
    estimates = [count / count.sum(-1, keepdim=True).clamp(min=1) for count in counts]
    return sum(weight * f for weight, f in zip(weights, estimates)) + (1 - weights[0]) / self.conditional.num_values


@exercise.misconception(
    OwnTrigram.weights,
    "Your unigram is not interpolated with 1/V. The unknown symbol does not occur in train, so it has probability 0 and infinite "
    "loss.")
def no_uniform(self):
    return torch.cat([torch.ones_like(self.mix[:1]), self.mix[1:].sigmoid()])


@exercise.misconception(OwnTrigram.costs, "Your bits per character are nats per character. Divide by ln 2.")
def in_nats(self, text):
    return OwnTrigram.costs.original(self, text) * math.log(2)


@exercise.misconception(
    OwnTrigram.bits, "You leave out the first two characters. They are predicted from the beginning-of-sequence tokens "
    "and count too.")
def from_the_third(self, text):
    return self.costs(text)[2:].mean()


@exercise.misconception(
    OwnTrigram.bits,
    "After a pair u, v that does not occur in train your p_3 is (1 - w_3) p_2, which does not sum to 1. There is no f_3 there, so p_3 = p_2.")
def mass_lost(self, text):
    x = self.encode(text)
    u, v = torch.cat([x.new_full((2,), self.conditional.num_values), x]).unfold(0, 2, 1)[:-1].T
    unseen = self.counts[u, v].sum(-1) == 0
    return (self.costs(text) - unseen * (1 - self.weights()[2]).log2()).mean()


@exercise.misconception(
    OwnTrigram.fit,
    "After fit the weight of the trigram is nearly 1. This is the best weight on the training text, where all histories and symbols "
    "are known. Minimize the mean loss of held_out instead.")
def on_train(self, held_out):
    fit_weights(self, self.train_text, steps=300)


def trigram_counts(ids: Tensor, V: int) -> Tensor:
    """How often w follows u and v, (V + 1, V + 1, V), with two beginning-of-sequence tokens V before the text."""
    text = torch.cat([ids.new_full((2,), V), ids])
    counts = torch.zeros(V + 1, V + 1, V)
    return counts.index_put_((text[:-2], text[1:-1], text[2:]), torch.ones(len(ids)), accumulate=True)


def drawn(generator, letters: str, length: int, rows: Tensor | None = None) -> tuple[str, Tensor]:
    """A text in which the next letter depends on the last two, and the table that it came from."""
    V = len(letters)
    rows = torch.rand(V, V, V, generator=generator) ** 4 + 0.02 if rows is None else rows
    ids = [integer(generator, 0, V - 1), integer(generator, 0, V - 1)]
    while len(ids) < length + 2:
        ids.append(int(torch.multinomial(rows[ids[-2], ids[-1]], 1, generator=generator)))
    return "".join(letters[k] for k in ids[2:]), rows


def texts(generator):
    """A training text, whose characters do not appear in alphabetical order, and texts to score with strange characters."""
    cases = []
    for letters in ("dbac", "ecabd", "bca"):
        length = integer(generator, 40, 70)
        train, rows = drawn(generator, letters, length)
        train = letters + train + letters[0] + letters[1] * 2
        rest = [list(drawn(generator, letters, 12, rows)[0]) for _ in range(integer(generator, 2, 3))]
        rest[0][integer(generator, 2, 8)] = STRANGE[integer(generator, 0, 1)]
        rest[0][0] = letters[-1]                         # train does not begin so
        rest[0][9:11] = letters[0], letters[1]           # train ends so, once more
        rest[1][3:5] = letters[1], letters[1]
        rest[0][11] = letters[1]
        cases.append((train, ["".join(text) for text in rest]))
    return cases


def symbols(train: str, rest: list[str]) -> Tensor:
    known = sorted(set(train))
    return torch.tensor([[known.index(one) if one in known else len(known) for one in text] for text in rest])


def encodings(generator):
    return [("encode", {"train": train}, None, rest[0]) for train, rest in texts(generator)]


def likelihoods(generator):
    return [("log_prob", {"train": train}, {"mix": normal(generator, 3)}, symbols(train, rest))
            for train, rest in texts(generator)]


def costs(generator):
    return [("bits", {"train": train}, {"mix": normal(generator, 3)}, text)
            for train, rest in texts(generator) for text in rest[:2]]


def source(generator):
    """A text to count and one to fit the weights to, of which the library's weights are the best."""
    train, rows = drawn(generator, "dfbeac", 1000)
    held_out = list(drawn(generator, "dfbeac", 300, rows)[0])
    for k in (20, 90, 200):
        held_out[k] = STRANGE[0]
    held_out, V = "".join(held_out), 7
    best = NGram(n=3, vocab_size=V + 1, bos_id=V, smoothing="interpolated").fit_counts(symbols(train, [train])[0]).double()
    best.fit_weights(symbols(train, [held_out])[0], steps=200)
    own = -float(best.log_prob(symbols(train, [held_out]))) / len(held_out) / math.log(2)

    def loss(learnt) -> float:
        return -float(stepwise_log_prob(learnt, symbols(train, [held_out]))) / len(held_out) / math.log(2) - own

    return {"train": train}, held_out, loss


def shows_training_on_train(parameters: dict[str, Tensor]) -> str | None:
    return "on_train" if bool((parameters["mix"].flatten()[-1:] > 4).any()) else None


exercise.compare("symbols", encodings, points=1)
exercise.compare("log_prob is the library's", likelihoods, points=3)
exercise.slopes("gradient", likelihoods, points=1)
exercise.compare("bits per character", costs, points=2)
keeps_the_contract(exercise, lambda generator: {"train": drawn(generator, "cab", 80)[0] + "abc"}, points=3, length=4)
reaches(exercise, f"within {GAP} bits of the best weights", 2, source, GAP, than="bits per character to the best weights", why=shows_training_on_train)
exercise.hint(
    "You do not know how to count.",
    "One tensor is sufficient: counts (V + 1, V + 1, V), where V is the beginning-of-sequence token. "
    "Fill it in a loop over zip(s, s[1:], s[2:]) for the "
    "list s = [V, V, *symbols of train]. The counts of bigrams are its sum over the first axis, those of unigrams its sum over the first "
    "two. Store it with self.register_buffer.")
exercise.hint(
    "You do not know how to score a whole batch.",
    "The two symbols u and v before each symbol are columns of torch.cat([start (B, 2), x], dim=1), where start contains V. Then "
    "counts[u, v] has shape (B, T, V), for all positions at once. Divide by its sum over the last axis where the sum is not 0, and return "
    "self.conditional(p.log()). check_all samples tens of thousands of texts, so a loop over their symbols would take too long.")
exercise.hint(
    "check_all says that a factor does not depend on one of its parents.",
    "In a trigram model parents(i) is [i - 2, i - 1], with fewer positions for the first two symbols. Write this method, and give "
    "check_all a length: check_all(model, length=4).")
exercise.hint(
    "After fit the loss is far above that of the best weights.",
    "The loss is minus log_prob of the symbols of held_out as a single row, self.encode(held_out)[None]. For three parameters, 100 steps "
    "of Adam with a learning rate of 0.1 or more are sufficient.")
