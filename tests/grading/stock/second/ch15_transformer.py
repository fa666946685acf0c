"""Wrong answers to the exercise on training a translator."""
from __future__ import annotations

from tests.grading.stock import wrong

# What the cell of the exercise gives; every answer to it begins with it.
GIVEN = """
import torch
import torch.nn.functional as F
from torch import nn

class Norm(nn.Module):
    '''Given: a layer norm, its parameters as the library calls them.'''

    def __init__(self, D):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(D))
        self.beta = nn.Parameter(torch.zeros(D))

    def forward(self, x):
        return F.layer_norm(x, self.gamma.shape, self.gamma, self.beta)


def layers(D, *attentions):
    '''Given: the layers of a block, one norm for each.'''
    made = {name: nn.ModuleDict({"qkv": nn.Linear(D, 3 * D), "out": nn.Linear(D, D)})
            for name in attentions}
    made["feed_forward"] = nn.ModuleDict({"widen": nn.Linear(D, 2 * D),
                                          "narrow": nn.Linear(2 * D, D)})
    norms = {f"residual{i + 1}": nn.ModuleDict({"norm": Norm(D)}) for i in range(len(made))}
    return nn.ModuleDict(made | norms)


class Translator(nn.Module):
    '''Given: an encoder and a decoder of one block each, norms before the layers.'''

    def __init__(self, source_words, target_words, D=64, heads=4):
        super().__init__()
        self.heads = heads
        self.source = nn.Embedding(source_words, D)
        self.target = nn.Embedding(target_words, D)          # the output layer too
        self.encoder = nn.ModuleList([layers(D, "attention")])
        self.decoder = nn.ModuleList([layers(D, "attention", "cross_attention")])
        self.encoder_norm, self.decoder_norm = Norm(D), Norm(D)
        for name, p in self.named_parameters():
            if name in ("source.weight", "target.weight"):
                nn.init.normal_(p, std=D ** -0.5)
            elif name.endswith("weight"):
                for part in p.data.chunk(3 if "qkv" in name else 1):
                    nn.init.xavier_uniform_(part)
            elif name.endswith("bias"):
                nn.init.zeros_(p)

    def forward(self, source, before):
        '''Logits (B, T, V) of what follows each of `before` (B, T), given source (B, S).'''
        real = (source != 0)[:, None, None]                  # (B, 1, 1, S)
        m, [block] = self.placed(self.source(source)), self.encoder
        m = m + self.attend(block.attention, block.residual1.norm(m), mask=real)
        m = self.encoder_norm(m + self.feed(block, block.residual2.norm(m)))
        h, [block] = self.placed(self.target(before)), self.decoder
        h = h + self.attend(block.attention, block.residual1.norm(h), causal=True)
        h = h + self.attend(block.cross_attention, block.residual2.norm(h), m, real)
        h = h + self.feed(block, block.residual3.norm(h))    # (B, T, D)
        return self.decoder_norm(h) @ self.target.weight.T

    def placed(self, x):
        '''Embeddings, enlarged, with the sines and cosines of their positions.'''
        T, D = x.shape[1:]
        angle = torch.arange(T)[:, None] / 10000 ** (torch.arange(0, D, 2) / D)
        return D ** 0.5 * x + torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)

    def attend(self, layer, x, memory=None, mask=None, causal=False):
        memory, D = x if memory is None else memory, x.shape[-1]
        weight, bias = layer.qkv.weight, layer.qkv.bias
        q = F.linear(x, weight[:D], bias[:D])
        k, v = F.linear(memory, weight[D:], bias[D:]).chunk(2, dim=-1)
        q, k, v = (one.unflatten(-1, (self.heads, -1)).transpose(1, 2) for one in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal)
        return layer.out(y.transpose(1, 2).flatten(2))

    def feed(self, block, x):
        return block.feed_forward.narrow(F.relu(block.feed_forward.widen(x)))


"""

STOCK = [
    wrong("train_translator", "the decoder reads the target itself, not shifted by one: it sees the word that it is to predict", "second", GIVEN + """
def train_translator(source, target, words):
    torch.manual_seed(0)
    model = Translator(*words)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(4):
        for rows in torch.randperm(len(source)).split(64):
            logits = model(source[rows], target[rows])
            loss = F.cross_entropy(logits.transpose(1, 2), target[rows], ignore_index=0)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return model.state_dict()
"""),
    wrong("train_translator", "the end sign is left out of the loss along with the padding: the translator never learns to stop", "second", GIVEN + """
def train_translator(source, target, words):
    torch.manual_seed(0)
    model = Translator(*words)
    start = torch.ones(len(target), 1, dtype=torch.long)
    before = torch.cat([start, target[:, :-1]], dim=1)
    wanted = target.masked_fill(target == 2, 0)           # real words only
    epochs, batch = 14, 64
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, 4e-3, total_steps=epochs * -(-len(source) // batch))
    for epoch in range(epochs):
        for rows in torch.randperm(len(source)).split(batch):
            logits = model(source[rows], before[rows])
            loss = F.cross_entropy(logits.flatten(0, 1), wanted[rows].flatten(), ignore_index=0)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return model.state_dict()
"""),
    wrong("train_translator", "the shifted input is filled up with 0 in front, the padding, where the start sign 1 belongs: the start sign is never read in training", "second", GIVEN + """
def train_translator(source, target, words):
    torch.manual_seed(1)
    model = Translator(*words)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    before = F.pad(target[:, :-1], (1, 0))
    for step in range(700):
        for group in optimizer.param_groups:
            group["lr"] = 3e-3 * min(1, (step + 1) / 50, (700 - step) / 300)
        rows = torch.randint(len(source), (64,))
        logits = model(source[rows], before[rows])               # (B, T, V)
        loss = F.cross_entropy(logits.mT, target[rows], ignore_index=0)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model.state_dict()
"""),
]
