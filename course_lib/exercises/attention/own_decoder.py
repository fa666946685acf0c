"""A decoder with attention of one's own: it keeps the contract, equals the library's, and learns to turn words around."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Categorical
from course_lib.contract import ContractError, check_all
from course_lib.exercises.building import judged, reaches, stepwise_log_prob
from course_lib.exercises.draws import integer, normal, uneven
from course_lib.grading.checks import Fault, Stop
from course_lib.grading.exercise import Exercise
from course_lib.grading.protocol.calls import Outcome
from course_lib.grading.proxy import Proxy
from course_lib.recurrent.scores import AdditiveScore

exercise = Exercise(
    "OwnDecoder", chapter="attention", place=4, title="A decoder with attention of your own",
    contract="A class OwnDecoder(AutoregressiveModel), made with symbols V, hidden H and bos_id, whose family is "
             "Categorical(symbols). Its parameters have the names and shapes that the notebook lists: tables source and target, "
             "nn.GRU layers encoder (both directions) and decoder, a layer bridge, W (H, H), U (H, 2H) and v (H,) of the "
             "additive score, a layer head. context (B, S) holds the source, x (B, T) the target, whole numbers. The encoder reads "
             "the whole source; the decoder starts from tanh(bridge([forward; backward])), the states with which the two directions "
             "end, and reads the target shifted by one, bos_id first. Each state h_t of the decoder looks at all states of the "
             "encoder by the additive score, and head reads [h_t; c_t]. weights(x, context) returns the shares (B, T, S), "
             "conditionals(x, context) every factor. fit(pairs), pairs (N, 2, S): sources pairs[:, 0] with their targets "
             "pairs[:, 1], words and the same words turned around; afterwards minus log_prob of the target of a new source is 0.7 nats at "
             "most, on average, in 20 seconds on one core. The library's attention, its check_all and new words judge the class.",
    points=["seq2seq-attention"], difficulty=4, minutes=60, kind="build", deadline=20.0)

SYMBOLS, HIDDEN, LENGTH, PAIRS = 7, 32, 8, 1024                      # of the model that is trained, symbol 0 its start
GAP = 0.7                                                            # nats per new word: its source determines it


@exercise.class_reference()
class OwnDecoder(AutoregressiveModel):
    """A GRU that attends to a bidirectional GRU by the additive score."""

    def __init__(self, symbols, hidden, bos_id):
        super().__init__(None, Categorical(symbols))
        self.bos_id = bos_id
        self.source, self.target = nn.Embedding(symbols, hidden), nn.Embedding(symbols, hidden)
        self.encoder = nn.GRU(hidden, hidden, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(2 * hidden, hidden)
        self.decoder = nn.GRU(hidden, hidden, batch_first=True)
        self.W, self.U, self.v = AdditiveScore(hidden, 2 * hidden).parameters()
        self.head = nn.Linear(3 * hidden, symbols)

    def check_context(self, context, batch):
        pass

    def conditionals(self, x, context=None):
        memory, h, weights = self.attended(x, context)
        return self.conditional(self.head(self.joined(h, weights @ memory)))

    def weights(self, x, context):
        return self.attended(x, context)[2]

    @exercise.step
    def attended(self, x, context):
        """The encoder's states (B, S, 2H), the decoder's (B, T, H), and the attention weights (B, T, S)."""
        memory, _, h = self.states(x, context)
        return memory, h, self.attention_weights(h, memory)

    def states(self, x, context):
        """Of the encoder; of the decoder, the initial one (B, H) and those after each symbol."""
        memory, ends = self.encoder(self.source(context.long()))               # (B, S, 2H), (2, B, H)
        first = self.initial_state(memory, ends)
        return memory, first, self.decoder(self.target(self.shifted(x.long())), first[None])[0]

    @exercise.step
    def initial_state(self, memory, ends):
        return self.bridge(torch.cat([*ends], dim=1)).tanh()                   # (B, H)

    @exercise.step
    def shifted(self, x):
        return F.pad(x[:, :-1], (1, 0), value=self.bos_id)

    def attention_weights(self, queries, memory):
        return self.softmax(self.scores((queries @ self.W.T)[:, :, None], (memory @ self.U.T)[:, None]))

    @exercise.step
    def scores(self, query, key):
        return (query + key).tanh() @ self.v                                   # (B, T, S)

    @exercise.step
    def softmax(self, scores):
        return scores.softmax(dim=2)

    @exercise.step
    def joined(self, h, c):
        return torch.cat([h, c], dim=2)

    def fit(self, pairs):
        generator = torch.Generator().manual_seed(0)
        batches = [rows for _ in range(10) for rows in torch.randperm(len(pairs), generator=generator).split(32)]
        optimizer = torch.optim.Adam(self.parameters(), lr=0.015)
        for k, rows in enumerate(batches):
            optimizer.param_groups[0]["lr"] = 0.015 * (1 - k / len(batches))
            loss = -self.log_prob(pairs[rows, 1], pairs[rows, 0]).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.parameters(), 1.0)
            optimizer.step()


@exercise.misconception(
    OwnDecoder.shifted,
    "Your factor of x_t depends on x_t itself: the decoder reads the target shifted by one, bos_id first.")
def reads_itself(self, x):
    return x


@exercise.misconception(
    OwnDecoder.shifted,
    "At its first step your decoder reads the last symbol of the target, which is not generated yet: your shift is circular. The "
    "first symbol that it reads is bos_id.")
def reads_the_end(self, x):
    return x.roll(1, dims=1)


@exercise.misconception(
    OwnDecoder.softmax,
    "Your softmax runs over the steps of the target. For each step, the attention weights over the source positions sum to 1.")
def other_axis(self, scores):
    return scores.softmax(dim=1)


@exercise.misconception(
    OwnDecoder.scores,
    "Your score has no tanh. Without it the decoder's state has no effect: it adds the same to the scores of all positions.")
def no_tanh(self, query, key):
    return (query + key) @ self.v


@exercise.misconception(
    OwnDecoder.attended,
    "Your h_t is one step late: the attention weights of step t come from h_(t-1). Here they come from h_t itself.")
def looks_before(self, x, context):
    memory, first, h = self.states(x, context)
    return memory, h, self.attention_weights(torch.cat([first[:, None], h[:, :-1]], dim=1), memory)


@exercise.misconception(
    OwnDecoder.initial_state,
    "Your initial state takes both halves of the encoder's output at the last position. There the backward direction has read one "
    "symbol: take the states with which the two directions end, as nn.GRU returns them second.")
def last_column(self, memory, ends):
    return self.bridge(memory[:, -1]).tanh()


@exercise.misconception(OwnDecoder.initial_state, "Your initial state has no tanh: the decoder begins with tanh(bridge(...)).")
def no_bridge_tanh(self, memory, ends):
    return self.bridge(torch.cat([*ends], dim=1))


@exercise.misconception(OwnDecoder.joined, "Your head takes [c_t; h_t]. h_t comes first.")
def swapped(self, h, c):
    return torch.cat([c, h], dim=2)


def small_model(generator, B: int, S: int, T: int) -> tuple[dict, dict[str, Tensor], Tensor, Tensor]:
    """The config of a small model, its parameters, targets (B, T) and sources (B, S)."""
    V, H = uneven(generator, (5, 7), (3, 4))
    config = {"symbols": V, "hidden": H, "bos_id": integer(generator, 1, V - 1)}
    weights = {name: normal(generator, *parameter.shape, scale=0.8)
               for name, parameter in OwnDecoder(**config).named_parameters()}
    x, context = (torch.randint(V, (B, n), generator=generator) for n in (T, S))
    return config, weights, x, context


def likelihoods(generator):
    return [("log_prob", *small_model(generator, *sizes)) for sizes in ((3, 5, 4), (2, 3, 6), (1, 6, 1), (2, 1, 3))]


def weight_cases(generator):
    return [("weights", *small_model(generator, *sizes)) for sizes in ((2, 5, 3), (3, 2, 4), (1, 4, 1), (2, 4, 4))]


def reversed_words(generator):
    """Pairs of words for training, and the loss on new ones, in nats per word.

    Half of the symbols stand in a word's first half alone, the others in its second half: reversal is its own inverse, so with
    all symbols in both halves a model trained with source and target exchanged would learn the same.
    """
    first = torch.tensor([1] * (LENGTH // 2) + [1 + SYMBOLS // 2] * (LENGTH // 2))                # the smallest symbol of each position

    def pairs(num: int) -> Tensor:
        source = first + torch.randint(SYMBOLS // 2, (num, LENGTH), generator=generator)
        return torch.stack([source, source.flip(1)], dim=1)

    train, (sources, targets) = pairs(PAIRS), pairs(250).unbind(1)

    def loss(model: Proxy) -> float:
        return float(-stepwise_log_prob(model, targets, sources).mean())

    return {"symbols": SYMBOLS, "hidden": HIDDEN, "bos_id": 0}, train, loss


exercise.compare("weights are the library's", weight_cases, points=3)
exercise.compare("log_prob, given the source", likelihoods, points=3)
exercise.slopes("gradient", lambda generator: likelihoods(generator)[:2], points=1)


@judged(exercise, "keeps the contract", 2, among=())
def contract(run, generator):
    config = {"symbols": 3, "hidden": integer(generator, 2, 4), "bos_id": integer(generator, 0, 2)}
    model = Proxy(run, run("make", config, None), 3)
    sources = torch.randint(3, (2, 4), generator=generator)
    try:
        check_all(model, length=3, context=sources, seed=integer(generator, 0, 2 ** 31 - 1))
    except ContractError as broken:
        return Fault(f"check_all says: {broken}.")
    except (TypeError, ValueError) as problem:                       # it cannot be asked
        raise Stop(Outcome("error", detail=str(problem))) from None
    return None


reaches(exercise, "new words are turned around", 4, reversed_words, GAP, than="nats a word")
exercise.hint(
    "The names of the parameters do not fit.",
    "nn.Embedding(symbols, hidden) under self.source gives source.weight; nn.GRU(hidden, hidden, batch_first=True, "
    "bidirectional=True) under self.encoder gives the eight of the encoder. W, U and v are nn.Parameter of the shapes "
    "(H, H), (H, 2H) and (H,), drawn at random.")
exercise.hint(
    "The shares are not those expected.",
    "memory, last = self.encoder(...) gives (B, S, 2H) and (2, B, H): last[0] and last[1] are what the two directions end with. "
    "h (B, T, H) and memory get an axis each: (h @ W.T)[:, :, None] + (memory @ U.T)[:, None] is (B, T, S, H). Then tanh, @ v, "
    "and a softmax over the last axis.")
exercise.hint(
    "check_all says that a factor reads what it predicts.",
    "F.pad(x[:, :-1], (1, 0), value=self.bos_id) is the target shifted by one: at step t the decoder reads x_(t-1).")
exercise.hint(
    "fit ends well above what is asked.",
    "Some hundred steps of Adam on 32 pairs each, a rate near 0.01 that falls, gradients clipped at 1. The loss is "
    "-self.log_prob(targets, sources).mean(). Look at the shares of a word that was trained "
    "on: they should lie on the other diagonal.")
