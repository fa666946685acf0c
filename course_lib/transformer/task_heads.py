"""Task heads: a linear layer on a pre-trained BERT or GPT, for fine-tuning."""

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
    """Base class of task heads: a BERT with a linear layer; both are stored together. A subclass sets:

    files    name of the Hugging Face class with the same file format, and the name of the linear layer in that class
    pooled   whether the input of the layer is `Encoded.sentence` instead of `Encoded.tokens`
    classes  number of outputs of the layer, if the task determines it; None: an argument of the constructor

    The constructor of a subclass takes the pre-trained `bert` and, unless the task determines it, `classes`. A call
    takes the arguments of `BERT.forward`: tokens (B, T), their segment types, and their mask.
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
        """Arguments of the constructor, {name: value}."""
        return {"bert": self.bert, "classes": self.head.out_features}

    @classmethod
    def from_pretrained(cls, name: str | Path) -> TaskHead:
        """Load a fine-tuned BERT from the folder `name` in Hugging Face's format, or by its name on the hub.

        It is in eval mode, and the file determines the number of classes. Raises HubError, a ValueError, if the file
        belongs to another task, and in the cases of `BERT.from_pretrained`.
        """
        return pretrained_bert.load_head(cls, BERT, name)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write config.json and model.safetensors in the format of Hugging Face's class for this task."""
        pretrained_bert.save_head(self, folder)


class SequenceClassifier(TaskHead):
    """Sequence classification, a `TaskHead`: logits (B, classes) from the vector of the whole input.

    Slides: "Fine-tuning".

    >>> bert = BERT(dict(vocab_size=8, window=16, layers=1, heads=2, d_model=4))
    >>> SequenceClassifier(bert, classes=3)(torch.tensor([[1, 5, 6, 2]])).shape
    torch.Size([1, 3])
    """
    files, pooled = ("BertForSequenceClassification", "classifier"), True

    def forward(self, tokens: Tensor, token_types: Tensor | None = None,
                mask: Bool[Tensor, "B T"] | None = None) -> Float[Tensor, "B classes"]:
        return self.head(self.dropout(self.bert(tokens, token_types, mask).sentence))


class TokenClassifier(TaskHead):
    """Token classification, for example tagging, a `TaskHead`: logits (B, T, classes) of every token.

    >>> bert = BERT(dict(vocab_size=8, window=16, layers=1, heads=2, d_model=4))
    >>> TokenClassifier(bert, classes=3)(torch.tensor([[1, 5, 6, 2]])).shape
    torch.Size([1, 4, 3])
    """
    files = ("BertForTokenClassification", "classifier")

    def forward(self, tokens: Tensor, token_types: Tensor | None = None,
                mask: Bool[Tensor, "B T"] | None = None) -> Float[Tensor, "B T classes"]:
        return self.head(self.dropout(self.bert(tokens, token_types, mask).tokens))


class QuestionAnswering(TaskHead):
    """Extractive question answering, as for SQuAD: logits of the answer's first and last token, (B, T) each, -inf at
    padding.

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
        """Arguments of the constructor, {name: value}."""
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
        """First and last token of the most probable answer: the ordered pair with the
        largest sum of logits.

        allowed  (B, T), True for tokens of the passage
        longest  maximum length of the answer in tokens
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
    """Multiple choice: logits (B, C) of C texts (B, C, T), for example a question with each of its answers.

    A linear layer maps the vector of each text to a score; the softmax of the scores is over the C texts of a row.

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
        """Arguments of the constructor, {name: value}."""
        return {"bert": self.bert}

    def forward(self, tokens: Integer[Tensor, "B C T"], token_types: Integer[Tensor, "B C T"] | None = None,
                mask: Bool[Tensor, "B C T"] | None = None) -> Float[Tensor, "B C"]:
        if tokens.dim() != 3:
            raise ValueError(f"tokens has shape {tuple(tokens.shape)}; expected (B, C, T), C texts per row")
        texts = [None if part is None else part.flatten(0, 1) for part in (tokens, token_types, mask)]    # (B C, T)
        return self.head(self.dropout(self.bert(*texts).sentence)).view(tokens.shape[:2])


def _head(body: BERT | GPT, classes: int, bias: bool = True) -> nn.Linear:
    """Linear output layer from the hidden states of `body`, of size D, to `classes` logits, randomly initialized."""
    check_sizes(classes=classes)
    head = nn.Linear(body.config.d_model, classes, bias=bias)
    nn.init.normal_(head.weight, 0, 0.02)
    if bias:
        nn.init.zeros_(head.bias)
    return head


# --- GPT -------------------------------------------------------------------------------------------------------------


class GPTClassifier(nn.Module):
    """Text classification by GPT: logits (B, classes) from the hidden state of the last token of each text.

    gpt      pre-trained GPT
    classes  number of classes
    pad_id   id of the padding token, for calls without a mask; None: without a mask every token is real

    Paper: Radford et al. 2018, section 3.2, with the last token of the text instead of an end token.

    >>> gpt = GPT(dict(vocab_size=8, window=16, layers=1, heads=2, d_model=4))
    >>> GPTClassifier(gpt, classes=3, pad_id=0)(torch.tensor([[5, 6, 7], [5, 0, 0]])).shape
    torch.Size([2, 3])
    """

    def __init__(self, gpt: GPT, classes: int, pad_id: int | None = None):
        super().__init__()
        if pad_id is not None and not 0 <= pad_id < gpt.config.vocab_size:
            raise ValueError(f"pad_id is {pad_id}; expected 0 to {gpt.config.vocab_size - 1}, a token of the GPT")
        self.gpt, self.pad_id = gpt, pad_id
        self.head = _head(gpt, classes, bias=False)

    @property
    def config(self) -> dict:
        """Arguments of the constructor, {name: value}."""
        return {"gpt": self.gpt, "classes": self.head.out_features, "pad_id": self.pad_id}

    def forward(self, tokens: Tensor, mask: Bool[Tensor, "B T"] | None = None) -> Float[Tensor, "B classes"]:
        """Return logits (B, classes) for tokens (B, T), padded on the right, or on either side if `mask` is given.

        mask  (B, T), True for real tokens
        """
        hidden = self.gpt.hidden(tokens, mask)                       # (B, T, D)
        real = mask if mask is not None else tokens != (-1 if self.pad_id is None else self.pad_id)
        place = torch.arange(1, tokens.shape[1] + 1, device=real.device)
        last = (place * real).argmax(dim=1)                          # (B,)
        return self.head(hidden[torch.arange(len(hidden), device=hidden.device), last.to(hidden.device)])

    @classmethod
    def from_pretrained(cls, name: str | Path) -> GPTClassifier:
        """Load a fine-tuned GPT-2 from the folder `name` in Hugging Face's format, or by its name on the hub.

        It is in eval mode, and the file determines the number of classes. Raises HubError, a ValueError, if the file
        belongs to another task, and in the cases of `GPT.from_pretrained`.
        """
        return pretrained.load_gpt_classifier(cls, GPT, name)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write config.json and model.safetensors in the format of Hugging Face's GPT2ForSequenceClassification.

        The format has no output layer over the vocabulary, so an untied output layer is not stored.
        """
        pretrained.save_gpt_classifier(self, folder)
