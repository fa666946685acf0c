"""What right indexes, features, probes, prompts and metrics do. The mutants are caught by it."""
from __future__ import annotations

import math

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, matthews_corrcoef

from course_lib.tokenizers import WordPieceTokenizer
from course_lib.transformer import BERT, GPT, BERTConfig, GPTConfig
from tests.support.random import normal, redrawn, rng
from tests.support.tensors import same

LETTERS = list("abcdefgh")


def texts(num=9, seed=0, longest=12):
    """Lists of letters of unequal lengths, in which letters repeat."""
    g = rng(seed)
    lengths = torch.randint(1, longest, (num,), generator=g).tolist()
    return [[LETTERS[i] for i in torch.randint(len(LETTERS) - 1, (n,), generator=g).tolist()] for n in lengths]


DOCUMENTS, QUESTIONS = texts(), [*texts(4, seed=1, longest=5), ["a", "a", "b"], ["z", "h"]]     # the last has no known word


# --- retrieval -------------------------------------------------------------------------------------------------------


def is_scikit_learns(TfIdf):
    for sublinear in (True, False):
        peer = TfidfVectorizer(analyzer=lambda text: text, sublinear_tf=sublinear)
        rows = peer.fit_transform(DOCUMENTS).toarray()
        wanted = torch.tensor(peer.transform(QUESTIONS).toarray() @ rows.T, dtype=torch.float32)
        same(TfIdf(DOCUMENTS, sublinear).scores(QUESTIONS), wanted, 1e-5)


def bm25_by_loops(question, document, k1, b):
    mean, total = sum(map(len, DOCUMENTS)) / len(DOCUMENTS), 0.0
    for word in question:
        df = sum(word in other for other in DOCUMENTS)
        if df:
            idf, n = math.log(1 + (len(DOCUMENTS) - df + 0.5) / (df + 0.5)), document.count(word)
            total += idf * n * (k1 + 1) / (n + k1 * (1 - b + b * len(document) / mean)) if n else 0.0
    return total


def is_the_formula(BM25):
    for k1, b in ((1.2, 0.75), (0.0, 0.75), (2.0, 0.0), (0.5, 1)):
        wanted = torch.tensor([[bm25_by_loops(q, d, k1, b) for d in DOCUMENTS] for q in QUESTIONS])
        same(BM25(DOCUMENTS, k1, b).scores(QUESTIONS), wanted, 1e-5)


def is_cosine_in_few_dimensions(Latent):
    peer = TfidfVectorizer(analyzer=lambda text: text, sublinear_tf=True)
    rows = peer.fit_transform(DOCUMENTS).toarray()
    _, _, vt = np.linalg.svd(rows, full_matrices=False)
    asked = peer.transform(QUESTIONS[:-1]).toarray() @ vt[:3].T
    placed = rows @ vt[:3].T
    unit = [each / np.linalg.norm(each, axis=1, keepdims=True) for each in (asked, placed)]
    same(Latent(DOCUMENTS, 3).scores(QUESTIONS[:-1]), torch.tensor(unit[0] @ unit[1].T, dtype=torch.float32), 1e-4)


def counts_those_before(ranks):
    scores = torch.tensor([[3.0, 1, 2, 2], [1, 1, 1, 1], [0, 5, 6, 7]])
    assert ranks(scores, torch.tensor([2, 0, 3])).tolist() == [3, 4, 1]
    assert ranks(scores, torch.tensor([0, 3, 0])).tolist() == [1, 4, 4]


def is_contrastive(DualEncoder):
    """Encoding and loss by loops, in value and gradient; what fills up plays no part."""
    table, weights = normal(6, 4, seed=1), torch.tensor([1.0, 2, 0.5, 1.5, 3, 1], dtype=torch.float64)
    encoder = DualEncoder(table, weights, temperature=0.3)
    sides = [(torch.tensor([[1, 2, 5], [3, 0, 0]]), torch.tensor([[True, True, False], [True, True, False]])),
             (torch.tensor([[4, 4], [5, 1]]), torch.tensor([[True, True], [True, False]]))]
    E, a = table.clone().requires_grad_(), weights.log().clone().requires_grad_()

    def by_hand(tokens, mask):
        rows = []
        for row, real in zip(tokens.tolist(), mask.tolist()):
            total = sum(a[t].exp() * E[t] for t, r in zip(row, real) if r)
            rows.append(total / total.norm())
        return torch.stack(rows)

    q, d = (by_hand(*side) for side in sides)
    wanted = 0.0
    for i in range(2):
        fits = [q[i] @ d[j] / 0.3 for j in range(2)]
        wanted = wanted - (fits[i] - torch.logsumexp(torch.stack(fits), 0)) / 2
    got = encoder.loss(tuple(sides))
    same(got, wanted)
    for mine, theirs in zip(torch.autograd.grad(got, (encoder.vectors, encoder.log_weights)),
                            torch.autograd.grad(wanted, (E, a))):
        same(mine, theirs)


# --- features --------------------------------------------------------------------------------------------------------


def bert(seed=0):
    return redrawn(BERT(BERTConfig(vocab_size=9, window=8, layers=2, heads=2, d_model=6, dropout=0.3)), seed)


def gpt(seed=0):
    return redrawn(GPT(GPTConfig(vocab_size=9, window=8, layers=2, heads=2, d_model=6, dropout=0.3)), seed)


TOKENS = torch.tensor([[1, 5, 6, 2], [1, 3, 2, 0]])
MASK = torch.tensor([[True] * 4, [True, True, True, False]])


def are_the_layers(hidden_states):
    for model in (bert(), gpt()):
        states = hidden_states(model, TOKENS, MASK)
        assert len(states) == 3
        same(states[-1], model(TOKENS, mask=MASK).tokens if isinstance(model, BERT) else model.hidden(TOKENS, MASK))
        inner = model.blocks[0](states[0], MASK[:, None, :], causal=isinstance(model, GPT))
        same(states[1], inner)
        model.train()                                                # dropout is off in here, and the mode comes back
        same(hidden_states(model, TOKENS, MASK)[-1], states[-1])
        assert model.training and all(module.training for module in model.modules())
        assert not model.blocks[0]._forward_hooks and not model.blocks[0]._forward_pre_hooks


def pools_real_tokens(pooled):
    states = normal(2, 4, 3)
    real = torch.tensor([[True, True, True, False], [False, True, True, True]])
    for b, (first, last) in enumerate(((0, 2), (1, 3))):
        own = states[b, first:last + 1]
        same(pooled(states, real)[b], own.mean(dim=0))
        same(pooled(states, real, "first")[b], own[0])
        same(pooled(states, real, "last")[b], own[-1])
    same(pooled(states), states.mean(dim=1))
    spoilt = states.masked_fill(~real[..., None], float("nan"))
    assert pooled(spoilt, real).isfinite().all()


# --- probes ----------------------------------------------------------------------------------------------------------


def labelled(num, seed, classes=3):
    vectors = normal(num, 5, seed=seed)
    labels = (vectors @ normal(5, classes, seed=9) + 0.5 * normal(num, classes, seed=seed + 1)).argmax(dim=1)
    return vectors, labels


def is_logistic_regression(LinearProbe):
    (x, y), (new, wanted) = labelled(60, 1), labelled(200, 5)
    for C in (0.1, 1.0, 20):
        peer = LogisticRegression(C=C, max_iter=5000, tol=1e-9).fit(x.numpy(), y.numpy())
        mine = LinearProbe(x, y, C, steps=500)
        assert (mine(new).softmax(1) - torch.tensor(peer.predict_proba(new.numpy()))).abs().max() < 1e-3
        assert abs(mine.score(new, wanted) - peer.score(new.numpy(), wanted.numpy())) < 0.011


def one_label_a_kind(control_labels):
    kinds = torch.randint(30, (400,), generator=rng(2)) * 7
    labels = control_labels(kinds, 4, rng(3))
    assert labels.shape == kinds.shape and set(labels.tolist()) == {0, 1, 2, 3}
    for kind in kinds.unique():
        assert len(labels[kinds == kind].unique()) == 1
    assert len({tuple(control_labels(kinds, 4, rng(seed)).tolist()) for seed in range(5)}) == 5


def tells_task_and_control(probe):
    """One-hot kinds: the control is learned by heart; the task hangs on a number beside the kind."""
    g = rng(4)
    kinds = torch.randint(6, (300,), generator=g)
    hidden = torch.randint(2, (300,), generator=g)
    labels = hidden.clone()
    vectors = torch.cat([F.one_hot(kinds, 6), 2 * hidden[:, None] - 1], dim=1).double() * 3
    new = torch.randperm(300, generator=g) < 100
    found = probe((vectors[~new], labels[~new]), (vectors[new], labels[new]), (kinds[~new], kinds[new]), 10.0, rng(1))
    assert found.task > 0.99 and found.control > 0.99 and abs(found.commonest - 0.5) < 0.15
    plain = probe((vectors[~new, 6:], labels[~new]), (vectors[new, 6:], labels[new]), (kinds[~new], kinds[new]), 10.0, rng(1))
    assert plain.task > 0.99 and plain.control < 0.9 and plain.selectivity == plain.task - plain.control


# --- prompts ---------------------------------------------------------------------------------------------------------


def scores_are_log_probabilities(option_scores):
    model, prompt = gpt(), torch.tensor([1, 4, 2])
    options = [torch.tensor([5]), torch.tensor([3, 3, 7]), torch.tensor([8, 0])]
    for per_token in (False, True):
        wanted = torch.stack([model.log_prob(option[None], prompt[None])[0] / (len(option) if per_token else 1)
                              for option in options])
        same(option_scores(model, prompt, options, per_token), wanted.detach())


GAPS = ["the cat sat on [MASK] .", "[MASK] sat", "the [MASK]"]


def pieces():
    return WordPieceTokenizer.fit("the cat sat on the mat . a dog sat", size=40)


def small_bert():
    """With dropout, in training mode."""
    torch.manual_seed(0)
    return BERT(BERTConfig(len(pieces().vocabulary), window=24, layers=1, heads=2, d_model=8, dropout=0.5)).train()


@torch.no_grad()
def gaps_are_those_of_each_text_alone(gap_scores):
    bert, tokenizer, words = small_bert().double(), pieces(), pieces().vocabulary
    names = [name for name in ("the", "cat", "sat", "t", "d") if len(tokenizer.encode(name)) == 1]
    assert len(names) > 1
    got = gap_scores(bert, tokenizer, GAPS, names)
    for text, row in zip(GAPS, got):
        left, right = (tokenizer.encode(side).tolist() for side in text.split("[MASK]"))
        tokens = torch.tensor([[words.bos_id, *left, words.id("[MASK]"), *right, words.eos_id]])
        log_p = bert.eval().pretraining_logits(tokens)[0][0, len(left) + 1].log_softmax(dim=-1)
        same(row, log_p[[tokenizer.encode(name).item() for name in names]])


def answers_alone_count(AnswerLoss):
    model = gpt()
    answer = torch.tensor([[False, False, True, True], [False, True, True, True]])          # the last of row 1 is padding
    got, num = AnswerLoss(model).loss((TOKENS, MASK, answer))
    wanted, places = 0.0, [(0, 2), (0, 3), (1, 1), (1, 2)]
    for b, t in places:
        wanted = wanted - model(TOKENS[b:b + 1, :t])[0, -1].log_softmax(0)[TOKENS[b, t]] / len(places)
    assert num == 4
    same(got, wanted)
    parameters = list(model.parameters())
    for a, b in zip(torch.autograd.grad(got, parameters, allow_unused=True),
                    torch.autograd.grad(wanted, parameters, allow_unused=True)):
        assert (a is None) == (b is None)
        if a is not None:
            same(a, b)


def draws_fresh_maps(draw_prompts):
    for one_to_one in (False, True):
        drawn = draw_prompts(500, 5, 8, rng(1), one_to_one)
        x, y = drawn[:, ::2], drawn[:, 1::2]
        assert drawn.shape == (500, 16) and int(x.min()) == 0 and int(x.max()) == 4
        assert int(y.min()) == 5 and int(y.max()) == 9
        maps = set()
        for row in range(500):
            known = {}
            for a, b in zip(x[row].tolist(), y[row].tolist()):
                assert known.setdefault(a, b) == b
            if one_to_one:
                assert len(set(known.values())) == len(known)
            maps.add(tuple(sorted(known.items())))
        assert len(maps) > 100
        shares = torch.bincount(x.flatten()).double() / x.numel()
        assert (shares - 0.2).abs().max() < 0.03


# --- metrics ---------------------------------------------------------------------------------------------------------


def labels_of(seed, num=40):
    return (torch.randint(2, (num,), generator=rng(seed)) for seed in (seed, seed + 100))


def is_scikit_learns_f1(f1):
    for seed in range(5):
        said, true = labels_of(seed)
        assert abs(f1(said, true) - f1_score(true, said)) < 1e-12
        assert abs(f1(said, true, positive=0) - f1_score(true, said, pos_label=0)) < 1e-12
    assert f1(torch.zeros(3), torch.zeros(3)) == 0.0


def is_the_correlation(matthews):
    for seed in range(5):
        said, true = labels_of(seed)
        assert abs(matthews(said, true) - matthews_corrcoef(true, said)) < 1e-12
    assert matthews(torch.ones(4), torch.tensor([1, 1, 0, 1])) == 0.0


def shares_words(answer_f1):
    assert answer_f1("the cat cat", ["cat"]) == 2 / 3                # one of the two counts
    assert answer_f1("a dog", ["cat", "Dog!", "dog"]) == 1.0
    assert answer_f1("in Paris", ["Paris , France"]) == 0.5
    assert answer_f1("", ["the"]) == 1.0 and answer_f1("", ["cat"]) == 0.0


def normalizes_as_squad(normalized):
    assert normalized("The  Broncos' (first) defence.") == "broncos first defence"
    assert normalized("Theatre an Ant") == "theatre ant"
    assert normalized("U.S.") == "us" and normalized("8-10") == "810"


# --- the reader of spans: checks of its module -------------------------------------------------------------------------

PASSAGE = "Ada Lovelace was born in 1815. She wrote the first program. Charles Babbage built the engine in London."


def knows_the_places(m):
    """Of tokens and of sentences; and the shapes of words."""
    for token in m.tokens_in(PASSAGE):
        assert PASSAGE[token.start:token.end] == token.text
    assert m.tokens_in("a cat", offset=5) == [(5, 6, "a"), (7, 10, "cat")]
    assert [text.strip() for _, text in m.sentences_in(PASSAGE)] == [
        "Ada Lovelace was born in 1815.", "She wrote the first program.", "Charles Babbage built the engine in London."]
    assert all(PASSAGE[start:start + len(text)] == text for start, text in m.sentences_in(PASSAGE))
    assert [m.shape_of(word) for word in ("1815", "3815", "Ada", "born", "3.5", "(")] == ["Y", "9", "A", "a", "9", "("]


def takes_spans_of_a_sentence(m):
    """At most so many tokens, of the sentences that share most with the question, beginning and ending with a word."""
    reader = m.SpanReader({"born": 3.0, "built": 1.0}, longest=3, sentences=1)
    spans = reader.candidates("When was Ada Lovelace born?", PASSAGE)
    assert all(PASSAGE[span.start:span.end] == span.text and len(m.tokens_in(span.text)) <= 3 for span in spans)
    assert {span.text for span in spans} == {"Ada", "Ada Lovelace", "Lovelace", "Lovelace was born", "born", "born in 1815", "1815"}
    reader = m.SpanReader({"born": 1.0, "built": 3.0}, longest=3, sentences=1)
    assert "Charles Babbage built" in {span.text for span in reader.candidates("Who was born, and what was built?", PASSAGE)}
    assert reader._kind("In which city was she born?") == ("which", "city") and reader._kind("How many are there?")[0] == "how many"
    assert reader.answer("When?", "...") == ""


def learns_what_is_asked_for(m):
    """A year for "when", a place for "in which city", of people and places in pairs that were not trained."""
    people, places = ["Ada", "Grace", "Alan", "Edsger", "Barbara", "Donald"], ["London", "Paris", "Rome", "Oslo", "Bonn", "Bern"]
    asked = []
    for i, person in enumerate(people):
        for j, place in enumerate(places):
            year = str(1800 + 7 * i + j)
            text = f"{person} was born in {place} in {year}."
            asked += [(f"When was {person} born?", text, [year]), (f"In which city was {person} born?", text, [place])]
    reader = m.SpanReader({}, buckets=4096)
    assert m.fit_reader(reader, asked[:48], epochs=6) == 1.0
    right = [reader.answer(question, text) in truths for question, text, truths in asked[48:]]
    assert sum(right) / len(right) > 0.9


def raises_the_likelihood_of_right_spans(m):
    """Of all of them together: two answers that are right share what the wrong ones lose. A question without one is left out."""
    reader = m.SpanReader({}, buckets=512)
    question, truths = "When was Ada Lovelace born?", ["1815", "born in 1815"]
    found = reader._candidates(question, PASSAGE)
    right = torch.tensor([span.text in truths for span, _ in found])

    def p():
        with torch.no_grad():
            return reader(torch.tensor([features for _, features in found])).softmax(0)[right]
    before = p()
    assert m.fit_reader(reader, [(question, PASSAGE, truths), ("Who was it?", PASSAGE, ["Grace"])], epochs=10) == 0.5
    assert p().sum() > 0.9 > 0.3 > before.sum() and (p() > before).all()
