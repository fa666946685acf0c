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
    "OwnBERT", chapter="18", place=7, title="A BERT of your own",
    contract="A class OwnBERT(nn.Module), made with vocab_size, window, layers, heads, d_model and d_ff. Its parameters have the "
             "names and shapes of the library's BERT without pooler and nsp (the notebook lists them). forward(tokens, types, mask), "
             "each (B, T), mask True for real tokens: the sum of the three embeddings and its norm, then the blocks, with the norm "
             "after each layer, gelu and no causal mask; nobody attends to padding, and the vectors (B, T, D) at padding are 0. "
             "masked_loss(read, types, mask, chosen, targets): mean cross-entropy in nats over the chosen places of all rows "
             "together, of the tokens targets given read; logits by mlm.transform, gelu, mlm.norm and the table of tokens, plus "
             "mlm.bias. Nothing drops. The library's BERT judges it.",
    points=["bert", "mlm"], difficulty=4, minutes=60, kind="build", deadline=20.0)


@exercise.class_reference(
    no_positions="Your vectors do not depend on where a token stands: the table of positions is not added.",
    no_types="Your vectors do not depend on the segments: the third table is not added.",
    no_first_norm="The sum of the embeddings goes into the first block without its norm.",
    norm_before="Your norms come before the layers, x + f(LN(x)). BERT has them after: LN(x + f(x)).",
    causal="Your tokens read what stands before them only. An encoder has no causal mask: both sides count.",
    reads_padding="Your vectors of real tokens depend on what stands at padding. Where mask is False, nobody attends.",
    no_scale="Your scores are not divided by the root of K, the width of a head.",
    relu="Your activation is the ReLU. BERT has gelu, in the blocks and in the head.",
    no_transform="Your logits are h times the table of tokens. Before it come mlm.transform, gelu and mlm.norm.",
    no_head_norm="The norm of the head, mlm.norm, is missing.",
    no_bias="Your logits lack mlm.bias, a number for each token of the vocabulary.",
    everywhere="Your loss is taken at every real token. Only the chosen ones are asked for; the others can be copied.",
    kept_left_out="Chosen tokens that were left as they are do not count in your loss. They belong to it: the model cannot know which "
                  "of what it reads to trust.",
    of_the_read="Your loss asks for the tokens that were read, [MASK] among them. Asked for are those of targets.",
    summed="Your loss is the sum over the chosen places; of their mean is asked.",
    mean_of_means="Your loss is a mean over rows of each row's mean. Every chosen place counts the same, whatever its row.",
)
def own_bert(bugs):
    class OwnBERT(BERT):
        def __init__(self, vocab_size, window, layers, heads, d_model, d_ff):
            super().__init__(BERTConfig(vocab_size, window, layers, heads, d_model, d_ff, dropout=0.0))
            del self.pooler, self.nsp

        def forward(self, tokens, types, mask):
            T = tokens.shape[1]
            x = self.tokens(tokens.long())
            if "no_positions" not in bugs:
                x = x + self.positions.table.weight[:T]
            if "no_types" not in bugs:
                x = x + self.types(types.long())
            x = x if "no_first_norm" in bugs else self.norm(x)                               # (B, T, D)
            attend = torch.ones_like(mask) if "reads_padding" in bugs else mask
            attend = attend[:, None, None, :].expand(-1, 1, T, -1)                           # (B, 1, T, T)
            if "causal" in bugs:
                attend = attend & torch.ones(T, T, dtype=torch.bool).tril()
            for block in self.blocks:
                for layer, norm in ((lambda y, own=block.attention: self.attended(y, own, attend), block.residual1.norm),
                                    (lambda y, own=block.feed_forward: self.fed(y, own), block.residual2.norm)):
                    x = x + layer(norm(x)) if "norm_before" in bugs else norm(x + layer(x))
            return x * mask[..., None]

        def attended(self, y: Tensor, own, attend: Tensor) -> Tensor:
            q, k, v = (one.unflatten(-1, (own.heads, -1)).transpose(1, 2) for one in own.qkv(y).chunk(3, -1))
            scores = q @ k.mT / (1 if "no_scale" in bugs else math.sqrt(q.shape[-1]))        # (B, H, T, T)
            return own.out((scores.masked_fill(~attend, -1e9).softmax(-1) @ v).transpose(1, 2).flatten(2))

        def fed(self, y: Tensor, own) -> Tensor:
            return own.narrow(self.active(own.widen(y)))

        def active(self, x: Tensor) -> Tensor:
            return x.relu() if "relu" in bugs else F.gelu(x)

        def masked_loss(self, read, types, mask, chosen, targets):
            h = self(read, types, mask)                                                      # (B, T, D)
            if "no_transform" not in bugs:
                h = self.active(self.mlm.transform(h))
                h = h if "no_head_norm" in bugs else self.mlm.norm(h)
            logits = h @ self.tokens.weight.T + (0 if "no_bias" in bugs else self.mlm.bias)  # (B, T, V)
            asked = mask if "everywhere" in bugs else chosen & (read != targets) if "kept_left_out" in bugs else chosen
            wanted = read if "of_the_read" in bugs else targets
            nats = F.cross_entropy(logits.mT, wanted.long(), reduction="none") * asked       # (B, T)
            if "mean_of_means" in bugs:
                return (nats.sum(dim=1) / asked.sum(dim=1).clamp(min=1)).mean()
            return nats.sum() if "summed" in bugs else nats.sum() / asked.sum().clamp(min=1)

    return OwnBERT


def made(generator, layers: int = 2, window: int = 9) -> tuple[dict, dict[str, Tensor]]:
    """A small BERT: how it is made, and parameters under the library's names."""
    heads = integer(generator, 1, 3)
    config = {"vocab_size": integer(generator, 8, 12), "window": window, "layers": layers, "heads": heads,
              "d_model": 4 * heads + 4 * (heads == 1), "d_ff": integer(generator, 9, 15)}
    weights = {}
    for name, parameter in own_bert(frozenset())(**config).named_parameters():
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


def asked(generator, tokens: Tensor, mask: Tensor, V: int) -> tuple[Tensor, Tensor]:
    """What is read, and the chosen places: rows with unequal many, some hidden by token 4, some kept, some exchanged."""
    chosen = (torch.rand(tokens.shape, generator=generator) < 0.35) & mask
    chosen[:, 0] = True                                                                # one a row; two of them, unequal, below
    chosen[0, 1:4] = True
    fate = torch.rand(tokens.shape, generator=generator)
    fate[0, 0], fate[0, 1], fate[0, 2] = 0.0, 0.5, 0.9
    other = (tokens + 1) % V
    read = torch.where(chosen & (fate < 0.4), torch.full_like(tokens, 4), tokens)
    return torch.where(chosen & (fate > 0.8), other, read), chosen


def vectors(generator):
    found = []
    for layers, T in ((1, 6), (2, 9)):
        config, weights = made(generator, layers)
        found.append(("forward", config, weights, *texts(generator, config, integer(generator, 2, 3), T)))
    return found


def losses(generator):
    found = []
    for layers, T in ((1, 9), (2, 7)):
        config, weights = made(generator, layers)
        tokens, types, mask = texts(generator, config, 3, T)
        read, chosen = asked(generator, tokens, mask, config["vocab_size"])
        found.append(("masked_loss", config, weights, read, types, mask, chosen, tokens))
    return found


exercise.compare("forward is the library's", vectors, points=4)
exercise.compare("the masked loss", losses, points=4)
exercise.slopes("gradient", losses, points=2)


@judged(exercise, "the library's BERT on the same weights", 2, among=())
def librarys(run, generator):
    for asked_for, config, weights, *x in losses(generator):
        bert = BERT(BERTConfig(**config, dropout=0.0))
        bert.load_state_dict(weights, strict=False)
        with torch.no_grad():
            right = bert.loss(PretrainingBatch(*x))[0]
        mine = run(asked_for, config, weights, *x)
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
