"""A class-based n-gram model: an n-gram over word classes, and words given their class."""

from __future__ import annotations

from typing import Sequence

import torch
from jaxtyping import Float, Integer
from torch import Tensor
from torch.distributions import Distribution

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Categorical
from course_lib.counting.ngram import NGram, State
from course_lib.tokenizers.sequences import Tokens, as_sequences, check_prompt, check_symbols


class ClassNGram(AutoregressiveModel):
    r"""$p(w_i \mid w_{i-m}, \dots, w_{i-1}) = p(w_i \mid c_i)\; p(c_i \mid c_{i-m}, \dots, c_{i-1})$, $c_i = c(w_i)$.

    With m = 1 this is the class bigram of Brown et al., p(w | c) p(c | c'), with C (C - 1) + V - C parameters; a bigram
    model over words has V (V - 1).

    classes     (V,), the class of each word, 0..C-1, as `brown_classes` returns
    n           order of the `NGram` over classes, m = n - 1; `smoothing`, `alpha` and `buckets` are its arguments too
    bos_id      start symbol, which must be the only word of its class; None: the model needs a prompt
    word_alpha  added to the count of every word in p(w | c) = (count of w) / (count of c)

    Slides: the timeline of language models. Paper: Brown, Della Pietra, deSouza, Lai and Mercer 1992.

    >>> # the classes are {0, 1} and {2, 3}
    >>> model = ClassNGram([0, 0, 1, 1]).fit_counts([0, 2, 1, 3, 0, 3, 1, 2])
    >>> # 1/2 for each word of the class
    >>> model.log_prob(torch.tensor([[3, 0]]), context=torch.tensor([[1]])).exp()
    tensor([0.2500])
    """

    def __init__(self, classes: Tensor | Sequence[int], *, n: int = 2, bos_id: int | None = None,
                 smoothing: str = "none", alpha: float = 1.0, buckets: int = 1, word_alpha: float = 0.0):
        classes = torch.as_tensor(classes)
        num_classes = _check_classes(classes, bos_id)
        super().__init__(None, Categorical(len(classes)))
        if not 0 <= word_alpha < float("inf"):
            raise ValueError(f"word_alpha is {word_alpha}; expected 0 or more")
        self.bos_id, self.word_alpha = bos_id, word_alpha
        self._options = {"smoothing": smoothing, "alpha": alpha, "buckets": buckets}
        self.chain = NGram(n=n, vocab_size=num_classes,
                           bos_id=None if bos_id is None else int(classes[bos_id]), **self._options)
        self.register_buffer("classes", classes.long().clone(), persistent=False)    # in the config
        self.register_buffer("word_counts", torch.zeros(len(classes), dtype=torch.int32))

    @property
    def config(self) -> dict:
        """The constructor's arguments."""
        return {"classes": self.classes.tolist(), "n": self.chain.memory + 1, "bos_id": self.bos_id, **self._options,
                "word_alpha": self.word_alpha}

    @property
    def membership(self) -> Float[Tensor, "V"]:
        """p(w | c) of each word w given its class c, (V,); uniform within a class whose words all have the count 0."""
        count = self.word_counts.to(self.chain.allowed.dtype) + self.word_alpha
        alike = torch.zeros(self.chain.vocab_size, dtype=count.dtype, device=count.device)
        total = alike.index_add(0, self.classes, count)[self.classes]                # (V,): of each word's class
        size = alike.index_add(0, self.classes, torch.ones_like(count))[self.classes]
        return torch.where(total > 0, count / total.clamp(min=1e-30), 1 / size)

    # every factor at once
    def conditionals(self, x: Integer[Tensor, "B n"], context: Tensor | None = None) -> Distribution:
        return self._words(self.chain.conditionals(self.classes[x], self._of(context)))          # (B, n, V)

    def log_prob(self, x: Integer[Tensor, "B n"], context: Tensor | None = None) -> Float[Tensor, "B"]:
        """Exact log-likelihood (B,) of each row of words x (B, n), in nats."""
        return self.chain.log_prob(self.classes[x], self._of(context)) + self.membership.log()[x].sum(dim=1)

    # one word at a time
    def start(self, batch: int, context: Integer[Tensor, "B P"] | None = None) -> State:
        return self.chain.start(batch, self._of(context))

    def predict(self, state: State) -> Distribution:
        return self._words(self.chain.predict(state))                # (B, V)

    def update(self, state: State, x_i: Tensor) -> State:
        return self.chain.update(state, self.classes[x_i.long()])

    def parents(self, i: int) -> list[int]:
        return self.chain.parents(i)

    def check_input(self, x: Tensor, context: Tensor | None = None) -> Integer[Tensor, "B n"]:
        return super().check_input(check_symbols(x), context)

    def check_context(self, context: Tensor, batch: int) -> None:
        check_prompt(self, context, batch, self.chain.memory if self.bos_id is None else 0)

    def _of(self, words: Tensor | None) -> Tensor | None:
        return None if words is None else self.classes[words.long()]

    def _words(self, over_classes: Distribution) -> Distribution:
        return self.conditional(over_classes.logits[..., self.classes] + self.membership.log())

    # estimation
    @torch.no_grad()
    def fit_counts(self, tokens: Tokens) -> ClassNGram:
        """Count the words, and the n-grams of classes, of one text (T,) or of a list of texts. Returns self."""
        sequences = self._sequences(tokens, "tokens")
        self.chain.fit_counts([self.classes[s] for s in sequences])
        self.word_counts = torch.bincount(torch.cat(sequences), minlength=len(self.classes)).int()
        return self

    def fit_weights(self, held_out: Tokens, steps: int = 30) -> list[float]:
        """Fit the interpolation weights of the `NGram` over classes on a held-out text by `steps` steps of EM.

        Returns the mean log-likelihood of the classes before each step, in nats per word: see `NGram.fit_weights`.
        """
        return self.chain.fit_weights([self.classes[s] for s in self._sequences(held_out, "held_out")], steps)

    def _sequences(self, tokens: Tokens, name: str) -> list[Tensor]:
        return [s.to(self.classes.device) for s in as_sequences(tokens, len(self.classes), name, self.bos_id)]

    @torch.no_grad()
    def randomize(self, generator: torch.Generator | None = None) -> None:
        """Set random counts of words and of n-grams of classes; the class of each word is unchanged."""
        self.chain.randomize(generator)
        drawn = torch.randint(1, 8, (len(self.classes),), generator=generator)
        self.word_counts = drawn.int().to(self.word_counts.device)


def _check_classes(classes: Tensor, bos_id: int | None) -> int:
    """Return the number of classes. Raises ValueError if `classes` or `bos_id` is invalid."""
    if classes.dim() != 1 or len(classes) == 0 or classes.is_floating_point():
        raise ValueError(f"classes has shape {tuple(classes.shape)} and {classes.dtype}; expected integers (V,), the class of each word")
    size = int(classes.max()) + 1
    if int(classes.min()) < 0 or len(classes.unique()) != size:
        raise ValueError(f"classes goes from {int(classes.min())} to {size - 1} with {len(classes.unique())} distinct values; "
                         "expected every class from 0 to the largest to have at least one word")
    if size < 2:
        raise ValueError("classes is 0 for all words, so there is one class; expected at least two")
    if bos_id is not None and not 0 <= bos_id < len(classes):
        raise ValueError(f"bos_id is {bos_id}; expected 0 to {len(classes) - 1}, the ids of this vocabulary")
    if bos_id is not None and int((classes == classes[bos_id]).sum()) > 1:
        raise ValueError(f"bos_id = {bos_id} shares its class with other words; expected a class of its own, as "
                         "brown_classes(..., bos_id=...) assigns")
    return size
