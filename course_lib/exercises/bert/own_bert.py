"""A BERT of one's own, with its masked loss, equal to the library's on the same weights."""
from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.exercises.building import judged
from course_lib.exercises.draws import integer, normal, uniform
from course_lib.grading.checks import Fault
from course_lib.grading.exercise import Exercise
from course_lib.transformer.bert import BERT, BERTConfig, PretrainingBatch

exercise = Exercise(
    "OwnBERT", chapter="bert", place=6, title="A BERT of your own",
    contract="A class OwnBERT(nn.Module), made with vocab_size, window, layers, heads, d_model and d_ff. Its parameters have the "
             "names and shapes of the library's BERT without pooler and nsp (the notebook lists them). forward(tokens, types, mask), "
             "each (B, T), mask True for real tokens: the sum of the three embeddings and its norm, then the blocks, with the norm "
             "after each layer, gelu and no causal mask; nobody attends to padding, and the vectors (B, T, D) at padding are 0. "
             "masked_loss(read, types, mask, chosen, targets): mean cross-entropy in nats over the chosen places of all rows "
             "together, of the tokens targets given read; logits by mlm.transform, gelu, mlm.norm and the table of tokens, plus "
             "mlm.bias. Nothing drops. The library's BERT judges it.",
    points=["bert", "mlm"], difficulty=4, minutes=60, kind="build", deadline=20.0)


@exercise.class_reference()
class OwnBERT(BERT):
    """As the library's, without pooler and next-sentence head."""

    def __init__(self, vocab_size, window, layers, heads, d_model, d_ff):
        super().__init__(BERTConfig(vocab_size, window, layers, heads, d_model, d_ff, dropout=0.0))
        del self.pooler, self.nsp

    def forward(self, tokens, types, mask):
        x = self.norm(self.embedded(tokens.long(), types.long()))                            # (B, T, D)
        attend = self.attended(mask)[:, None]                                                # (B, 1, T, T)
        for block in self.blocks:
            x = self.after(block, x, attend)
        return self.without_padding(x, mask)

    @exercise.step
    def without_padding(self, x, mask):
        return x * mask[..., None]

    @exercise.step
    def embedded(self, tokens, types):
        return self.tokens(tokens) + self.positions.table.weight[:tokens.shape[1]] + self.types(types)

    @exercise.step
    def attended(self, mask):
        """Where a query may attend, (B, T, T)."""
        return mask[:, None, :].expand(-1, mask.shape[1], -1)

    @exercise.step
    def after(self, block, x, attend):
        x = block.residual1.norm(x + self.attention(block.attention, x, attend))
        return block.residual2.norm(x + self.network(block.feed_forward, x))

    def attention(self, sublayer, x, attend):
        q, k, v = (y.unflatten(-1, (sublayer.heads, -1)).transpose(1, 2) for y in sublayer.qkv(x).chunk(3, -1))
        weights = self.scores(q, k).masked_fill(~attend, -1e9).softmax(-1)                   # (B, H, T, T)
        return sublayer.out((weights @ v).transpose(1, 2).flatten(2))

    @exercise.step
    def scores(self, q, k):
        return q @ k.mT / math.sqrt(q.shape[-1])

    def network(self, sublayer, x):
        return sublayer.narrow(F.gelu(sublayer.widen(x)))

    @exercise.step
    def masked_loss(self, read, types, mask, chosen, targets):
        h = self.transformed(self(read, types, mask))                                        # (B, T, D)
        logits = h @ self.tokens.weight.T + self.mlm.bias                                    # (B, T, V)
        counted = self.counted(read, mask, chosen, targets)                                  # (B, T)
        nats = F.cross_entropy(logits.mT, targets.long(), reduction="none")
        return self.average(nats, counted)

    @exercise.step
    def average(self, nats, counted):
        return (nats * counted).sum() / counted.sum().clamp(min=1)

    @exercise.step
    def transformed(self, h):
        return self.mlm.norm(F.gelu(self.mlm.transform(h)))

    @exercise.step
    def counted(self, read, mask, chosen, targets):
        return chosen


@exercise.misconception(
    OwnBERT.embedded,
    "Your vectors do not depend on the position of a token: the table of positions is not added.")
def no_positions(self, tokens, types):
    return self.tokens(tokens) + self.types(types)


@exercise.misconception(
    OwnBERT.after,
    "Your norms come before the sublayers, x + f(LN(x)). BERT has them after: LN(x + f(x)).")
def norm_before(self, block, x, attend):
    x = x + self.attention(block.attention, block.residual1.norm(x), attend)
    return x + self.network(block.feed_forward, block.residual2.norm(x))


@exercise.misconception(
    OwnBERT.attended,
    "Your tokens attend to the left only. An encoder has no causal mask: both sides count.")
def causal(self, mask):
    return OwnBERT.attended.original(self, mask).tril()


@exercise.misconception(
    OwnBERT.attended,
    "Your vectors of real tokens depend on the tokens at padding. Where mask is False, no query attends.")
def reads_padding(self, mask):
    return OwnBERT.attended.original(self, torch.ones_like(mask))


@exercise.misconception(
    OwnBERT.without_padding,
    "Your vectors at padding are not 0. No token stands there, so a product with the mask sets them to 0 after the last block.")
def padding_kept(self, x, mask):
    return x


@exercise.misconception(OwnBERT.scores, "Your scores are not divided by the root of K, the width of a head.")
def no_scale(self, q, k):
    return q @ k.mT


@exercise.misconception(
    OwnBERT.scores,
    "Your scores are divided by the root of D. The product of a head has K = D / heads terms: divide by the root of K.")
def scaled_by_width(self, q, k):
    return q @ k.mT / math.sqrt(q.shape[1] * q.shape[-1])


@exercise.misconception(
    OwnBERT.transformed,
    "Your logits are h times the table of tokens. Before it come mlm.transform, gelu and mlm.norm.")
def no_transform(self, h):
    return h


@exercise.misconception(
    OwnBERT.counted,
    "Your loss is taken at every real token. Only the chosen tokens count; the others can be copied.")
def everywhere(self, read, mask, chosen, targets):
    return mask


@exercise.misconception(
    OwnBERT.counted,
    "Chosen tokens that were left as they are do not count in your loss. They belong to it: the model cannot know which tokens of its "
    "input were replaced.")
def kept_left_out(self, read, mask, chosen, targets):
    return chosen & (read != targets)


@exercise.misconception(
    OwnBERT.average,
    "Your loss is the mean over the rows of the mean of each row, so a chosen token counts more in a row that has few "
    "of them. Take one mean over the chosen tokens of all rows together.")
def mean_of_rows(self, nats, counted):
    some = counted.any(1)
    return ((nats * counted).sum(1)[some] / counted.sum(1)[some]).mean()


@exercise.misconception(
    OwnBERT.masked_loss,
    "The labels of your loss are the tokens of the input, [MASK] among them. They have to be those of targets.")
def of_the_read(self, read, types, mask, chosen, targets):
    return OwnBERT.masked_loss.original(self, read, types, mask, chosen, read)


def made(generator, layers: int = 2, window: int = 9) -> tuple[dict, dict[str, Tensor]]:
    """A small BERT: how it is made, and parameters under the library's names. Two layers have two heads or more."""
    heads = integer(generator, layers, 3)
    config = {"vocab_size": integer(generator, 8, 12), "window": window, "layers": layers, "heads": heads,
              "d_model": 4 * heads + 4 * (heads == 1), "d_ff": integer(generator, 9, 15)}
    weights = {}
    for name, parameter in OwnBERT(**config).named_parameters():
        if name.endswith("gamma"):
            weights[name] = uniform(generator, *parameter.shape, low=0.5, high=1.5)
        else:
            scale = 0.4 if parameter.dim() == 1 else 0.7 if name.endswith(("table.weight", "tokens.weight", "types.weight")) else \
                1.3 / math.sqrt(parameter.shape[1])
            weights[name] = normal(generator, *parameter.shape, scale=scale)
    return config, weights


def texts(generator, config: dict, B: int, T: int) -> tuple[Tensor, Tensor, Tensor]:
    """Tokens, segments and mask: a full row and shorter ones, with any tokens at padding."""
    tokens = torch.randint(config["vocab_size"], (B, T), generator=generator)
    mask = torch.arange(T) < torch.randint(T // 2, T, (B, 1), generator=generator)
    mask[0] = True
    types = (torch.arange(T) >= torch.randint(1, T, (B, 1), generator=generator)).long()
    return tokens, types, mask


def corrupted(generator, tokens: Tensor, mask: Tensor, V: int) -> tuple[Tensor, Tensor]:
    """The corrupted tokens, and the chosen places: rows with unequal many, some hidden by token 4, some kept, some exchanged."""
    chosen = (torch.rand(tokens.shape, generator=generator) < 0.35) & mask
    chosen[:, 0] = True                                                                # one a row; two of them, unequal, below
    chosen[0, 1:4] = True
    fate = torch.rand(tokens.shape, generator=generator)
    fate[0, 0], fate[0, 1], fate[0, 2] = 0.0, 0.5, 0.9
    other = (tokens + 1) % V
    read = torch.where(chosen & (fate < 0.4), torch.full_like(tokens, 4), tokens)
    return torch.where(chosen & (fate > 0.8), other, read), chosen


def vectors(generator):
    cases = []
    for layers, T, B in ((1, 6, integer(generator, 2, 3)), (2, 9, integer(generator, 2, 3)), (1, 5, 1)):
        config, weights = made(generator, layers)
        cases.append(("forward", config, weights, *texts(generator, config, B, T)))
    return cases


def losses(generator):
    cases = []
    for layers, T in ((1, 9), (2, 7)):
        config, weights = made(generator, layers)
        tokens, types, mask = texts(generator, config, 3, T)
        read, chosen = corrupted(generator, tokens, mask, config["vocab_size"])
        cases.append(("masked_loss", config, weights, read, types, mask, chosen, tokens))
    return cases


exercise.compare("forward is the library's", vectors, points=4)
exercise.compare("the masked loss", losses, points=4)
exercise.slopes("gradient", losses, points=2)


@judged(exercise, "the library's BERT on the same weights", 2, among=())
def librarys(run, generator):
    for method, config, weights, *x in losses(generator):
        bert = BERT(BERTConfig(**config, dropout=0.0))
        bert.load_state_dict(weights, strict=False)
        with torch.no_grad():
            right = bert.loss(PretrainingBatch(*x))[0]
        mine = run(method, config, weights, *x)
        gap = float((mine - right).detach().abs()) if isinstance(mine, Tensor) and mine.shape == right.shape else math.nan
        if not gap < 1e-4:
            return Fault(f"On the same weights your masked loss differs from that of the library's BERT by {gap:.2g} nats.")
    return None


exercise.hint(
    "The names of the parameters do not fit.",
    "A parameter's name is the path to it. self.positions = nn.ModuleDict({\"table\": nn.Embedding(window, d_model)}) gives "
    "positions.table.weight; self.mlm is a module with transform, norm and bias = nn.Parameter(torch.zeros(vocab_size)). "
    "print([name for name, _ in OwnBERT(9, 8, 1, 2, 8, 16).named_parameters()]) shows yours.")
exercise.hint(
    "The vectors are not those expected.",
    "x = norm(tokens + positions + types). In each block x = norm1(x + attention(x)), then x = norm2(x + network(x)); F.gelu "
    "without approximation. The qkv layer gives queries, keys and values side by side, each cut into heads.")
exercise.hint(
    "With padding it goes wrong.",
    "The mask concerns keys: scores of shape (B, H, T, T) are set to -inf where mask[:, None, None, :] is False. At the end, "
    "multiply by mask[..., None].")
exercise.hint(
    "The loss is not the one expected.",
    "logits[chosen] and targets[chosen] are rows of all sentences together; F.cross_entropy takes their mean. chosen says which, "
    "whether a token was hidden, exchanged or kept.")
