"""Retrieval on XQuAD, answers with and without a passage, and probes of layers (chapter prompting-and-retrieval).

python -m benchmarks.using retrieval    every index, on all 1,190 questions; two minutes
python -m benchmarks.using probing      layers of small BERTs and of their untrained twins; three minutes
python -m benchmarks.using answers      a reader with no, a wrong, the retrieved, the true, a falsified passage; three
                                        minutes
"""
from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import torch

from benchmarks import steps
from benchmarks.figures import standard_error
from benchmarks.reproduce import word_texts
from benchmarks.reproduce.recipes import minimize
from course_lib import hub
from course_lib.data import toy_agreement
from course_lib.data.readers import read_text
from course_lib.tokenizers.batching import pad
from course_lib.transformer import BERT, BERTConfig, PretrainingBatch, mask_tokens
from course_lib.using.dense import Dense, DualEncoder
from course_lib.using.embeddings import hidden_states
from course_lib.using.metrics import answer_f1, exact_match, normalized
from course_lib.using.probing import Probed, probe, untrained_twin
from course_lib.using.reader import SpanReader, fit_reader, sentences_in, shape_of, tokens_in
from course_lib.using.retrieval import BM25, Index, Latent, TfIdf, mean_reciprocal_rank, ranks, recall_at
from course_lib.words import count_words

SEEDS = 3
RANKS = (50, 100, 200)                                              # of LSA
Question = tuple[str, int, list[str]]                                # the text, its passage, the answers


def words(text: str) -> list[str]:
    """Words and numbers in lower case, without punctuation."""
    return [token.text.lower() for token in tokens_in(text) if token.text[0].isalnum()]


def xquad() -> tuple[list[str], list[int], list[Question]]:
    """Passages, the article of each, and questions."""
    passages: list[str] = []
    articles: list[int] = []
    questions: list[Question] = []
    for number, article in enumerate(json.loads(read_text(word_texts.path("xquad")))["data"]):
        for paragraph in article["paragraphs"]:
            for asked in paragraph["qas"]:
                questions.append((asked["question"], len(passages), [each["text"] for each in asked["answers"]]))
            passages.append(paragraph["context"])
            articles.append(number)
    return passages, articles, questions


def record(name: str, unit: str, rows: list[dict[str, Any]], note: str) -> None:
    steps.record("benchmarks.using", "using", f"using-{name}", unit, rows, note,
                 {"name": "toy_agreement" if name == "probing" else "xquad"})


def summary(values: Sequence[float]) -> dict[str, Any]:
    found = {"mean": round(sum(values) / len(values), 2), "over": len(values)}
    return found | ({"standard_error": round(standard_error(values), 2)} if len(values) > 1 else {})


# --- retrieval --------------------------------------------------------------------------------------------------------


class Counts(TfIdf):
    """Dot product of raw counts, without an idf."""

    def weighed(self, counts: torch.Tensor) -> torch.Tensor:
        return counts


def averaged_vectors(documents: Sequence[Sequence[str]]) -> Index:
    """Shipped word vectors, averaged with idf weights."""
    vectors, known = hub.load("english-words"), TfIdf(documents)
    idf = {word: known.idf[i].item() for i, word in enumerate(known.vocabulary.symbols)}
    table = vectors.unit() - vectors.unit().mean(dim=0)

    def encode(texts: Sequence[Sequence[str]]) -> torch.Tensor:
        rows = []
        for text in texts:
            some = [word for word in text if word in vectors]
            weight = torch.tensor([idf.get(word, 1.0) for word in some])[:, None]
            rows.append((weight * table[[vectors.vocabulary.id(word) for word in some]]).sum(dim=0))
        return torch.stack(rows)

    return Dense(encode, documents)


def trained(documents: Sequence[Sequence[str]], pairs: list[tuple[list[str], list[str]]], seed: int, start: str) -> Index:
    """Dual encoder, initialized with the shipped vectors or at random, trained on questions with sentences or passages.
    """
    known, vectors = TfIdf(documents), hub.load("english-words")
    symbols = sorted({*known.vocabulary.symbols, *vectors.words})
    number = {word: i for i, word in enumerate(symbols)}
    torch.manual_seed(seed)
    table = torch.randn(len(symbols), vectors.width) / vectors.width**0.5
    if start == "vectors":
        unit = vectors.unit() - vectors.unit().mean(dim=0)
        for i, word in enumerate(symbols):
            table[i] = unit[vectors.vocabulary.id(word)] if word in vectors else table[i]
    idf = torch.full((len(symbols),), known.idf.max().item())
    idf[[number[word] for word in known.vocabulary.symbols]] = known.idf
    encoder = DualEncoder(table, idf)

    def numbered(texts: Sequence[Sequence[str]]) -> tuple[torch.Tensor, torch.Tensor]:
        return pad([[number[word] for word in text if word in number] or [0] for text in texts], 0)

    generator = torch.Generator().manual_seed(seed)
    batches = [rows.tolist() for _ in range(12) for rows in torch.randperm(len(pairs), generator=generator).split(128)]

    def loss(update: int) -> torch.Tensor:
        return encoder.loss(tuple(numbered([pairs[row][side] for row in batches[update]]) for side in (0, 1)))

    minimize(encoder, loss, len(batches), 0.003, lambda update: 1.0, torch.optim.Adam)
    return Dense(lambda texts: encoder(*numbered(texts)), documents)


def inverse_cloze(passages: list[str]) -> list[tuple[list[str], list[str]]]:
    """Unlabeled pairs: a sentence as the question, the rest of its passage as the document."""
    found = []
    for passage in passages:
        parts = [text for _, text in sentences_in(passage)]
        found += [(words(part), words(" ".join(parts[:i] + parts[i + 1:]))) for i, part in enumerate(parts) if len(parts) > 1]
    return [pair for pair in found if all(pair)]


def make_retrieval() -> None:
    passages, articles, questions = xquad()
    documents, asked = [words(each) for each in passages], [words(text) for text, _, _ in questions]
    wanted = torch.tensor([passage for _, passage, _ in questions])
    half = torch.tensor([articles[passage] % 2 == 0 for _, passage, _ in questions])       # whose questions may train
    pairs = [(asked[i], documents[wanted[i]]) for i in half.nonzero()[:, 0].tolist()]
    without_labels = inverse_cloze(passages)
    supervised = "dual encoder, from word vectors, trained without labels and on questions of other articles"
    makers: dict[str, tuple[Callable[[int], Index], int]] = {
        "counts, inner product": (lambda seed: Counts(documents), 1),
        "TF-IDF": (lambda seed: TfIdf(documents, sublinear=False), 1),
        "TF-IDF, sublinear": (lambda seed: TfIdf(documents), 1),
        "BM25": (lambda seed: BM25(documents), 1),
        **{f"LSA, {rank}": (lambda seed, rank=rank: Latent(documents, rank), 1) for rank in RANKS},
        "word vectors, averaged by idf": (lambda seed: averaged_vectors(documents), 1),
        "dual encoder, from chance, trained without labels": (lambda seed: trained(documents, without_labels, seed, "chance"), SEEDS),
        "dual encoder, from word vectors, trained without labels":
            (lambda seed: trained(documents, without_labels, seed, "vectors"), SEEDS),
        supervised:
            (lambda seed: trained(documents, without_labels + 2 * pairs, seed, "vectors"), SEEDS),
    }
    rows: list[dict[str, Any]] = []
    for name, (make, seeds) in makers.items():
        found: dict[str, list[float]] = {}
        began = time.process_time()
        for seed in range(seeds):
            scores = make(seed).scores(asked)
            places = ranks(scores, wanted)
            kept = ~half if name == supervised else torch.ones_like(half)
            found.setdefault("R@1", []).append(100 * recall_at(places[kept], 1))
            found.setdefault("R@5", []).append(100 * recall_at(places[kept], 5))
            found.setdefault("MRR", []).append(mean_reciprocal_rank(places[kept]))
        row = {**summary(found["R@1"]), "questions": int(kept.sum()),
               "seconds": round(time.process_time() - began, 1),
               **{what: round(sum(found[what]) / seeds, 3) for what in ("R@5", "MRR")}}
        rows.append({"model": name, "parameters": 0, "test": row})
        print(rows[-1], flush=True)
    record("retrieval", "% R@1", rows,
           f"XQuAD, English: {len(questions):,} questions, {len(passages)} passages; the one right passage of each question. The last "
           f"row is measured on the {int((~half).sum())} questions of every other article, which it was not trained on. Words and "
           f"numbers in lower case; a tie counts as lost. Means ± standard errors over {SEEDS} seeds where there is chance.")


# --- answers ----------------------------------------------------------------------------------------------------------


def kind_of(question: str) -> str:
    return SpanReader._kind(question)[0]


def lie_for(truth: str, pool: list[str], rng: random.Random) -> str:
    """Another answer of the same type, a year for a year or a name for a name; and other words."""
    def shape(text: str) -> str:
        return "".join(sorted({shape_of(token.text) for token in tokens_in(text)}))

    own = set(normalized(truth).split())
    like = [each for each in pool if not own & set(normalized(each).split())]
    same = [each for each in like if shape(each) == shape(truth)]
    return rng.choice(same or like)


def make_answers() -> None:
    passages, articles, questions = xquad()
    documents = [words(each) for each in passages]
    index = TfIdf(documents)
    idf = dict(zip(index.vocabulary.symbols, index.idf.tolist()))
    order = sorted(set(articles))
    rows, found = [], {}
    for seed in range(SEEDS):
        shuffled = random.Random(seed).sample(order, len(order))
        first = set(shuffled[:len(order) // 2])
        train = [each for each in questions if articles[each[1]] in first]
        test = [each for each in questions if articles[each[1]] not in first]
        torch.manual_seed(seed)
        reader = SpanReader(idf)
        covered = fit_reader(reader, [(text, passages[passage], truths) for text, passage, truths in train], seed=seed)
        answers: dict[str, Counter[str]] = {}
        for text, _, truths in train:
            answers.setdefault(kind_of(text), Counter())[truths[0]] += 1
        commonest = {kind: counted.most_common(1)[0][0] for kind, counted in answers.items()}
        overall = Counter(truths[0] for _, _, truths in train).most_common(1)[0][0]
        rng, pool = random.Random(seed), sorted({truths[0] for _, _, truths in train})
        best = index.scores([words(text) for text, _, _ in test]).argmax(dim=1).tolist()
        sums: dict[str, list[float]] = {}

        def note(name: str, answer: str, truths: list[str], sums=sums) -> None:
            total = sums.setdefault(name, [0.0, 0.0])
            total[0] += 100 * exact_match(answer, truths) / len(test)
            total[1] += 100 * answer_f1(answer, truths) / len(test)

        for (text, passage, truths), hit in zip(test, best):
            lie = lie_for(truths[0], pool, rng)
            wrong = rng.choice([i for i in range(len(passages)) if articles[i] != articles[passage]])
            note("no passage: the commonest answer to such a question", commonest.get(kind_of(text), overall), truths)
            note("a wrong passage, of another article", reader.answer(text, passages[wrong]), truths)
            note("the retrieved passage (TF-IDF)", reader.answer(text, passages[hit]), truths)
            note("the true passage", reader.answer(text, passages[passage]), truths)
            false = passages[passage]
            for truth in truths:
                false = false.replace(truth, lie)
            told = reader.answer(text, false)
            note("the true passage, falsified: the truth", told, truths)
            note("the true passage, falsified: the lie", told, [lie])
            kept = [span.text for span in reader.candidates(text, passages[passage])]
            note("the best of the candidates", max(kept, key=lambda one: (exact_match(one, truths), answer_f1(one, truths)),
                                                   default=""), truths)
            # one planted sentence repeats the question and states the lie
            planted = f"{text.rstrip('?')}: {lie}."
            own, new = (index.weighed(count_words([words(each)], index.vocabulary)) for each in (text, planted))   # weighted as the others
            took = passages[hit] if (own @ new.T).item() <= index.scores([words(text)]).max() else planted
            total = sums.setdefault("a planted passage among the others: it is retrieved", [0.0, 0.0])
            total[0] += 100 * (took is planted) / len(test)
            told = reader.answer(text, took)
            note("a planted passage among the others: the truth", told, truths)
            note("a planted passage among the others: the lie", told, [lie])
        for name, (em, f1) in sums.items():
            found.setdefault(name, []).append((em, f1))
        print(seed, f"{len(train)} train, {len(test)} test, {covered:.0%} have a right span among the candidates",
              {name: [round(value, 1) for value in both] for name, both in sums.items()}, flush=True)
    for name, both in found.items():
        rows.append({"model": name, "parameters": 0,
                     "test": {**summary([em for em, _ in both]), "F1": round(sum(f for _, f in both) / len(both), 2)}})
    record("answers", "% exact match", rows,
           f"XQuAD, English. A log-linear reader of spans, trained on the questions of half of the articles, answers those of the "
           f"other half; mean ± standard error over {SEEDS} divisions. A lie is another answer of the same shape.")


# --- probing ----------------------------------------------------------------------------------------------------------

MLM = {"updates": 800, "batch": 64, "lr": 2e-3, "rate": 0.2}


def trained_bert(seed: int) -> BERT:
    """BERT of four layers, trained on masked words of the agreement grammar; its mask is the symbol after the last
    word."""
    vocab = len(toy_agreement.vocabulary())
    torch.manual_seed(seed)
    bert = BERT(BERTConfig(vocab_size=vocab + 1, window=18, layers=4, heads=4, d_model=64, d_ff=128, dropout=0.0))
    generator = torch.Generator().manual_seed(seed)
    tokens, real = toy_agreement.to_ids(toy_agreement.texts(6000, generator))

    def loss(update: int) -> torch.Tensor:
        rows = torch.randint(len(tokens), (MLM["batch"],), generator=generator)
        texts, mask = tokens[rows], real[rows]
        read = mask_tokens(texts, mask_id=vocab, vocab_size=vocab + 1, special=(0,), mask=mask, rate=MLM["rate"],
                           generator=generator)
        return bert.loss(PretrainingBatch(read.tokens, torch.zeros_like(texts), mask, read.chosen, texts))[0]

    minimize(bert, loss, MLM["updates"], MLM["lr"], lambda step: min((step + 1) / 50, 1) * (1 - step / MLM["updates"]))
    return bert.eval()


def probed_layers(bert: BERT, seed: int) -> dict[str, list[Probed]]:
    """Probes of every layer, at the second verb, for its subject and for itself; the subject is three positions before.
    """
    texts = toy_agreement.texts(1400, torch.Generator().manual_seed(1000 + seed))
    tokens, real = toy_agreement.to_ids(texts)
    vocab = len(toy_agreement.vocabulary())
    places = {"which thing, read at the second verb": ("verb2", 0), "the thing, masked, read at its place": ("thing", 0),
              "number of the subject, read at the masked verb": ("verb", 0)}
    found = {}
    for name, (what, shift) in places.items():
        place = torch.tensor([text.known[what][0] + 1 + shift for text in texts])
        if "thing" in name:
            said = [text.words[text.known["thing"][0]] for text in texts]
        else:
            said = [str(text.words[text.known["verb"][0]].endswith("s")) for text in texts]
        kinds = sorted(set(said))
        labels = torch.tensor([kinds.index(each) for each in said])
        every = torch.arange(len(texts))
        read = tokens.clone()
        if "masked" in name:
            read[every, place] = vocab
        word = tokens[every, place]
        found[name] = [probe((layer[every, place][:700], labels[:700]), (layer[every, place][700:], labels[700:]),
                             (word[:700], word[700:]), 10.0, torch.Generator().manual_seed(seed))
                       for layer in hidden_states(bert, read, real)]
    return found


def make_probing() -> None:
    rows: list[dict[str, Any]] = []
    found: dict[tuple[str, str, int], list[Probed]] = {}
    for seed in range(SEEDS):
        bert = trained_bert(seed)
        for name, model in (("trained", bert), ("untrained twin", untrained_twin(bert, seed + 10))):
            for what, layers in probed_layers(model, seed).items():
                for number, each in enumerate(layers):
                    found.setdefault((what, name, number), []).append(each)
                print(seed, name, what, [round(100 * each.task) for each in layers],
                      [round(100 * each.control) for each in layers if each.control == each.control],
                      round(100 * layers[0].commonest), flush=True)
    for (what, name, number), each in found.items():
        row = {**summary([100 * one.task for one in each]), "layer": number,
               "commonest": round(sum(100 * one.commonest for one in each) / len(each), 1)}
        if all(one.control == one.control for one in each):
            row["control"] = round(sum(100 * one.control for one in each) / len(each), 1)
        rows.append({"model": f"{what}, {name}, layer {number}", "parameters": 0, "test": row})
    record("probing", "% right", rows,
           f"A BERT of 4 layers and width 64, {MLM['updates']} updates on masked words of the agreement grammar; logistic regression "
           f"on 700 texts, measured on 700 others; mean ± standard error over {SEEDS} seeds. Control: a random label for each word "
           "form.")


STEPS = {"retrieval": make_retrieval, "answers": make_answers, "probing": make_probing}
if __name__ == "__main__":
    steps.run("benchmarks.using", __doc__, STEPS)
