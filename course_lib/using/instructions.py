r"""Instruction tuning: train a language model on prompts with answers, with a loss for the tokens of answers only.

Slides: "Pretraining; FTing the LM; instruction tuning", with the prompt *What topic is this about? "Last night, the
Seawolves won the game." answer: sports*.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.transformer import GPT


class AnswerLoss(nn.Module):
    r"""Cross-entropy of the answers given their questions,
    $-\frac{1}{|A|} \sum_{t \in A} \ln p(x_t \mid x_{<t})$, where A is the set of positions
    of answer tokens.

    model  GPT, which is trained in place by passing the `AnswerLoss` to `fit`

    A batch is (tokens, real, answer), each (B, T): the ids, True for real tokens, and True
    for tokens of answers.

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
        """Mean cross-entropy in nats per answer token, and the number of answer tokens.

        batch  (tokens, real, answer), (B, T) each: ids, True for real tokens, True for
               tokens of answers
        """
        tokens, real, answer = batch
        if answer.shape != tokens.shape or answer.dtype != torch.bool:
            raise ValueError(f"answer has shape {tuple(answer.shape)} and dtype "
                             f"{answer.dtype}; expected {tuple(tokens.shape)} and "
                             "torch.bool, True at the tokens of answers")
        counted = (answer & real)[:, 1:]  # (B, T - 1), without the first token
        if not counted.any():
            raise ValueError("answer is True at no real token after the first; expected "
                             "at least one")
        # padding on the right needs no mask
        left = (real[:, 1:] & ~real[:, :-1]).any()
        read = tokens.masked_fill(~real, 0)[:, :-1]
        logits = self.model(read, real[:, :-1] if left else None)    # (B, T - 1, V)
        return F.cross_entropy(logits[counted], tokens[:, 1:][counted]), int(counted.sum())
