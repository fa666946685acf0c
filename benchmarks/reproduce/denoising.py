"""A run on stories of a grammar: pre-training by several objectives at equal seconds, then few labels."""

from __future__ import annotations

import copy
import math
from functools import cache
from typing import Any, Callable, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from benchmarks.figures import of_seeds
from benchmarks.reproduce.pretraining import per_cent_right
from benchmarks.reproduce.recipes import coefficients, minimize
from benchmarks.reproduce.run import Job, Parts, Repeats, Row, Run, Trained, own
from course_lib.data import Splits
from course_lib.data.toy_stories import SUBJECTS, stories
from course_lib.tokenizers import pad
from course_lib.transformer import BERT, GPT, BERTConfig, GPTConfig, PretrainingBatch, Transformer, TransformerConfig
from course_lib.transformer.bert import mask_tokens
from course_lib.transformer.denoising import (
    ELECTRA,
    StaticMasking,
    XLNet,
    sentence_permutation,
    span_corruption,
    split_sentences,
    text_infilling,
)
from course_lib.transformer.segments import join_segments

SPECIAL = ("[PAD]", "[CLS]", "[SEP]", "[MASK]", ".", *(f"<{i}>" for i in range(12)))
PAD, CLS, SEP, MASK, END = range(5)
SENTINELS = range(5, len(SPECIAL))
INFO = own("Stories drawn independently; a full stop after each sentence. Labels: the subject of a single sentence.",
           "a grammar of this course, course_lib.data.toy_stories")


@cache
def draw(stories_to_read: int = 3000) -> Splits:
    """3,000 stories of two sentences to read; 400 and 1,000 single sentences with their subject, to score."""
    return Splits("toy_stories", told(3000, 0, 2)[:stories_to_read], told(400, 98, 1), told(1000, 99, 1), info=INFO)


def told(num: int, seed: int, sentences: int) -> list[str]:
    """Stories, each the subject and the text."""
    made = stories(num, torch.Generator().manual_seed(seed), sentences)
    return [f"{s.subject}\t{' . '.join(map(str, s.sentences))} ." for s in made]


class Part(NamedTuple):
    tokens: Int[Tensor, "N T"]                                       # [CLS] words [SEP]
    real: Bool[Tensor, "N T"]
    subject: Int[Tensor, "..."]


@cache
def symbols() -> list[str]:
    """The signs, then every word of the training stories."""
    return [*SPECIAL, *sorted({w for line in draw().train for w in line.split("\t")[1].split() if w != "."})]


def coded(lines: list[str]) -> Part:
    ids = {symbol: i for i, symbol in enumerate(symbols())}
    split = [line.split("\t") for line in lines]
    rows = [[CLS, *(ids[w] for w in text.split()), SEP] for _, text in split]
    return Part(*pad(rows, PAD), torch.tensor([list(SUBJECTS).index(subject) for subject, _ in split]))


def as_tokens(splits: Splits) -> Parts:
    return Parts(*(coded(getattr(splits, part)) for part in ("train", "valid", "test")), splits.info)


def labelled(count: int, seed: int) -> Part:
    """Single sentences that no other part holds on purpose; each seed has its own."""
    return coded(told(count, 1000 + seed, 1))


# --- encoders, and what trains them ----------------------------------------------------------------------------------


def bert(width: int = 32) -> BERT:
    """Two layers; the first weights as large as so small a width needs."""
    model = BERT(BERTConfig(len(symbols()), window=32, layers=2, heads=2, d_model=width, dropout=0))
    return larger(model)


@torch.no_grad()
def larger(model: nn.Module) -> nn.Module:
    for p in model.parameters():
        p.mul_(5 if p.dim() == 2 else 1)
    return model


def pair_model(width: int = 32, decoder_layers: int = 1, vocab: int | None = None) -> Transformer:
    vocab = vocab or len(symbols())
    return Transformer(TransformerConfig(vocab, vocab, PAD, CLS, SEP, d_model=width, heads=2, d_ff=4 * width,
                                         encoder_layers=2, decoder_layers=decoder_layers, dropout=0.0, norm="pre", tied="all"))


Start = Callable[[Part, int], tuple[nn.Module, Callable[[Tensor, int], Tensor]]]


def of_masks() -> dict[str, Any]:
    """Of the signs only a full stop may be masked."""
    return {"mask_id": MASK, "vocab_size": len(symbols()), "special": [i for i in range(len(SPECIAL)) if i != END]}


def asked_of(train: Part, rows: Tensor, read) -> PretrainingBatch:
    return PretrainingBatch(read.tokens, torch.zeros_like(read.tokens), train.real[rows], read.chosen, train.tokens[rows])


def masked(train: Part, seed: int, static: bool = False, rate: float = 0.15):
    """BERT's words, a share `rate` of them, drawn anew for every batch; or once."""
    model, g = bert(), torch.Generator().manual_seed(seed)
    options = of_masks() | {"rate": rate}
    fixed = StaticMasking(train.tokens, generator=g, mask=train.real, **options) if static else None

    def loss(rows: Tensor, step: int) -> Tensor:
        read = fixed(rows) if fixed else mask_tokens(train.tokens[rows], mask=train.real[rows], generator=g, **options)
        return model.loss(asked_of(train, rows, read))[0]

    return model, loss


def paired(train: Part, seed: int):
    """BERT's pairs: with probability 1/2 the second sentence is another story's, and whether it follows is told."""
    model, g = bert(), torch.Generator().manual_seed(seed)
    options = of_masks()
    firsts, seconds = zip(*(split_sentences(tokens[real][1:-1], END) for tokens, real in zip(train.tokens, train.real)))

    def loss(rows: Tensor, step: int) -> Tensor:
        other = torch.randint(len(firsts), rows.shape, generator=g)
        second = torch.where(torch.rand(rows.shape, generator=g) < 0.5, rows, other)
        joined = [join_segments(firsts[i], seconds[j], CLS, SEP) for i, j in zip(rows.tolist(), second.tolist())]
        (tokens, real), (types, _) = (pad(side, 0) for side in zip(*joined))
        read = mask_tokens(tokens, mask=real, generator=g, **options)
        return model.loss(PretrainingBatch(read.tokens, types, real, read.chosen, tokens, second == rows))[0]

    return model, loss


def in_orders(train: Part, seed: int):
    """XLNet: each word from those before it in an order that is drawn for every batch; its texts have one length."""
    model, g, lengths = XLNet(len(symbols()), train.tokens.shape[1]), torch.Generator().manual_seed(seed), train.real.sum(dim=1)

    def loss(rows: Tensor, step: int) -> Tensor:
        n = int(lengths[rows[0]])                                    # drawn as often as there are texts of it
        same = (lengths == n).nonzero()[:, 0]
        x = train.tokens[same[torch.randint(len(same), rows.shape, generator=g)]]
        order = torch.cat([torch.randperm(n, generator=g), torch.arange(n, model.n)])            # what fills up is told last
        return -model.reordered(order).conditionals(x).log_prob(x)[:, 1:n - 1].mean()            # [CLS] and [SEP] are not asked for

    return model, loss


def replaced(train: Part, seed: int):
    """ELECTRA: a generator of half the width."""
    model, g = ELECTRA(bert(16), bert(), weight=10.0), torch.Generator().manual_seed(seed)
    options = of_masks()

    def loss(rows: Tensor, step: int) -> Tensor:
        read = mask_tokens(train.tokens[rows], mask=train.real[rows], generator=g, **options)
        return model.loss(asked_of(train, rows, read), g)[0]

    return model, loss


def causal(train: Part, seed: int):
    """The next word, from those before it."""
    model = larger(GPT(GPTConfig(len(symbols()), window=32, layers=2, heads=2, d_model=32, bos_id=CLS, dropout=0.0)))

    def loss(rows: Tensor, step: int) -> Tensor:
        tokens, real = train.tokens[rows], train.real[rows]
        logits = model(tokens[:, :-1], real[:, :-1])
        return F.cross_entropy(logits[real[:, 1:]], tokens[:, 1:][real[:, 1:]])

    return model, loss


def in_pairs(train: Part, seed: int, noise: Callable[[Tensor, torch.Generator], tuple[Tensor, Tensor]], copies: int = 4):
    """An encoder-decoder; `copies` of each text are corrupted before training, which is not counted."""
    g = torch.Generator().manual_seed(seed)
    drawn = [noise(tokens[real][1:-1], g) for _ in range(copies) for tokens, real in zip(train.tokens, train.real)]
    end = torch.tensor([SEP])
    source, target = (pad([torch.cat([*opens, text, end]) for text in side], PAD)
                      for opens, side in zip(([torch.tensor([CLS])], []), zip(*drawn)))
    model = pair_model()

    def loss(rows: Tensor, step: int) -> Tensor:
        rows = rows + len(train.tokens) * (step % copies)
        return model.loss((tuple(part[rows] for part in source), tuple(part[rows] for part in target)))[0]

    return model, loss


def infilled(text: Tensor, g: torch.Generator) -> tuple[Tensor, Tensor]:
    """BART's own choice: sentences permuted, then spans infilled; all of the text is the target."""
    return text_infilling(sentence_permutation(text, END, g), MASK, 0.3, 3.0, g), text


def spans(text: Tensor, g: torch.Generator) -> tuple[Tensor, Tensor]:
    return tuple(span_corruption(text, SENTINELS, 0.15, 3.0, g))


OBJECTIVES: dict[str, tuple[Start, int]] = {                         # what starts it, and updates: 8 CPU-seconds of each
    "masked words": (masked, 520),
    "masked words, static": (lambda train, seed: masked(train, seed, static=True), 520),
    "replaced tokens (ELECTRA)": (replaced, 270),
    "next word": (causal, 550),
    "infilling and permutation (BART)": (lambda train, seed: in_pairs(train, seed, infilled), 380),
    "spans (T5)": (lambda train, seed: in_pairs(train, seed, spans), 500),
    "words in any order (XLNet)": (in_orders, 260),
    "masked words, next sentence": (paired, 520),                    # as often as the masked words: equal tokens
}


def train_by(model: nn.Module, loss: Callable[[Tensor, int], Tensor], rows: int, updates: int, lr: float, seed: int,
             batch: int = 64) -> None:
    """AdamW, 50 updates of warm-up, then down to 0."""
    g = torch.Generator().manual_seed(seed)
    minimize(model, lambda update: loss(torch.randint(rows, (batch,), generator=g), update), updates, lr,
             lambda update: min(1, (update + 1) / 50) * (1 - update / updates), clip=1.0, betas=(0.9, 0.98))


PRETRAINED: dict[tuple, nn.Module] = {}                              # one for all label counts of a command


def pretrained(objective: str | None, lr: float, seed: int, train: Part) -> nn.Module:
    key = objective, lr, seed, len(train.tokens)
    if key not in PRETRAINED:
        torch.manual_seed(seed)
        if objective is None:
            PRETRAINED[key] = bert()
        else:
            start, updates = OBJECTIVES[objective]
            model, loss = start(train, seed)
            train_by(model, loss, len(train.tokens), updates, lr, seed)
            PRETRAINED[key] = model
    return copy.deepcopy(PRETRAINED[key])


def states(model: nn.Module, tokens: Tensor, real: Tensor) -> Float[Tensor, "B T D"]:
    """What an encoder of any kind makes of each token."""
    if isinstance(model, Transformer):
        return model.encode((tokens, real))[0]
    if isinstance(model, GPT):
        return model.hidden(tokens, real)
    if isinstance(model, XLNet):                                     # its contents, each with the whole text before it
        h = model.tokens(tokens) + model.positions.weight[:tokens.shape[1]]
        for block in model.blocks:
            h = block.residual2(block.residual1(h, lambda y: block.attention(y, y, mask=real[:, None])), block.feed_forward)
        return h
    return (model.discriminator if isinstance(model, ELECTRA) else model)(tokens, mask=real).tokens


class Classifier(nn.Module):
    """A layer on the mean of the states."""

    def __init__(self, encoder: nn.Module, width: int = 32):
        super().__init__()
        self.encoder, self.head = encoder, nn.Linear(width, len(SUBJECTS))

    def forward(self, tokens: Tensor, real: Tensor) -> Float[Tensor, "B C"]:
        h = states(self.encoder, tokens, real) * real[..., None]
        return self.head(h.sum(dim=1) / real.sum(dim=1, keepdim=True))


def by_objective(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """Pre-trained by the objective, then all of it trained on a few labelled sentences; both anew for each seed."""
    models = Repeats()
    for seed in range(settings["seeds"]):
        encoder = pretrained(settings["objective"], settings["lr"], seed, job.splits.train)
        torch.manual_seed(2000 + seed)
        model, few = Classifier(encoder), labelled(settings["labels"], seed)
        train_by(model, lambda rows, _: F.cross_entropy(model(few.tokens[rows], few.real[rows]), few.subject[rows]),
                 settings["labels"], settings["steps"], 2e-3, seed, 16)
        models.append(model)
    return Trained(models)


class Counted(nn.Module):
    """Logistic regression on which words occur."""

    def __init__(self, few: Part, C: float):
        super().__init__()
        fitted = LogisticRegression(C=C, max_iter=1000).fit(self.occurs(few.tokens).numpy(), few.subject.numpy())
        weight = torch.zeros(len(SUBJECTS), len(symbols()))
        bias = torch.full((len(SUBJECTS),), -math.inf)               # a subject that no label named
        weight[fitted.classes_], bias[fitted.classes_] = (part.float() for part in coefficients(fitted))
        self.weight, self.bias = nn.Parameter(weight), nn.Parameter(bias)

    @staticmethod
    def occurs(tokens: Tensor) -> Float[Tensor, "B V"]:
        return F.one_hot(tokens, len(symbols())).amax(dim=1).float()

    def forward(self, tokens: Tensor, real: Tensor) -> Float[Tensor, "B C"]:
        return F.linear(self.occurs(tokens), self.weight, self.bias)


def by_counting_words(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    models = Repeats(Counted(labelled(settings["labels"], seed), settings["C"]) for seed in range(settings["seeds"]))
    return Trained(models)


@torch.no_grad()
def subjects_right(models: Repeats, part: Part) -> dict[str, Any]:
    """Per cent of sentences whose subject is told: the mean over seeds, its standard error over seeds, and each."""
    each = [per_cent_right(model(part.tokens, part.real).argmax(dim=1), part.subject) for model in models.eval()]
    return of_seeds(each, len(part.subject))


# --- the table -------------------------------------------------------------------------------------------------------

LABELS, FEW = (8, 32), 200                                           # labelled sentences; stories where they are few


def counting(labels: int) -> Row:
    return Row(f"words counted, {labels} labels", Counted, by_counting_words, {}, {"labels": labels, "seeds": 1},
               tuple({"C": C} for C in (1, 10, 100)), subjects_right, final={"seeds": 5})


def arms(labels: int, *objectives: str | None) -> tuple[Row, ...]:
    return tuple(Row(f"{objective or 'from scratch'}, {labels} labels", Classifier, by_objective, {},
                     {"objective": objective, "labels": labels, "seeds": 1,
                      "updates": OBJECTIVES[objective][1] if objective else 0},
                     tuple({"lr": lr, "steps": steps} for lr in ((2e-3, 5e-3) if objective else (0.0,)) for steps in (80, 200)),
                     subjects_right, final={"seeds": 5}) for objective in objectives)


RUNS: dict[str, Run] = {run.name: run for run in (
    Run("objectives-stories", "toy_stories", tuple(
        row for labels in LABELS for row in (counting(labels), *arms(labels, None, *OBJECTIVES))),
        draw=draw, prepare=as_tokens, unit="% of subjects told right", best=max,
        note="Two layers of width 32 pre-trained on 3,000 stories of two sentences, each objective with as many updates as take "
             "8 CPU-seconds on one core (with the next sentence as many as without), then all of it trained on a few labelled "
             "sentences. Mean ± standard error over five seeds, each with its own pre-training and its own labels; rate and steps "
             "by 400 other sentences and the first seed."),
    Run("masks-stories", "toy_stories", tuple(
        row for labels in LABELS for row in (counting(labels), *arms(labels, None, "masked words", "masked words, static"))),
        draw=lambda: draw(FEW), prepare=as_tokens, unit="% of subjects told right", best=max,
        note=f"The masks alone, where texts are few: as in objectives-stories, as many updates, but pre-trained on {FEW} of its "
             "stories. Mean ± standard error over five seeds, each with its own pre-training and its own labels; rate and steps by "
             "400 other sentences and the first seed."),
)}
