"""Wrong answers to the exercises of chapter fine-tuning, written without knowing its checks."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from tests.exercises.answers.register import blind


@blind("best_span: lets an answer have longest + 1 tokens: j - i may be as large as `longest`")
def _(start, end, passage, longest):
    B, S = start.shape
    score = start[:, :, None] + end[:, None, :]
    i, j = torch.arange(S)[:, None], torch.arange(S)[None, :]
    fine = (j >= i) & (j - i <= longest)
    fine = fine & passage[:, :, None] & passage[:, None, :]
    best = score.masked_fill(~fine, float("-inf")).flatten(1).argmax(1)
    return torch.stack([best // S, best % S], dim=1)


@blind("best_span: counts from the first token of the passage, not of the row")
def _(start, end, passage, longest):
    spans = []
    for s, e, inside in zip(start, end, passage):
        s, e = s[inside].tolist(), e[inside].tolist()
        pairs = [(i, j) for i in range(len(s)) for j in range(i, min(len(s), i + longest))]
        spans.append(max(pairs, key=lambda pair: s[pair[0]] + e[pair[1]]))
    return torch.tensor(spans)


class Norm(nn.Module):
    '''Given: a layer norm, its parameters as the library calls them.'''

    def __init__(self, D):
        super().__init__()
        self.gamma, self.beta = nn.Parameter(torch.ones(D)), nn.Parameter(torch.zeros(D))

    def forward(self, x):
        return F.layer_norm(x, self.gamma.shape, self.gamma, self.beta, eps=1e-12)


class Encoder(nn.Module):
    '''Given: BERT with one block; a vector for each token, (B, T) to (B, T, 32).'''

    def __init__(self, vocab_size=76, window=11, D=32, heads=4):
        super().__init__()
        self.heads, self.norm = heads, Norm(D)
        self.tokens = nn.Embedding(vocab_size, D)
        self.positions = nn.ModuleDict({"table": nn.Embedding(window, D)})
        block = {"attention": nn.ModuleDict({"qkv": nn.Linear(D, 3 * D),
                                             "out": nn.Linear(D, D)}),
                 "feed_forward": nn.ModuleDict({"widen": nn.Linear(D, 2 * D),
                                                "narrow": nn.Linear(2 * D, D)}),
                 "residual1": nn.ModuleDict({"norm": Norm(D)}),
                 "residual2": nn.ModuleDict({"norm": Norm(D)})}
        self.blocks = nn.ModuleList([nn.ModuleDict(block)])

    def forward(self, tokens):
        x = self.norm(self.tokens(tokens) + self.positions.table.weight[:tokens.shape[1]])
        [block] = self.blocks
        (qkv, out), x = block.attention.values(), x.transpose(0, 1)       # x (T, B, D)
        y, _ = F.multi_head_attention_forward(
            x, x, x, x.shape[-1], self.heads, qkv.weight, qkv.bias, None, None, False, 0.0,
            out.weight, out.bias, key_padding_mask=tokens == 0, need_weights=False)
        x = block.residual1.norm(x + y)
        y = block.feed_forward.narrow(F.gelu(block.feed_forward.widen(x)))
        return block.residual2.norm(x + y).transpose(0, 1)


@blind("fine_tune_bert: what is returned are the encoder's weights of the start, those of `body`, with the "
       "trained layer: what the encoder has learned is thrown away")
def _(body, train, valid, steps):
    torch.manual_seed(0)
    encoder = Encoder()
    encoder.load_state_dict(body)
    head = nn.Linear(32, 4)
    optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=2e-3)
    best, best_loss = None, float("inf")
    for step in range(steps + 1):
        if step % 10 == 0:
            with torch.no_grad():
                loss = F.cross_entropy(head(encoder(valid[0])[:, 0]), valid[1]).item()
            if loss < best_loss:
                best_loss = loss
                best = {name: p.clone() for name, p in body.items()}
                for name, p in head.named_parameters():
                    best["head." + name] = p.detach().clone()
        if step == steps:
            break
        rows = torch.randperm(len(train[0]))[:16]
        loss = F.cross_entropy(head(encoder(train[0][rows])[:, 0]), train[1][rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return best
