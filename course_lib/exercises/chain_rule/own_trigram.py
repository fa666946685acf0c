"""An interpolated trigram of one's own, in bits a character, unknown ones included."""
from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Categorical
from course_lib.counting.ngram import NGram
from course_lib.exercises.building import keeps_the_contract, reaches
from course_lib.exercises.draws import integer, normal
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "OwnTrigram", chapter="01", place=5, title="A trigram of your own, in bits a character",
    contract="A class OwnTrigram(AutoregressiveModel) of texts of any length. train is a string; its characters, sorted, are the "
             "symbols 0 to V-2, and V-1 is any other. encode(text) gives the symbols, (T,). conditionals(x) interpolates trigram, "
             "bigram, unigram and 1/V with the weights sigmoid(mix), mix (3,) the only parameter, mix[0] of the unigram; two marks "
             "stand before each text. bits(text) is its mean cost in bits a character. fit(held_out) trains mix on a text that was "
             "not counted, to within 0.02 bits of the best weights, in 20 seconds on one core. The library's check_all and its "
             "NGram judge the class.",
    points=["shannon-ngram"], difficulty=3, minutes=50, kind="build", deadline=20.0)

GAP = 0.02                      # bits a character, to the best weights
STRANGE = "#?"                  # characters that no training text has
BY_HAND = {"swapped", "backwards", "no_marks", "start_not_counted", "weights_turned", "not_nested", "uniform_unseen", "last_history",
           "once", "no_uniform", "unknown_left_out", "no_trigram"}


@exercise.class_reference(
    by_appearance="Your symbols are numbered as they first appear. They are the sorted characters of train.",
    unknown_is_zero="Your encode takes an unknown character for symbol 0, which is a character of its own. The unknown ones are symbol "
                    "V - 1.",
    dropped="Your encode leaves out unknown characters. Each of them is symbol V - 1: a text keeps its length.",
    swapped="You look up the two symbols before x_i in the wrong order: the one just before it is the nearer one, v in p(w | u, v).",
    backwards="Your bigram is that of the symbol before last: p(w | v) is for the symbol just before w.",
    no_marks="You count and score without the marks: the first symbol is predicted from the history (mark, mark), the second from "
             "(mark, x_1).",
    start_not_counted="You do not count the beginning of train: its first two symbols follow marks, and they are counted like all "
                      "others.",
    weights_turned="Your weights are in the wrong order: mix[0] belongs to the unigram, mix[2] to the trigram.",
    not_nested="Your weights are shares of the whole. Each is a share of what the longer history leaves: "
               "p_3 = w_3 f_3 + (1 - w_3) p_2, and so on down.",
    uniform_unseen="After a history that train never shows you take 1/V at that level. All weight goes to the shorter history there.",
    last_history="You divide by how often a symbol, or a pair, stands in train. The last one of train is followed by nothing: divide "
                 "by how often something follows.",
    once="Each kind of trigram counts once at most, however often it stands in train. With tensors, counts[u, v, w] += 1 adds 1 to "
         "a place once: use index_put_ with accumulate=True, or a loop.",
    no_uniform="Your unigram is not interpolated with 1/V. A symbol that train does not have, the unknown one, costs infinitely "
               "many bits then.",
    unknown_left_out="Your last level gives 1 / (V - 1) to the known symbols and nothing to the unknown one. It is 1/V for each of the V, or an "
                     "unknown one costs infinitely many bits.",
    no_trigram="Your probabilities depend on the last symbol alone: the trigram plays no part.",
    in_nats="Your bits are nats: divide by ln 2.",
    summed="Your bits are those of the whole text. Divide by its number of characters.",
    one_fewer="You divide by one character fewer than there are. The first one is predicted too, from the marks, and counts.",
    from_the_third="You leave out the first two characters. They are predicted too, from the marks, and count.",
    known_only="You leave out what unknown characters cost. They are part of the text and of its length: skipping them flatters whoever "
               "knows least.",
    perplexity="Your bits return the perplexity, 2 to the power of the bits.",
    untrained="After fit, the weights are as they were: the parameter mix itself must change.",
    on_train="After fit the weight of the trigram is nearly 1. So says the text that was counted, where no history is new and no symbol "
             "unknown: the mean cost of held_out is to fall.",
)
def own_trigram(bugs):
    class OwnTrigram(AutoregressiveModel):
        def __init__(self, train):
            known = list(dict.fromkeys(train)) if "by_appearance" in bugs else sorted(set(train))
            super().__init__(None, Categorical(len(known) + 1))
            self.symbols, self.train_text, V = known, train, len(known) + 1
            ids = torch.tensor([self.symbols.index(one) for one in train])
            self.theirs = [NGram(n=3, vocab_size=V + 1, bos_id=V, smoothing="interpolated").fit_counts(ids)]
            self.register_buffer("counts", counted(ids, V, "start_not_counted" in bugs))
            if "once" in bugs:
                self.counts.clamp_(max=1)
            self.mix = nn.Parameter(torch.zeros(3))

        def encode(self, text):
            V, unknown = len(self.symbols) + 1, 0 if "unknown_is_zero" in bugs else len(self.symbols)
            ids = [self.symbols.index(one) if one in self.symbols else unknown for one in text]
            return torch.tensor([one for one in ids if one < V - 1] if "dropped" in bugs else ids)

        def parents(self, i):
            return list(range(max(0, i - 2), i))

        def conditionals(self, x, context=None):
            if bugs & BY_HAND:
                return self.conditional(self.by_hand(x).log())
            return self.conditional(self.of_the_library().conditionals(x).logits[..., :-1])       # the mark is none of V

        def log_prob(self, x, context=None):
            return super().log_prob(x) if bugs & BY_HAND else self.of_the_library().log_prob(x)

        def of_the_library(self):
            ngram = self.theirs[0].to(self.mix.dtype)
            ngram.smoothing.weights = self.mix.sigmoid()[:, None]              # with its gradient
            return ngram

        def by_hand(self, x):
            V, counts = self.conditional.num_values, self.counts               # (V + 1, V + 1, V), V the mark
            past = torch.cat([x.new_full((len(x), 2), V), x], 1)
            u, v = past[:, :-2], past[:, 1:-1]                                 # (B, T)
            bigram, unigram = counts.sum(0), counts.sum((0, 1))
            if "no_marks" in bugs:
                counts, bigram = counts[:V, :V], counts.sum(0)[:V]
                counts, bigram = nn.functional.pad(counts, (0, 0, 0, 1, 0, 1)), nn.functional.pad(bigram, (0, 0, 0, 1))
            f = [unigram.expand(*x.shape, V), bigram[u if "backwards" in bugs else v],
                 counts[v, u] if "swapped" in bugs else counts[u, v]]
            w, p = self.mix.sigmoid(), torch.full((V,), 1 / V).to(self.mix)
            w = w.flip(0) if "weights_turned" in bugs else w
            if "unknown_left_out" in bugs:
                p = torch.cat([torch.full((V - 1,), 1 / (V - 1)).to(p), p[:1] * 0])
            if "not_nested" in bugs:
                return sum(w[k] * c / c.sum(-1, keepdim=True).clamp(min=1) for k, c in enumerate(f)) + (1 - w[0]) * p
            for k, c in enumerate(f):
                total = c.sum(-1, keepdim=True)
                share = torch.where(total > 0, w[k], 0)
                if k == 0 and "no_uniform" in bugs:
                    share = torch.ones_like(share)
                if k == 2 and "no_trigram" in bugs:
                    share = torch.zeros_like(share)
                if "last_history" in bugs and k:
                    total = total + self.ends(u, v, k)[..., None]
                    share = torch.where(total > 0, w[k], 0)
                mine = c / total.clamp(min=1)
                if "uniform_unseen" in bugs:
                    mine, share = torch.where(total > 0, mine, 1 / V), w[k]
                p = share * mine + (1 - share) * p
            return p

        def ends(self, u, v, k):
            """Whether train ends in the history of k symbols."""
            last = [self.symbols.index(one) for one in self.train_text[-2:]]
            return (v == last[1]).double() if k == 1 else ((u == last[0]) & (v == last[1])).double()

        def bits(self, text):
            x = self.encode(text)
            each = -self.conditionals(x[None]).log_prob(x[None])[0] / (1 if "in_nats" in bugs else math.log(2))
            if "known_only" in bugs:
                each = each[x < self.conditional.num_values - 1]
            if "from_the_third" in bugs:
                each = each[2:]
            found = each.sum() / (1 if "summed" in bugs else len(each) - ("one_fewer" in bugs))
            return 2 ** found if "perplexity" in bugs else found

        def fit(self, held_out):
            x = self.encode(self.train_text if "on_train" in bugs else held_out)[None]
            optimizer = torch.optim.Adam(self.parameters(), lr=0.2)
            for _ in range(0 if "untrained" in bugs else 300 if "on_train" in bugs else 120):
                loss = -self.by_hand(x).gather(-1, x[..., None]).log().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

    return OwnTrigram


def counted(ids: Tensor, V: int, inside: bool = False) -> Tensor:
    """How often w follows u and v, (V + 1, V + 1, V), two marks V before the text; or only inside it."""
    marks = ids.new_full((0 if inside else 2,), V)
    counts, text = torch.zeros(V + 1, V + 1, V), torch.cat([marks, ids])
    return counts.index_put_((text[:-2], text[1:-1], text[2:]), torch.ones(len(text) - 2), accumulate=True)


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
    found = []
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
        found.append((train, ["".join(text) for text in rest]))
    return found


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
        return float(torch.as_tensor(learnt.ask("bits", held_out)).detach()) - own

    return {"train": train}, held_out, loss


def on_train(parameters: dict[str, Tensor]) -> str | None:
    return "on_train" if bool((parameters["mix"].flatten()[-1:] > 4).any()) else None


exercise.compare("symbols", encodings, points=1)
exercise.compare("log_prob is the library's", likelihoods, points=3)
exercise.slopes("gradient", likelihoods, points=1)
exercise.compare("bits a character", costs, points=2)
keeps_the_contract(exercise, lambda generator: {"train": drawn(generator, "cab", 80)[0] + "abc"}, points=3, length=4)
reaches(exercise, f"within {GAP} bits of the best weights", 2, source, GAP, among=("untrained",),
        than="bits a character to the best weights", why=on_train)
exercise.hint(
    "You do not know how to count.",
    "One tensor says all: counts (V + 1, V + 1, V), where symbol V is the mark. A loop over zip(s, s[1:], s[2:]) of the list "
    "s = [V, V, *symbols of train] fills it. The bigram's counts are its sum over the first axis, the unigram's over the first two. "
    "Keep it with self.register_buffer.")
exercise.hint(
    "You do not know how to score a whole batch.",
    "u and v are the two symbols before each: columns of torch.cat([marks (B, 2), x], dim=1). Then counts[u, v] is (B, T, V), for "
    "all places at once. Divide by its sum over the last axis where that is not 0. self.conditional(p.log()) ends it. check_all "
    "draws tens of thousands of texts: a loop over their symbols would take too long.")
exercise.hint(
    "check_all says that a factor never reads one of its parents.",
    "A trigram has two: parents(i) is [i - 2, i - 1], fewer at the beginning. Write the method, and check_all takes a length: "
    "check_all(model, length=4).")
exercise.hint(
    "After fit the bits are far from the best.",
    "The loss is minus log_prob of the symbols of held_out, one row: self.encode(held_out)[None]. mix is one parameter of three "
    "numbers, and Adam with a rate of 0.1 or more takes a hundred steps.")
