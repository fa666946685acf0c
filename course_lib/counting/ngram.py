r"""N-gram models: $p(x_i \mid x_{i-m}, \dots, x_{i-1})$ from counts."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float, Integer
from torch import Tensor
from torch.distributions import Distribution

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Categorical
from course_lib.counting.counts import Histories, distinct, windows
from course_lib.counting.packing import pack, unpack
from course_lib.counting.smoothing import Interpolated, scheme
from course_lib.tokenizers.sequences import Tokens, as_sequences, check_prompt, check_symbols

MAX_TABLE = 2 ** 20                                                  # maximum number of counts in `randomize`


class State(NamedTuple):
    """Sampling state of an `NGram`: the history of each row."""

    history: Tensor                                                  # (B, m): the last m symbols, oldest first


class NGram(AutoregressiveModel):
    r"""$p(x_i \mid x_{<i}) = p(x_i \mid x_{i-m}, \dots, x_{i-1})$, estimated from counts, with m = n - 1.

    n           order: 1 for a unigram, 2 for a bigram, 3 for a trigram model
    vocab_size  V, the number of symbols
    bos_id      start symbol, prepended m times to every sequence and never predicted. None: the model conditions on a
                prompt, `context` (B, P) with P >= m
    smoothing   "none" (maximum likelihood), "add", "interpolated" (its weights are fitted by `fit_weights`) or
                "kneser-ney": see `course_lib.counting.smoothing`
    alpha       count that is added to each n-gram with "add"
    buckets     number of weights for each length of the history with "interpolated": a weight for each range of the
                history's count

    The counts are stored in the state dict, compressed: half a megabyte for the 6-grams of a megabyte of text.

    Slides: the timeline of language models. Papers: Shannon 1948; Jelinek and Mercer 1980.

    >>> bigram = NGram(n=2, vocab_size=3, bos_id=2).fit_counts([[0, 1, 1], [0, 0, 1]])
    >>> # 0 at the start; 0 or 1 after a 0
    >>> bigram.conditionals(torch.tensor([[0, 1]])).probs
    tensor([[[1.0000, 0.0000, 0.0000],
             [0.3333, 0.6667, 0.0000]]])
    """

    def __init__(self, *, n: int, vocab_size: int, bos_id: int | None = None, smoothing: str = "none",
                 alpha: float = 1.0, buckets: int = 1):
        super().__init__(None, Categorical(vocab_size))
        if n < 1:
            raise ValueError(f"n is {n}; expected at least 1 (1 for a unigram, 2 for a bigram)")
        if bos_id is not None and not 0 <= bos_id < vocab_size:
            raise ValueError(f"bos_id is {bos_id}; expected 0 to {vocab_size - 1}, the ids of this vocabulary")
        self.memory, self.vocab_size, self.bos_id = n - 1, vocab_size, bos_id        # `n` is the number of variables
        self._options = {"smoothing": smoothing, "alpha": alpha, "buckets": buckets}
        self.smoothing = scheme(smoothing, n - 1, vocab_size - (bos_id is not None), alpha, buckets)
        self.histories: Histories | None = None                      # the tree of counts; None before fit_counts
        allowed = torch.ones(vocab_size)
        if bos_id is not None:
            allowed[bos_id] = 0
        self.register_buffer("allowed", allowed, persistent=False)   # (V,): 1 where a symbol may be predicted
        self.register_buffer("packed", torch.zeros(0, dtype=torch.uint8))            # the compressed counts

    @property
    def config(self) -> dict:
        """The constructor's arguments."""
        return {"n": self.memory + 1, "vocab_size": self.vocab_size, "bos_id": self.bos_id, **self._options}

    # every factor at once
    def conditionals(self, x: Integer[Tensor, "B n"], context: Tensor | None = None) -> Distribution:
        return self.conditional(self._p(self._past(x, context)).log())          # (B, n, V)

    def log_prob(self, x: Integer[Tensor, "B n"], context: Tensor | None = None) -> Float[Tensor, "B"]:
        """Exact log-likelihood (B,) of each row, in nats; only the probabilities of the symbols of x are computed."""
        return self._p(self._past(x, context), x).log().sum(dim=1)

    # one symbol at a time
    def start(self, batch: int, context: Integer[Tensor, "B P"] | None = None) -> State:
        return State(self._before(batch, context))

    def predict(self, state: State) -> Distribution:
        return self.conditional(self._p(state.history).log())        # (B, V)

    def update(self, state: State, x_i: Tensor) -> State:
        return State(torch.cat([state.history, x_i[:, None].long()], dim=1)[:, 1:])

    def parents(self, i: int) -> list[int]:
        return list(range(max(0, i - self.memory), i))

    def _p(self, history: Integer[Tensor, "... m"], symbol: Tensor | None = None) -> Tensor:
        """p(symbol | history), (...), or p(. | history) of every symbol, (..., V), by the recursion of `smoothing`.

        The recursion is unrolled: the `share` of the history of k symbols (level k) is multiplied by the `rest` of
        every longer history. Only counted symbols have a share, so the cost is proportional to the number of
        successors, not to V.
        """
        if self.histories is None:
            raise ValueError("the n-gram model has no counts, which its predictions need; call fit_counts(tokens) first")
        dtype, tree, k = self.allowed.dtype, self.histories, torch.arange(self.memory + 1, device=self.allowed.device)
        h = tree.walk(history)                                       # (..., L): levels 0..m, -1 if unseen
        total, types = tree.total[h].to(dtype), tree.types[h].to(dtype)
        rest = torch.where(h >= 0, self.smoothing.rest(k, total, types), 1)
        below = rest.flip(-1).cumprod(dim=-1).flip(-1)               # product of the rests of levels k and above
        reach = torch.cat([below[..., 1:], torch.ones_like(below[..., :1])], dim=-1)  # weight of level k
        uniform = self.allowed / self.allowed.sum()
        if symbol is not None:
            share = self.smoothing.share(k, tree.count_of(h, symbol[..., None]).to(dtype), total, types)
            return (reach * share).sum(dim=-1) + below[..., 0] * uniform[symbol]
        row, follower, count = tree.following(h.flatten())           # row: place in (..., L), flattened
        share = self.smoothing.share(row % len(k), count.to(dtype), total.flatten()[row], types.flatten()[row])
        p = (below[..., :1] * uniform).reshape(-1, self.vocab_size)  # (..., V), flattened
        p.index_put_((row // len(k), follower), reach.flatten()[row] * share, accumulate=True)
        return p.reshape(*history.shape[:-1], self.vocab_size)

    def _past(self, x: Integer[Tensor, "B n"], context: Tensor | None) -> Integer[Tensor, "B n m"]:
        """The history of each position, the m symbols before it, oldest first: (B, n, m)."""
        padded = torch.cat([self._before(len(x), context), x], dim=1)                # (B, m + n)
        index = torch.arange(x.shape[1], device=x.device)[:, None] + torch.arange(self.memory, device=x.device)
        return padded[:, index]

    def _before(self, batch: int, context: Tensor | None) -> Integer[Tensor, "B m"]:
        """The history of the first symbol, (B, m): the last m symbols of m times `bos_id`, if given, and the prompt."""
        device = self.allowed.device
        if context is None and self.bos_id is None and self.memory > 0:
            raise ValueError(f"context is None; expected a prompt (B, P) with P at least n - 1 = {self.memory}, "
                             "because this model has no bos_id")
        parts = [torch.full((batch, self.memory if self.bos_id is not None else 0), self.bos_id or 0, device=device)]
        if context is not None:
            parts.append(check_prompt(self, context, batch, self.memory if self.bos_id is None else 0).to(device))
        tokens = torch.cat(parts, dim=1)
        return tokens[:, tokens.shape[1] - self.memory:]

    def check_input(self, x: Tensor, context: Tensor | None = None) -> Integer[Tensor, "B n"]:
        return super().check_input(check_symbols(x), context)

    def check_context(self, context: Tensor, batch: int) -> None:
        check_prompt(self, context, batch, self.memory if self.bos_id is None else 0)

    # estimation
    @torch.no_grad()
    def fit_counts(self, tokens: Tokens) -> NGram:
        """Count the n-grams of one text (T,) or of a list of texts. Returns self.

        Without bos_id the first m symbols of a text are history only. Raises ValueError if no text has n symbols, or if
        a text contains bos_id, which the model prepends itself.
        """
        self._set(*distinct(self._windows(tokens, "tokens")))
        tree = self.histories
        self.smoothing.fit(tree.depth[tree.pairs // self.vocab_size], tree.count)
        return self

    @torch.no_grad()
    def fit_weights(self, held_out: Tokens, steps: int = 30) -> list[float]:
        """Fit the interpolation weights by `steps` steps of EM; return the mean log-likelihood before each step.

        held_out  text that was not counted, (T,) or a list; on the counted text, the longest histories get all weight

        The latent variable of a symbol is the level, the length k of the history, from which it was sampled. An M-step
        sets the weight of a level to its expected number of symbols, divided by the expected number of symbols of this
        level and of all lower levels. The log-likelihood is in nats per symbol. Paper: Jelinek and Mercer 1980.
        """
        if not isinstance(self.smoothing, Interpolated):
            raise ValueError(f'smoothing is {self._options["smoothing"]!r}; expected "interpolated", which has weights to fit')
        rows = self._windows(held_out, "held_out")
        history, symbol = rows[:, :-1], rows[:, -1]
        self._p(history[:1])                                         # raises without counts
        h = self.histories.walk(history)                             # (N, L)
        total = self.histories.total[h]
        ml = self.histories.count_of(h, symbol[:, None]) / total.double()
        base = (self.allowed / self.allowed.sum())[symbol].double()
        return self.smoothing.em(ml, self.smoothing.bucket(total), h >= 0, base, steps)

    def _windows(self, tokens: Tokens, name: str) -> Integer[Tensor, "N m"]:
        sequences = [s.to(self.allowed.device) for s in as_sequences(tokens, self.vocab_size, name, self.bos_id)]
        rows = windows(sequences, self.memory, self.bos_id)
        if len(rows) == 0:
            raise ValueError(f"{name} has sequences of at most {max(map(len, sequences))} symbols; expected a sequence "
                             f"of at least n = {self.memory + 1} symbols, or a model with bos_id")
        return rows

    def _set(self, grams: Integer[Tensor, "G m"], counts: Tensor) -> None:
        """Set the counts (G,) of G distinct n-grams, (G, m) in lexicographic order, and their compressed form."""
        self.packed = pack(grams, counts)
        self._count(grams, counts)

    def _count(self, grams: Integer[Tensor, "G m"], counts: Tensor) -> None:
        tree = Histories.of(grams, counts, self.vocab_size)
        self.histories = tree.continued(self.bos_id) if self.smoothing.continuation else tree

    @torch.no_grad()
    def randomize(self, generator: torch.Generator | None = None) -> None:
        """Set random counts, some of them 0, and random smoothing parameters."""
        m, size = self.memory + 1, self.vocab_size ** (self.memory + 1)
        if size > MAX_TABLE:
            raise ValueError(f"randomize would sample {self.vocab_size}^{m} = {size} counts; expected at most {MAX_TABLE}: "
                             "use a model with a smaller vocab_size or a smaller n")
        place = self.vocab_size ** torch.arange(m - 1, -1, -1)
        grams = torch.arange(size)[:, None] // place % self.vocab_size               # all n-grams, sorted
        counts = torch.randint(0, 8, (size,), generator=generator)
        keep = (counts > 0) & (grams[:, -1] != (-1 if self.bos_id is None else self.bos_id))
        keep[-1 if self.bos_id != self.vocab_size - 1 else -2] |= not keep.any()     # never an empty table
        self._set(grams[keep].to(self.allowed.device), counts[keep].clamp(min=1).to(self.allowed.device))
        self.smoothing.randomize(generator)

    def _load_from_state_dict(self, state_dict, prefix, *args):
        """Load counts of any size, and build the tree from them."""
        packed = state_dict.get(prefix + "packed")
        if packed is not None:
            self.packed, self.histories = packed.to(self.allowed.device).clone(), None
            if len(packed):
                grams, counts = unpack(self.packed)
                if grams.shape[1] != self.memory + 1 or int(grams.max()) >= self.vocab_size:
                    raise ValueError(f"the packed counts hold n-grams of {grams.shape[1]} symbols with ids up to "
                                     f"{int(grams.max())}; expected n = {self.memory + 1} and ids below "
                                     f"{self.vocab_size}: the file is damaged or belongs to another model")
                self._count(grams, counts)
        super()._load_from_state_dict(state_dict, prefix, *args)
