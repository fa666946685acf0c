"""Wrong answers to the exercise on fine-tuning BERT."""
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


"""

STOCK = [
    wrong("fine_tune_bert", "the layer stands on the last vector of the row, [:, -1], which is padding in most rows, not on that of [CLS]", "second", GIVEN + """
import copy

def fine_tune_bert(body, train, valid, steps):
    torch.manual_seed(0)
    model = nn.ModuleDict({"encoder": Encoder(), "head": nn.Linear(32, 4)})
    model.encoder.load_state_dict(copy.deepcopy(body))

    def loss_on(tokens, classes):
        last = model.encoder(tokens)[:, -1]           # has read the whole row
        return F.cross_entropy(model.head(last), classes)

    def weights():
        result = {name: w.clone() for name, w in model.encoder.state_dict().items()}
        result["head.weight"] = model.head.weight.detach().clone()
        result["head.bias"] = model.head.bias.detach().clone()
        return result

    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    with torch.no_grad():
        lowest, kept = loss_on(*valid).item(), weights()
    for step in range(steps):
        optimizer.zero_grad()
        loss_on(*train).backward()
        optimizer.step()
        if (step + 1) % 10 == 0:
            with torch.no_grad():
                now = loss_on(*valid).item()
            if now < lowest:
                lowest, kept = now, weights()
    return kept
"""),
    wrong("fine_tune_bert", "what is returned are the encoder's weights of the start, those of `body`, with the trained layer: what the encoder has learned is thrown away", "second", GIVEN + """
def fine_tune_bert(body, train, valid, steps):
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
"""),
    wrong("fine_tune_bert", "a learning rate of 0.05 for all weights, far too high for a body that is already trained: its knowledge is lost in the first steps", "second", GIVEN + """
def fine_tune_bert(body, train, valid, steps):
    torch.manual_seed(3)
    encoder, head = Encoder(), nn.Linear(32, 4)
    encoder.load_state_dict(body)
    optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=0.05)
    tokens, classes = train
    history = []

    def evaluate():
        with torch.no_grad():
            loss = F.cross_entropy(head(encoder(valid[0])[:, 0]), valid[1])
        state = {name: p.clone() for name, p in encoder.state_dict().items()}
        state |= {f"head.{name}": p.clone() for name, p in head.state_dict().items()}
        history.append((loss.item(), len(history), state))

    evaluate()
    for step in range(1, steps + 1):
        loss = F.cross_entropy(head(encoder(tokens)[:, 0]), classes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            evaluate()
    return min(history)[2]
"""),
]
