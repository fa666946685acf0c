r"""Tuning on instructions: go on training a language model on prompts with answers, and count the answers alone.

Slides: "Pretraining; FTing the LM; instruction tuning", with the prompt *What topic is this about? "Last night, the
Seawolves won the game." answer: sports*. A base model continues a text. That a question wants an answer is one continuation
of many; tuning makes it the likely one, for instructions that were never in the tuning texts too, if it goes well.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.transformer import GPT


class AnswerLoss(nn.Module):
    r"""$-\frac{1}{|A|} \sum_{t \in A} \ln p(x_t \mid x_{<t})$ over the tokens A of the
    answers: the question is read, not learned.

    model  trained in place; `AnswerLoss` is what `fit` takes

    >>> from course_lib.transformer import GPTConfig
    >>> gpt = GPT(GPTConfig(vocab_size=8, window=8, layers=1, heads=2, d_model=4))
    >>> tokens = torch.tensor([[1, 5, 3, 2]])
    >>> loss, num = AnswerLoss(gpt).loss((tokens, tokens > 0, tokens == 2))
    >>> num
    1
    """

    def __init__(self, model: GPT):
        super().__init__()
        self.model = model

    def loss(self, batch: tuple[Tensor, Tensor, Tensor]) -> tuple[Float[Tensor, ""], int]:
        """Nats an answer's token, and how many there are. A batch, (B, T) each: tokens,
        where one is real, where it is an answer's."""
        tokens, real, answer = batch
        if answer.shape != tokens.shape or answer.dtype != torch.bool:
            raise ValueError(f"answer has shape {tuple(answer.shape)} and dtype "
                             f"{answer.dtype}; expected {tuple(tokens.shape)} and "
                             "torch.bool, True at the tokens of answers")
        counted = (answer & real)[:, 1:]  # (B, T - 1), the first token is given
        if not counted.any():
            raise ValueError("answer is True at no real token after the first; there is "
                             "nothing to learn")
        # padding on the right is never looked at: no mask needed
        left = (real[:, 1:] & ~real[:, :-1]).any()
        read = tokens.masked_fill(~real, 0)[:, :-1]
        logits = self.model(read, real[:, :-1] if left else None)    # (B, T - 1, V)
        return F.cross_entropy(logits[counted], tokens[:, 1:][counted]), int(counted.sum())
