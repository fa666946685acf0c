r"""One quantity in four units: how well a model foretells a text.

With N symbols and $-\ln p(x)$ nats in all: perplexity is $\exp(\text{nats} / N)$, bits per token are
$\text{nats} / (N \ln 2)$, bits per character $\text{nats} / (C \ln 2)$ with C the characters that the symbols spell.
Perplexities compare only over the same symbols; bits per character compare characters, words and pieces of words, so
long as each model pays for every character: a word outside the vocabulary for its spelling (`spelling_nats`).
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
    """Minus the log-likelihood of one text (T,), or of several, in nats, and the number of symbols scored.

    Each text begins anew: after the prompt `context` (P,), which is not scored, or after the model's own start.
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
    r"""$\exp\bigl(-\frac{1}{N} \ln p(x)\bigr)$: among how many equally likely symbols the model seems to choose."""
    total, count = nats(model, tokens, context)
    return math.exp(total / count) if total / count < 709 else math.inf


def bits_per_token(model: nn.Module, tokens: Tokens, context: Integer[Tensor, "T"] | None = None) -> float:
    r"""$-\frac{1}{N} \log_2 p(x)$: the base-2 logarithm of the perplexity."""
    total, count = nats(model, tokens, context)
    return bits(total) / count


def bits_per_character(model: nn.Module, tokens: Tokens, characters: int, context: Integer[Tensor, "T"] | None = None,
                       spelling: float = 0.0) -> float:
    r"""$-\log_2 p(x)$ by the number of characters that the tokens spell, whatever a token is.

    spelling  nats to add for words that the vocabulary lacks: see `spelling_nats`
    """
    if characters < 1:
        raise ValueError(f"characters is {characters}; expected the length of the text that the tokens spell")
    return bits(nats(model, tokens, context)[0] + spelling) / characters


def spelling_nats(speller: nn.Module, words: Sequence[str], tokenizer) -> float:
    """What it costs to spell these words letter by letter, in nats: each a sequence that its end symbol closes.

    speller    a model of characters that starts by itself (has a bos_id), over the symbols of `tokenizer`
    tokenizer  a `CharTokenizer` with an end symbol
    """
    if tokenizer.vocabulary.eos_id is None:
        raise ValueError("tokenizer has no end symbol; without one the speller cannot say where a word ends")
    return nats(speller, [tokenizer.encode(word, eos=True) for word in words])[0] if words else 0.0


def bits(nats: float) -> float:
    """Nats to bits."""
    return nats / math.log(2)


class Bleu(NamedTuple):
    """score (0 to 100), and sacrebleu's signature: without it the number means nothing.

    >>> Bleu(37.94, "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.4.3").score
    37.94
    """

    score: float
    signature: str


def bleu(hypotheses: Sequence[str], references: Sequence[Sequence[str]], tokenize: str = "13a",
         lowercase: bool = False) -> Bleu:
    r"""$100\, b \, (p_1 p_2 p_3 p_4)^{1/4}$ over a whole corpus, by sacrebleu.

    $p_n$ is the share of the hypotheses' n-grams that a reference has, each counted no more often than there, and
    $b = \min(1, e^{1 - r/c})$ the penalty for being shorter (c) than the references (r).

    references  for each hypothesis its references, one or several
    tokenize    "13a" for plain text; "none" for text that was cut into tokens before. They give different numbers

    Paper: Papineni et al. 2002; Post 2018 for the signature. Needs the extra `text`: pip install sacrebleu.
    """
    if len(hypotheses) != len(references) or not hypotheses:
        raise ValueError(f"hypotheses has {len(hypotheses)} texts and references {len(references)}; expected as many, "
                         "at least one")
    if any(isinstance(each, str) or not each for each in references):
        raise ValueError("references holds a text or an empty list; expected a list of texts for each hypothesis")
    try:
        from sacrebleu.metrics import BLEU
    except ModuleNotFoundError:
        raise ModuleNotFoundError("bleu needs sacrebleu: pip install sacrebleu") from None

    most = max(map(len, references))
    columns = [[each[k] if k < len(each) else None for each in references] for k in range(most)]
    metric = BLEU(tokenize=tokenize, lowercase=lowercase, force=tokenize == "none")
    score = metric.corpus_score(list(hypotheses), columns).score
    return Bleu(score, str(metric.get_signature()))
