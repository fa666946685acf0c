"""What a right head for a task does. Asked of the library, and of its mutants."""
from __future__ import annotations

import torch

from course_lib.tokenizers import pad
from course_lib.transformer import GPT
from tests.support.random import redrawn, rng
from tests.support.tensors import same
from tests.transformer.bert_checks import MASK, TOKENS, TYPES, small_bert


def reads_what_its_task_is_about(module):
    """The pooled sentence, every token, or every real token twice; W and b by hand."""
    bert = small_bert()
    sentence, tagger, span = map(redrawn, (module.SequenceClassifier(bert, 3), module.TokenClassifier(bert, 4),
                                           module.QuestionAnswering(bert)))
    encoded = bert(TOKENS, TYPES, MASK)
    same(sentence(TOKENS, TYPES, MASK), encoded.sentence @ sentence.head.weight.T + sentence.head.bias)
    same(tagger(TOKENS, TYPES, MASK), encoded.tokens @ tagger.head.weight.T + tagger.head.bias)
    for logits, w, b in zip(span(TOKENS, TYPES, MASK), span.head.weight, span.head.bias, strict=True):
        same(logits[MASK], encoded.tokens[MASK] @ w + b)
        assert (logits[~MASK] == -torch.inf).all()


def gives_each_choice_a_number(module):
    """Choice by choice, each text by itself, its padding left out."""
    model, tokens = redrawn(module.MultipleChoice(small_bert())), torch.stack([TOKENS, TOKENS.flip(0)], dim=1)
    types, mask = torch.stack([TYPES, TYPES.flip(0)], dim=1), torch.stack([MASK, MASK.flip(0)], dim=1)
    got = model(tokens, types, mask)
    assert got.shape == (3, 2)
    for b in range(3):
        for c in range(2):
            length = int(mask[b, c].sum())
            alone = model.bert(tokens[b, c, None, :length], types[b, c, None, :length]).sentence[0]
            same(got[b, c], alone @ model.head.weight[0] + model.head.bias[0])


def reads_the_last_token(module):
    """The class of a text is told from its last real token, wherever padding stands and however it is said."""
    gpt = redrawn(GPT({"vocab_size": 11, "window": 10, "layers": 2, "heads": 3, "d_model": 12, "d_ff": 20}), scale=2.0)
    model, lengths = redrawn(module.GPTClassifier(gpt, 4, pad_id=1)), (8, 6, 4)
    want = torch.cat([gpt.hidden(TOKENS[b:b + 1, :n])[:, -1] @ model.head.weight.T for b, n in enumerate(lengths)])
    same(model(TOKENS, MASK), want)
    same(model(TOKENS.masked_fill(~MASK, 1)), want)                  # by its number
    left, real = pad([row[:n] for row, n in zip(TOKENS, lengths)], -1, side="left")
    same(model(left, real), want)
    without = module.GPTClassifier(gpt, 4).double()
    without.load_state_dict(model.state_dict())
    same(without(TOKENS[:1].masked_fill(~MASK[:1], 1)), want[:1])    # nothing is padding without a mask
    same(without(TOKENS), gpt.hidden(TOKENS)[:, -1] @ model.head.weight.T)


def finds_the_best_span(module):
    """In order, in the passage and not too long, by trying all pairs, for thirty-two rows of drawn logits."""
    model, (start, end) = module.QuestionAnswering(small_bert()), torch.randn(2, 32, 8, generator=rng(3))
    model.forward = lambda *_: (start, end)
    allowed = torch.tensor([0, 0, 1, 1, 1, 1, 1, 0]).bool().expand(32, 8)
    for longest in (1, 2, 30):
        found = model.span(torch.zeros(32, 8).long(), None, None, allowed, longest)
        for b in range(32):
            pairs = [(float(start[b, i] + end[b, j]), i, j) for i in range(2, 7) for j in range(i, min(7, i + longest))]
            assert found[b].tolist() == list(max(pairs)[1:])
