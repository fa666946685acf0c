"""Heads for tasks: a linear layer on what a trained BERT or GPT makes of a text, trained on together."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn

from course_lib.transformer import pretrained, pretrained_bert
from course_lib.transformer.bert import BERT
from course_lib.transformer.gpt import GPT
from course_lib.validation import check_sizes

__all__ = ["GPTClassifier", "MultipleChoice", "QuestionAnswering", "SequenceClassifier", "TaskHead", "TokenClassifier"]


class TaskHead(nn.Module):
    """A BERT with a linear layer for a task on top; the two are stored together. Its subclasses are the tasks.

    files    the class of Hugging Face's that reads its files, and that class's name of the layer
    pooled   whether the layer reads the pooled [CLS], and not the tokens' vectors
    classes  the layer's outputs where the task fixes them, None where the constructor is told
    """
    files: ClassVar[tuple[str, str]]
    pooled: ClassVar[bool] = False
    classes: ClassVar[int | None] = None

    def __init__(self, bert: BERT, classes: int):
        super().__init__()
        self.bert, self.dropout = bert, nn.Dropout(bert.config.dropout)
        self.head = _head(bert, classes)

    @property
    def config(self) -> dict:
        """The constructor's arguments."""
        return {"bert": self.bert, "classes": self.head.out_features}

    @classmethod
    def from_pretrained(cls, name: str | Path) -> TaskHead:
        """The fine-tuned BERT in a folder in Hugging Face's format, or of that name on its hub; eval mode.

        The number of classes is the layer's in the file. Raises HubError, a ValueError, for the file of another task,
        and as `BERT.from_pretrained` does.
        """
        return pretrained_bert.load_head(cls, BERT, name)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write config.json and model.safetensors as Hugging Face's class for this task reads them."""
        pretrained_bert.save_head(self, folder)


class SequenceClassifier(TaskHead):
    """Logits of a class for the whole input, (B, classes), from the pooled [CLS]. Slides: "Fine-tuning".

    >>> bert = BERT(dict(vocab_size=8, window=16, layers=1, heads=2, d_model=4))
    >>> SequenceClassifier(bert, classes=3)(torch.tensor([[1, 5, 6, 2]])).shape
    torch.Size([1, 3])
    """
    files, pooled = ("BertForSequenceClassification", "classifier"), True

    def forward(self, tokens: Tensor, token_types: Tensor | None = None,
                mask: Bool[Tensor, "B T"] | None = None) -> Float[Tensor, "B classes"]:
        return self.head(self.dropout(self.bert(tokens, token_types, mask).sentence))


class TokenClassifier(TaskHead):
    """Logits of a class for every token, (B, T, classes): tagging, named entities.

    >>> bert = BERT(dict(vocab_size=8, window=16, layers=1, heads=2, d_model=4))
    >>> TokenClassifier(bert, classes=3)(torch.tensor([[1, 5, 6, 2]])).shape
    torch.Size([1, 4, 3])
    """
    files = ("BertForTokenClassification", "classifier")

    def forward(self, tokens: Tensor, token_types: Tensor | None = None,
                mask: Bool[Tensor, "B T"] | None = None) -> Float[Tensor, "B T classes"]:
        return self.head(self.dropout(self.bert(tokens, token_types, mask).tokens))


class QuestionAnswering(TaskHead):
    """Logits of where an answer starts and where it ends, (B, T) each, as for SQuAD; minus infinity at padding.

    >>> bert = BERT(dict(vocab_size=8, window=16, layers=1, heads=2, d_model=4))
    >>> # first and last token of the answer
    >>> QuestionAnswering(bert).span(torch.tensor([[1, 5, 6, 2]])).shape
    torch.Size([1, 2])
    """
    files, classes = ("BertForQuestionAnswering", "qa_outputs"), 2

    def __init__(self, bert: BERT):
        super().__init__(bert, 2)

    @property
    def config(self) -> dict:
        """The constructor's arguments."""
        return {"bert": self.bert}

    def forward(self, tokens: Tensor, token_types: Tensor | None = None,
                mask: Bool[Tensor, "B T"] | None = None) -> tuple[Float[Tensor, "B T"], Float[Tensor, "B T"]]:
        logits = self.head(self.bert(tokens, token_types, mask).tokens)              # (B, T, 2)
        if mask is not None:
            logits = logits.masked_fill(~mask[..., None], -torch.inf)
        start, end = logits.unbind(dim=-1)
        return start, end

    def span(self, tokens: Tensor, token_types: Tensor | None = None,
             mask: Bool[Tensor, "B T"] | None = None,
             allowed: Bool[Tensor, "B T"] | None = None,
             longest: int = 30) -> Integer[Tensor, "B 2"]:
        """First and last token of the best answer: the pair with the largest sum of logits,
        in order.

        allowed  (B, T), True where an answer may lie: the passage, not the question
        longest  the answer's greatest length in tokens
        """
        start, end = self(tokens, token_types, mask)
        if allowed is not None:
            start, end = (logits.masked_fill(~allowed, -torch.inf)
                          for logits in (start, end))
        T = start.shape[1]
        ordered = torch.ones(T, T, dtype=torch.bool,
                             device=start.device).triu().tril(longest - 1)
        # (B, T, T)
        score = (start[:, :, None] + end[:, None, :]).masked_fill(~ordered, -torch.inf)
        best = score.flatten(1).argmax(dim=1)
        return torch.stack([best // T, best % T], dim=1)


class MultipleChoice(TaskHead):
    """Logits of which of C texts is the right one, (B, C): a question with each of its answers, say, a text each.

    One linear layer gives every text a number, from its pooled [CLS]; the softmax runs over the texts of a row.

    >>> bert = BERT(dict(vocab_size=8, window=16, layers=1, heads=2, d_model=4))
    >>> texts = torch.tensor([[[1, 5, 6, 2], [1, 5, 7, 2], [1, 5, 5, 2]]])
    >>> MultipleChoice(bert)(texts).shape                                  # one question, three answers
    torch.Size([1, 3])
    """
    files, pooled, classes = ("BertForMultipleChoice", "classifier"), True, 1

    def __init__(self, bert: BERT):
        super().__init__(bert, 1)

    @property
    def config(self) -> dict:
        """The constructor's arguments."""
        return {"bert": self.bert}

    def forward(self, tokens: Integer[Tensor, "B C T"], token_types: Integer[Tensor, "B C T"] | None = None,
                mask: Bool[Tensor, "B C T"] | None = None) -> Float[Tensor, "B C"]:
        if tokens.dim() != 3:
            raise ValueError(f"tokens has shape {tuple(tokens.shape)}; expected (B, C, T), C texts a row")
        texts = [None if part is None else part.flatten(0, 1) for part in (tokens, token_types, mask)]    # (B C, T)
        return self.head(self.dropout(self.bert(*texts).sentence)).view(tokens.shape[:2])


def _head(body: BERT | GPT, classes: int, bias: bool = True) -> nn.Linear:
    check_sizes(classes=classes)
    head = nn.Linear(body.config.d_model, classes, bias=bias)
    nn.init.normal_(head.weight, 0, 0.02)
    if bias:
        nn.init.zeros_(head.bias)
    return head


# --- a head on GPT ---------------------------------------------------------------------------------------------------


class GPTClassifier(nn.Module):
    """Logits of a class for the whole text, (B, classes), from the vector of its last token: that one has read it all.

    pad_id  the token that fills up a short row where no mask says so; None: without a mask every token is real

    Paper: Radford et al. 2018, section 3.2, with the text's own last token in place of a token for the end.

    >>> gpt = GPT(dict(vocab_size=8, window=16, layers=1, heads=2, d_model=4))
    >>> GPTClassifier(gpt, classes=3, pad_id=0)(torch.tensor([[5, 6, 7], [5, 0, 0]])).shape
    torch.Size([2, 3])
    """

    def __init__(self, gpt: GPT, classes: int, pad_id: int | None = None):
        super().__init__()
        if pad_id is not None and not 0 <= pad_id < gpt.config.vocab_size:
            raise ValueError(f"pad_id is {pad_id}; this vocabulary has 0..{gpt.config.vocab_size - 1}")
        self.gpt, self.pad_id = gpt, pad_id
        self.head = _head(gpt, classes, bias=False)

    @property
    def config(self) -> dict:
        """The constructor's arguments."""
        return {"gpt": self.gpt, "classes": self.head.out_features, "pad_id": self.pad_id}

    def forward(self, tokens: Tensor, mask: Bool[Tensor, "B T"] | None = None) -> Float[Tensor, "B classes"]:
        """Tokens (B, T), filled up on the right or, with a mask, on either side; mask as in `GPT`."""
        hidden = self.gpt.hidden(tokens, mask)                       # (B, T, D)
        real = mask if mask is not None else tokens != (-1 if self.pad_id is None else self.pad_id)
        place = torch.arange(1, tokens.shape[1] + 1, device=real.device)
        last = (place * real).argmax(dim=1)                          # (B,)
        return self.head(hidden[torch.arange(len(hidden), device=hidden.device), last.to(hidden.device)])

    @classmethod
    def from_pretrained(cls, name: str | Path) -> GPTClassifier:
        """The fine-tuned GPT-2 in a folder in Hugging Face's format, or of that name on its hub; eval mode.

        The number of classes is the layer's in the file. Raises HubError, a ValueError, for the file of another task,
        and as `GPT.from_pretrained` does.
        """
        return pretrained.load_gpt_classifier(cls, GPT, name)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write config.json and model.safetensors as Hugging Face's GPT2ForSequenceClassification reads them.

        The file has no output layer over the vocabulary; where this GPT's is not tied, it is not stored.
        """
        pretrained.save_gpt_classifier(self, folder)
