r"""Metrics of a language model: perplexity, bits per token, bits per character, BLEU.

For a text x of N tokens and C characters with the negative log-likelihood $-\ln p(x)$, in nats, perplexity is
$\exp(\text{nats} / N)$, bits per token are $\text{nats} / (N \ln 2)$, and bits per character are
$\text{nats} / (C \ln 2)$. Perplexities are comparable only between models of the same tokens. Bits per character are
comparable across tokenizers if words outside the vocabulary are included with their spelling (`spelling_nats`).
"""

from __future__ import annotations

import math
from typing import NamedTuple, Sequence

import torch
from jaxtyping import Integer
from torch import Tensor, nn

from course_lib.tokenizers.sequences import Tokens, as_sequences

ROWS = 64                                                            # sequences of one length scored together


@torch.no_grad()
def nats(model: nn.Module, tokens: Tokens, context: Integer[Tensor, "T"] | None = None) -> tuple[float, int]:
    """The negative log-likelihood of one text or of a list of texts, in nats, and the number of tokens.

    tokens   ids of a text, (T,), or of several texts
    context  prompt of P tokens, (P,), that precedes each text and is not scored; None: a text has no prompt
    """
    sequences = as_sequences(tokens, model.conditional.num_values)
    device = next((t.device for t in (*model.parameters(), *model.buffers())), None)
    by_length: dict[int, list[Tensor]] = {}
    for s in sequences:
        by_length.setdefault(len(s), []).append(s)
    total = 0.0
    for group in by_length.values():
        for x in torch.stack(group).to(device).split(ROWS):
            prompt = None if context is None else context.to(device).expand(len(x), -1)
            total -= model.log_prob(x, prompt).double().sum().item()
    return total, sum(map(len, sequences))


def perplexity(model: nn.Module, tokens: Tokens, context: Integer[Tensor, "T"] | None = None) -> float:
    r"""The perplexity per token, $\exp\bigl(-\frac{1}{N} \ln p(x)\bigr)$; arguments as in `nats`."""
    total, count = nats(model, tokens, context)
    return math.exp(total / count) if total / count < 709 else math.inf


def bits_per_token(model: nn.Module, tokens: Tokens, context: Integer[Tensor, "T"] | None = None) -> float:
    r"""Bits per token, $-\frac{1}{N} \log_2 p(x)$: the base-2 logarithm of the perplexity; arguments as in `nats`."""
    total, count = nats(model, tokens, context)
    return bits(total) / count


def bits_per_character(model: nn.Module, tokens: Tokens, characters: int, context: Integer[Tensor, "T"] | None = None,
                       spelling: float = 0.0) -> float:
    r"""Bits per character, $-\frac{1}{C} \log_2 p(x)$ for a text of C characters.

    tokens, context  as in `nats`
    characters       C, number of characters of the text, or of all texts
    spelling         nats to add for the spelling of words outside the vocabulary, see `spelling_nats`
    """
    if characters < 1:
        raise ValueError(f"characters is {characters}; expected the length of the text, at least 1")
    return bits(nats(model, tokens, context)[0] + spelling) / characters


def spelling_nats(speller: nn.Module, words: Sequence[str], tokenizer) -> float:
    """The negative log-likelihood of the characters of all words, in nats; each word ends with the end symbol.

    speller    a language model of characters with a bos_id, over the vocabulary of `tokenizer`
    tokenizer  a `CharTokenizer` with an end symbol
    """
    if tokenizer.vocabulary.eos_id is None:
        raise ValueError("tokenizer has no end symbol; expected one, such as of CharTokenizer.fit(text, eos='</s>')")
    return nats(speller, [tokenizer.encode(word, eos=True) for word in words])[0] if words else 0.0


def bits(nats: float) -> float:
    """Convert nats to bits."""
    return nats / math.log(2)


class Bleu(NamedTuple):
    """A BLEU score, 0 to 100, and the signature of sacrebleu, which states how it was computed.

    >>> Bleu(37.94, "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.4.3").score
    37.94
    """

    score: float
    signature: str


def bleu(hypotheses: Sequence[str], references: Sequence[Sequence[str]], tokenize: str = "13a",
         lowercase: bool = False) -> Bleu:
    r"""The BLEU score of a corpus, $100\, b \, (p_1 p_2 p_3 p_4)^{1/4}$, computed by sacrebleu.

    $p_n$ is the clipped precision of n-grams, and $b = \min(1, e^{1 - r/c})$ is the brevity penalty, where c is the
    total length of the hypotheses and r the total length of their references.

    hypotheses  generated texts
    references  list of one or more reference texts for each hypothesis
    tokenize    "13a" for plain text, "none" for tokenized text
    lowercase   convert all texts to lower case before

    Papers: Papineni et al. 2002; Post 2018 for the signature. Needs sacrebleu.
    """
    if len(hypotheses) != len(references) or not hypotheses:
        raise ValueError(f"hypotheses has {len(hypotheses)} texts and references {len(references)}; expected equal numbers, "
                         "at least 1")
    if any(isinstance(each, str) or not each for each in references):
        raise ValueError("references contains a text or an empty list; expected a list of texts for each hypothesis")
    try:
        from sacrebleu.metrics import BLEU
    except ModuleNotFoundError:
        raise ModuleNotFoundError("bleu needs sacrebleu: pip install sacrebleu") from None

    most = max(map(len, references))
    columns = [[each[k] if k < len(each) else None for each in references] for k in range(most)]
    metric = BLEU(tokenize=tokenize, lowercase=lowercase, force=tokenize == "none")
    score = metric.corpus_score(list(hypotheses), columns).score
    return Bleu(score, str(metric.get_signature()))
