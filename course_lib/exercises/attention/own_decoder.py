"""A decoder with attention of one's own: it keeps the contract, equals the library's, and learns to turn words around."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Categorical
from course_lib.contract import ContractError, check_all
from course_lib.exercises.building import judged, reaches
from course_lib.exercises.draws import integer, normal, uneven
from course_lib.grading.checks import Fault, Stop
from course_lib.grading.exercise import Exercise
from course_lib.grading.protocol.calls import Outcome
from course_lib.grading.proxy import Proxy
from course_lib.recurrent.scores import AdditiveScore, context_of, weights_of

exercise = Exercise(
    "OwnDecoder", chapter="12", place=4, title="A decoder with attention of your own",
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
GAP = 0.7                                                            # nats that a new word may cost: its source tells all of it


@exercise.class_reference(
    reads_itself="Your factor of x_t has read x_t: the decoder reads the target shifted by one, bos_id first.",
    from_symbol_0="Your decoder begins with symbol 0. It begins with bos_id.",
    reads_the_end="At its first step your decoder reads the last symbol of the target, which is not written yet: your shift goes "
                  "round in a circle. The first symbol that it reads is bos_id.",
    one_vector="Your shares lie on the last place of the source: c is one state of the encoder, whatever is written.",
    mean="Your shares are equal: the scores are not used.",
    other_axis="Your softmax runs over the steps of the target. For each step, the shares of the source's places sum to 1.",
    no_tanh="Your score has no tanh. Without it the decoder's state does not matter: it adds the same to all places.",
    looks_before="Your h_t looks one step late: the shares of step t come from h_(t-1). Here they come from h_t itself.",
    last_column="Your start takes both halves of the encoder's output at the last place. There the backward direction has read one "
                "symbol: take the states with which the two directions end, as nn.GRU returns them second.",
    no_bridge_tanh="Your start has no tanh: the decoder begins with tanh(bridge(...)).",
    starts_at_zero="Your decoder starts from zeros. It starts from tanh(bridge(...)) of what the encoder ends with.",
    no_state="Your head does not read h_t: it reads [h_t; c_t].",
    no_context="Your head does not read c_t: it reads [h_t; c_t].",
    swapped="Your head reads [c_t; h_t]. h_t comes first.",
    one_direction="Your encoder reads forward only: the backward half of its states is not used.",
    untrained="After fit, the model is as it was: the parameters of the model itself must change.",
    uphill="Your fit climbs the loss: minimise minus the log-likelihood.",
)
def own_decoder(bugs):
    class OwnDecoder(AutoregressiveModel):
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

        def looked(self, x: Tensor, context: Tensor) -> tuple[Tensor, Tensor]:
            """[h_t; c_t] (B, T, 3H) and the shares (B, T, S)."""
            memory, last = self.encoder(self.source(context.long()))           # (B, S, 2H), (2, B, H)
            H = last.shape[2]
            if "one_direction" in bugs:
                memory = torch.cat([memory[..., :H], torch.zeros_like(memory[..., H:])], dim=2)
            ends = memory[:, -1] if "last_column" in bugs else torch.cat([last[0], last[1]], dim=1)
            first = self.bridge(ends) if "no_bridge_tanh" in bugs else self.bridge(ends).tanh()
            first = torch.zeros_like(first) if "starts_at_zero" in bugs else first
            read = F.pad(x.long()[:, :-1], (1, 0), value=0 if "from_symbol_0" in bugs else self.bos_id)
            read = x.long().roll(1, dims=1) if "reads_the_end" in bugs else read
            h, _ = self.decoder(self.target(x.long() if "reads_itself" in bugs else read), first[None])
            shares = self.shares(torch.cat([first[:, None], h[:, :-1]], 1) if "looks_before" in bugs else h, memory)
            c = context_of(shares, memory)
            h = torch.zeros_like(h) if "no_state" in bugs else h
            c = torch.zeros_like(c) if "no_context" in bugs else c
            return torch.cat([c, h] if "swapped" in bugs else [h, c], dim=2), shares

        def shares(self, h: Tensor, memory: Tensor) -> Tensor:
            if "mean" in bugs:
                return memory.new_full((*h.shape[:2], memory.shape[1]), 1 / memory.shape[1])
            if "one_vector" in bugs:
                return F.one_hot(torch.full(h.shape[:2], memory.shape[1] - 1)).to(memory)
            parts = {"W": self.W, "U": self.U, "v": self.v}
            if "no_tanh" in bugs:
                scores = ((h @ self.W.T)[:, :, None] + (memory @ self.U.T)[:, None]) @ self.v
            else:
                score = AdditiveScore(h.shape[2], memory.shape[2])
                scores = torch.func.functional_call(score, parts, (h, memory))
            return scores.softmax(dim=1) if "other_axis" in bugs else weights_of(scores)

        def conditionals(self, x, context=None):
            return self.conditional(self.head(self.looked(x, context)[0]))

        def weights(self, x, context):
            return self.looked(x, context)[1]

        def fit(self, pairs):
            if "untrained" in bugs:
                return
            draw = torch.Generator().manual_seed(0)
            steps = [rows for _ in range(10) for rows in torch.randperm(len(pairs), generator=draw).split(32)]
            optimizer = torch.optim.Adam(self.parameters(), lr=0.015, maximize="uphill" in bugs)
            for k, rows in enumerate(steps[:8] if bugs else steps):
                optimizer.param_groups[0]["lr"] = 0.015 * (1 - k / len(steps))
                loss = -self.log_prob(pairs[rows, 1], pairs[rows, 0]).mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.parameters(), 1.0)
                optimizer.step()

    return OwnDecoder


def made(generator, B: int, S: int, T: int) -> tuple[dict, dict[str, Tensor], Tensor, Tensor]:
    """How a small one is made, its parameters, targets (B, T) and sources (B, S)."""
    V, H = uneven(generator, (5, 7), (3, 4))
    config = {"symbols": V, "hidden": H, "bos_id": integer(generator, 1, V - 1)}
    weights = {name: normal(generator, *parameter.shape, scale=0.8)
               for name, parameter in own_decoder(frozenset())(**config).named_parameters()}
    x, context = (torch.randint(V, (B, n), generator=generator) for n in (T, S))
    return config, weights, x, context


def likelihoods(generator):
    return [("log_prob", *made(generator, *sizes)) for sizes in ((3, 5, 4), (2, 3, 6), (1, 6, 1), (2, 1, 3))]


def looks(generator):
    return [("weights", *made(generator, *sizes)) for sizes in ((2, 5, 3), (3, 2, 4), (1, 4, 1))]


def turned_around(generator):
    """Words to train on, and what new ones cost, in nats.

    Half of the symbols stand in a word's first half alone, the others in its second: to turn around is its own inverse, and with
    words of all symbols a model that was given source for target would learn the same.
    """
    first = torch.tensor([1] * (LENGTH // 2) + [1 + SYMBOLS // 2] * (LENGTH // 2))                # the smallest symbol of each place

    def pairs(num: int) -> Tensor:
        source = first + torch.randint(SYMBOLS // 2, (num, LENGTH), generator=generator)
        return torch.stack([source, source.flip(1)], dim=1)

    train, (sources, targets) = pairs(PAIRS), pairs(250).unbind(1)

    def cost(learnt: Proxy) -> float:
        return float(-learnt.log_prob(targets, sources).double().detach().mean())

    return {"symbols": SYMBOLS, "hidden": HIDDEN, "bos_id": 0}, train, cost


exercise.compare("weights are the library's", looks, points=3)
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


reaches(exercise, "new words are turned around", 4, turned_around, GAP, among=("untrained", "uphill"), than="nats a word")
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
