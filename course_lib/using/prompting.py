r"""Prompts for a frozen model, and the log-probabilities of candidate answers.

Slides: "RAG, few-shot, zero-shot: no training, the model is frozen".
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float, Integer
from torch import Tensor

from course_lib.autoregressive import evaluating
from course_lib.tokenizers import WordPieceTokenizer
from course_lib.tokenizers.batching import pad
from course_lib.transformer import BERT, GPT


def write_prompt(question: str, examples: Sequence[tuple[str, str]] = (), instruction: str = "",
                 sources: Sequence[str] = ()) -> str:
    """Return a prompt of one line each for instruction, numbered sources, examples with answers, and question.

    examples  pairs (question, answer)
    sources   texts that may contain the answer, such as retrieved documents

    The prompt is zero-shot without examples, few-shot with examples, and retrieval-augmented with sources.

    >>> print(write_prompt("the cat sat", [("a dog ran", "dog")], "Name the animal."))
    Name the animal.
    a dog ran answer: dog
    the cat sat answer:
    """
    if not question.strip():
        raise ValueError("question is empty; expected a text to answer")
    lines = [instruction] if instruction else []
    lines += [f"[{number}] {source}" for number, source in enumerate(sources, 1)]
    lines += [f"{asked} answer: {answer}" for asked, answer in examples]
    return "\n".join([*lines, f"{question} answer:"])


@torch.no_grad()
def option_scores(model: GPT, prompt: Integer[Tensor, "..."], options: Sequence[Tensor],
                  per_token: bool = False) -> Float[Tensor, "K"]:
    r"""Log-probability $\ln p(\text{option} \mid \text{prompt})$ of each of K options, (K,), in nats.

    prompt     token ids (P,)
    options    token ids of each option, a tensor of one axis
    per_token  whether to divide by the option's number of tokens, so that short options have no advantage

    Raises ValueError if prompt and option exceed the window.
    """
    if not len(options) or any(len(option) < 1 for option in options):
        raise ValueError(f"options has the lengths {[len(option) for option in options]}; expected at least one option, of "
                         "at least one token each")
    longest = max(map(len, options))
    if len(prompt) < 1:
        raise ValueError("prompt is empty; expected at least one token")
    if len(prompt) + longest - 1 > model.window:
        raise ValueError(f"prompt has {len(prompt)} tokens and the longest option {longest}; expected at most "
                         f"{model.window + 1} together, one more than the window, because the last is only predicted")
    P = len(prompt)
    tokens, real = pad([torch.cat([prompt, torch.as_tensor(option)]) for option in options], 0)  # (K, P + O)
    with evaluating(model):
        log_p = model(tokens[:, :-1], real[:, :-1]).log_softmax(dim=-1)          # (K, P + O - 1, V)
    each = log_p.gather(2, tokens[:, 1:, None])[..., 0][:, P - 1:]               # of each option's tokens, (K, O)
    total = each.masked_fill(~real[:, P:], 0).sum(dim=1)
    return total / real[:, P:].sum(dim=1) if per_token else total


@torch.no_grad()
def gap_scores(bert: BERT, tokenizer: WordPieceTokenizer, texts: Sequence[str], names: Sequence[str],
               mask: str = "[MASK]") -> Float[Tensor, "N K"]:
    r"""Log-probability $\ln p(\text{name} \mid \text{text})$ of K names at the masked position of N texts, (N, K).

    texts  N texts, each with the string `mask` at one position
    names  K candidates for this position, each a single token

    Raises ValueError if a text has no mask or several, if a text exceeds the window, or if a name has several tokens.
    """
    words, ids = tokenizer.vocabulary, []
    for name in names:
        if len(tokenizer.encode(name)) != 1:
            raise ValueError(f"names contains {name!r}, which has {len(tokenizer.encode(name))} pieces; expected names of one "
                             "piece, a token of the vocabulary")
        ids.append(int(tokenizer.encode(name)))
    if not texts or not ids:
        raise ValueError(f"texts has {len(texts)} texts and names {len(ids)}; expected at least one of each")
    rows = []
    for text in texts:
        sides = text.split(mask)
        if len(sides) != 2:
            raise ValueError(f"texts contains {text[:40]!r} with {len(sides) - 1} masks; expected one {mask} in each text")
        before, after = (tokenizer.encode(side).tolist() for side in sides)
        rows.append([words.bos_id, *before, words.id(mask), *after, words.eos_id])
        if len(rows[-1]) > bert.config.window:
            raise ValueError(f"texts contains a text of {len(rows[-1])} pieces; expected at most {bert.config.window}, including "
                             "[CLS] and [SEP]")
    tokens, real = pad(rows, words.pad_id)
    gaps, scores = torch.tensor([len(tokenizer.encode(text.split(mask)[0])) + 1 for text in texts]), []
    with evaluating(bert):
        for some, own, gap in zip(tokens.split(100), real.split(100), gaps.split(100)):
            logits, _ = bert.pretraining_logits(some, mask=own)
            scores.append(logits[torch.arange(len(some)), gap].log_softmax(dim=-1)[:, ids])
    return torch.cat(scores)
