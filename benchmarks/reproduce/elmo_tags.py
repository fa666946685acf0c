"""A run on the tags of UD English EWT: the language models of chapter fill-the-gap, trained further with a task, where bert_tags has them frozen."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from benchmarks.reproduce import english, tagging
from benchmarks.reproduce.bert_tags import NOTE, UNASKED, Parts, Tuned, own_sentences, parts_of, tags_in, tags_right
from benchmarks.reproduce.english import Tagged
from benchmarks.reproduce.pretraining import drawn
from benchmarks.reproduce.run import Job, Repeats, Row, Run, Trained, over
from benchmarks.reproduce.word_features import ROOM, cut, fresh_elmo, pieces_of_elmo
from course_lib import hub
from course_lib.tokenizers.batching import pad
from course_lib.training import fit
from course_lib.words import BiLM, LayerMix
from course_lib.words.elmo import words_of_pieces

SIZES = (50, 200, 1000)                                              # tagged sentences
WATCHED = 7                                                          # every so many sentences of dev say when to stop
OWN_ROWS = 400                                                       # sentences read between two looks at those, at least

STARTS: dict[str, Callable[[int], BiLM]] = {                         # of the two language models
    "untrained": fresh_elmo,
    "trained": lambda seed: hub.load(english.WEIGHTS),
}


class TunedELMo(Tuned):
    r"""A layer on $\gamma \sum_j s_j h_j$, the mixture of ELMo's layers, of which a word has the mean over its pieces.

    The layer, the mixture and a copy of the two language models are trained.
    """

    def __init__(self, parts: Parts, own: list[Tagged], bilm: BiLM):
        super().__init__(parts, own)
        self.tokenizer = pieces_of_elmo()
        self.bilm = copy.deepcopy(bilm)
        self.mix = LayerMix(bilm.depth + 1)
        self.head = nn.Linear(2 * bilm.width, len(parts.tags))

    def rows(self, sentences: list[Tagged]) -> tuple[Int[Tensor, "B 2 T"], Int[Tensor, "B W"]]:
        """The pieces, below them the word that each is of; and the tags of the words."""
        tokens, word, tags = [], [], []
        for sentence in sentences:
            rest = torch.from_numpy(tags_in([sentence], self.parts.tags))
            for row in cut(sentence, self.tokenizer, self.tokenizer.vocabulary.eos_id):
                own = int(row.word.max()) + 1
                tokens.append(row.tokens)
                word.append(row.word)
                tags.append(rest[:own])
                rest = rest[own:]
        both = torch.stack([pad(tokens, self.tokenizer.vocabulary.pad_id)[0], pad(word, -1)[0]], dim=1)
        return both, pad(tags, UNASKED)[0]

    def filled(self, sentences: list[Tagged]) -> tuple[Int[Tensor, "B 2 T"], Int[Tensor, "B W"]]:
        """`rows`, all as wide as the widest that can be."""
        both, tags = self.rows(sentences)
        none = torch.tensor([self.tokenizer.vocabulary.pad_id, -1])[:, None]
        both = torch.cat([both, none.expand(len(both), 2, ROOM + 2 - both.shape[2])], dim=2)
        return both, F.pad(tags, (0, ROOM - tags.shape[1]), value=UNASKED)

    def forward(self, both: Int[Tensor, "B 2 T"]) -> Float[Tensor, "B W C"]:
        real = both[:, 0] != self.tokenizer.vocabulary.pad_id
        longest = int(real.sum(dim=1).max())
        tokens, word = both[:, 0, :longest], both[:, 1, :longest]
        mixed = self.mix(self.bilm.states(tokens, mask=real[:, :longest]))                 # (B, T, E)
        return self.head(words_of_pieces(mixed, word, int(word.max()) + 1))

    def lengths(self, read: Int[Tensor, "B 2 T"]) -> Int[Tensor, "B"]:
        return (read[:, 1] >= 0).sum(dim=1)

    def loss(self, batch: tuple[Tensor, Tensor]) -> tuple[Float[Tensor, ""], int]:
        """Nats a tag; of what says when to stop, the share of wrong tags, by which the rate is chosen too."""
        if self.training:
            return super().loss(batch)
        logits, tags = self(batch[0]), batch[1]
        tags = tags[:, :logits.shape[1]]
        asked = tags != UNASKED
        return (logits.argmax(dim=-1) != tags)[asked].double().mean(), int(asked.sum())


def by_tuning(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """A tagger a seed by AdamW, from one of `STARTS`, with the weights that did best on some sentences of dev.

    An epoch is one pass over the tagged sentences, or so many that `OWN_ROWS` of them are read between two looks.
    """
    settings = dict(settings)
    labels, seeds, start = (settings.pop(key) for key in ("labels", "seeds", "start"))
    watched = sorted(job.splits.valid[::WATCHED], key=lambda sentence: len(sentence.words))
    seconds, models = 0.0, Repeats()
    for seed in range(seeds):
        own, bilm = own_sentences(job.splits, labels, seed), STARTS[start](seed)
        torch.manual_seed(1000 + seed)
        model = row.model(job.splits, own, bilm)
        both, tags = model.filled(own)
        read = drawn(len(both), max(len(both), OWN_ROWS), 3000 + seed)
        noise = 1 + torch.rand(len(read), generator=torch.Generator().manual_seed(3000 + seed))
        lengths = model.lengths(both[read]) * noise            # rows of like length share a batch, not always the same
        path = job.checkpoints / f"{name}-{settings['lr']}-{seed}.safetensors"
        history = fit(model, (both[read], tags[read]), model.filled(watched), seed=3000 + seed, lengths=lengths,
                      checkpoint=path, progress=False, **settings)
        seconds += 0.0 if path in job.counted else sum(history.seconds)
        job.counted.add(path)
        models.append(model)
    return Trained(models, seconds)


# --- the table -------------------------------------------------------------------------------------------------------

TUNING = {"batch_size": 16, "patience": 3, "schedule": "linear", "warmup": 20, "weight_decay": 0.01, "clip": 1.0}
LOOKS = {50: 6, 200: 8, 1000: 5}                                     # at most: 150, 200 and 315 updates
SEEDS = {50: 5, 200: 5, 1000: 3}
RATES = {"trained": (1e-3, 3e-3, 1e-2), "untrained": (1e-3, 3e-3, 1e-2, 3e-2)}       # at 200 the third was best from nothing


def arm(name: str, start: str, labels: int) -> Row:
    return Row(f"{name}, {labels:,} sentences", TunedELMo, by_tuning, {},
               {**TUNING, "epochs": LOOKS[labels], "labels": labels, "start": start, "seeds": 1},
               over("lr", RATES[start]), tags_right, final={"seeds": SEEDS[labels]})


RUNS: dict[str, Run] = {run.name: run for run in (
    Run("elmo-ewt-tuned", "ud_english_ewt", tuple(
        arm(name, start, labels) for name, start in (("fine-tuned, trained", "trained"), ("fine-tuned, from nothing", "untrained"))
        for labels in SIZES),
        draw=tagging.draw, prepare=parts_of, unit="% of tags right", best=max,
        note=NOTE.replace("over five seeds", "over five seeds, at 1,000 sentences three") +
             "A layer on the mixture of ELMo's layers, the mean over the pieces of a word, every weight trained. Both starts have as "
             "many updates at most and the same three rates to choose from, from nothing a higher one too; each run stops where it is "
             "best on every seventh sentence of dev, at 50 and 200 sentences more than there are to learn from: help that the frozen "
             "vectors of elmo-ewt, with a logistic regression, do not have. The simple rules are in the run bert-ewt."),
)}
