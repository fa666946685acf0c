"""Wrong answers to the exercises on BERT."""
from __future__ import annotations

from course_lib.grading.notebooks import form
from tests.conftest import ROOT
from tests.grading.stock import wrong


def given(exercise: str) -> str:
    """What the cell of an exercise gives: its lines before the function that is asked for."""
    cells = form.read(ROOT / "exercises" / "18-bert.ipynb")["cells"]
    [cell] = [one for one in cells if form.exercise(one) == exercise and form.role(one) == "answer"]
    return "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n" + cell["source"].partition(f"def {exercise}(")[0]


ENCODER = given("fine_tune_bert")

STOCK = [
    wrong("bert_segments", "the first [SEP] is put into segment 1", "open", """
import torch

def bert_segments(a_len, b_len):
    seg = torch.tensor([0] * (a_len + 1) + [1] * (b_len + 2))
    return seg, torch.arange(len(seg))
"""),
    wrong("bert_segments", "the positions start again at 0 for the second sentence", "sealed", """
import torch

def bert_segments(a_len, b_len):
    seg = torch.cat([torch.zeros(a_len + 2), torch.ones(b_len + 1)]).long()
    pos = torch.cat([torch.arange(a_len + 2), torch.arange(b_len + 1)])
    return seg, pos
"""),
    wrong("bert_segments", "the last [SEP] is forgotten: one token too few", "open", """
import torch

def bert_segments(a_len, b_len):
    segment_ids = torch.tensor([0] * (a_len + 2) + [1] * b_len, dtype=torch.long)
    position_ids = torch.arange(a_len + b_len + 2)
    return segment_ids, position_ids
"""),
    wrong("bert_segments", "the segments are floats, not long", "sealed", """
import torch

def bert_segments(a_len, b_len):
    n = a_len + b_len + 3
    seg = torch.zeros(n)
    seg[a_len + 2:] = 1
    return seg, torch.arange(n)
"""),
    wrong("bert_embed", "the row of E_pos is chosen by the token, not by its position", "open", """
import torch

def bert_embed(tok, seg, E_tok, E_seg, E_pos):
    return E_tok[tok] + E_seg[seg] + E_pos[tok % len(E_pos)]
"""),
    wrong("bert_embed", "the mean of the three tables instead of their sum", "sealed", """
import torch
import torch.nn.functional as F

def bert_embed(tok, seg, E_tok, E_seg, E_pos):
    pos = torch.arange(tok.shape[1]).expand_as(tok)
    parts = [F.embedding(tok, E_tok), F.embedding(seg, E_seg), F.embedding(pos, E_pos)]
    return torch.stack(parts).mean(dim=0)
"""),
    wrong("bert_embed", "the positions are counted from 1", "open", """
import torch

def bert_embed(tok, seg, E_tok, E_seg, E_pos):
    T = tok.shape[1]
    pos = torch.arange(1, T + 1).clamp(max=E_pos.shape[0] - 1)
    return E_tok[tok] + E_seg[seg] + E_pos[pos]
"""),
    wrong("bert_embed", "the embeddings stand side by side, (B, T, 3 D), instead of being added", "sealed", """
import torch

def bert_embed(tok, seg, E_tok, E_seg, E_pos):
    B, T = tok.shape
    pos = E_pos[:T].expand(B, T, -1)
    return torch.cat([E_tok[tok], E_seg[seg], pos], dim=-1)
"""),
    wrong("nsp_pair", "the labels are turned: 1 for the sentence that follows", "open", """
import random

def nsp_pair(docs, d, i, is_next, rng):
    A = docs[d][i]
    if is_next:
        return A, docs[d][i + 1], 1
    others = [s for k, doc in enumerate(docs) if k != d for s in doc]
    return A, rng.choice(others), 0
"""),
    wrong("nsp_pair", "the random sentence may come from the same document", "sealed", """
import random

def nsp_pair(docs, d, i, is_next, rng):
    if is_next:
        return docs[d][i], docs[d][i + 1], 0
    sentences = [s for doc in docs for s in doc]
    return docs[d][i], rng.choice(sentences), 1
"""),
    wrong("nsp_pair", "drawn from the module random: the generator given is not used", "open", """
import random

def nsp_pair(docs, d, i, is_next, rng):
    A = docs[d][i]
    if is_next:
        return A, docs[d][i + 1], 0
    others = [s for k, doc in enumerate(docs) if k != d for s in doc]
    return A, random.choice(others), 1
"""),
    wrong("nsp_pair", "always the document after this one: the others are never drawn from", "sealed", """
import random

def nsp_pair(docs, d, i, is_next, rng):
    if is_next:
        return docs[d][i], docs[d][i + 1], 0
    other = docs[(d + 1) % len(docs)]
    return docs[d][i], other[rng.randrange(len(other))], 1
"""),
    wrong("mlm_mask", "only what became mask_id has a label: the replaced and the kept are forgotten", "open", """
import torch

def mlm_mask(tokens, special, vocab_size, mask_id, g):
    chosen = (torch.rand(tokens.shape, generator=g) < 0.15) & ~special
    u = torch.rand(tokens.shape, generator=g)
    hidden = chosen & (u < 0.8)
    swapped = chosen & (u >= 0.8) & (u < 0.9)
    inputs = tokens.clone()
    inputs[hidden] = mask_id
    inputs[swapped] = torch.randint(vocab_size, tokens.shape, generator=g)[swapped]
    labels = torch.where(hidden, tokens, -100)
    return inputs, labels
"""),
    wrong("mlm_mask", "the labels are taken after the change: they hold mask_id, not the original", "sealed", """
import torch

def mlm_mask(tokens, special, vocab_size, mask_id, g):
    u = torch.rand(tokens.shape, generator=g)
    chosen = (u < 0.15) & ~special
    fate = torch.rand(tokens.shape, generator=g)
    noise = torch.randint(0, vocab_size, tokens.shape, generator=g)
    inputs = torch.where(chosen & (fate < 0.8), mask_id, tokens)
    inputs = torch.where(chosen & (fate >= 0.9), noise, inputs)
    labels = inputs.clone()
    labels[~chosen] = -100
    return inputs, labels
"""),
    wrong("mlm_mask", "a tenth of what is left is replaced, so 2 % of the chosen instead of 10 %", "open", """
import torch

def mlm_mask(tokens, special, vocab_size, mask_id, g):
    inputs = tokens.clone()
    prob = torch.full(tokens.shape, 0.15).masked_fill(special, 0.0)
    chosen = torch.bernoulli(prob, generator=g).bool()
    labels = tokens.masked_fill(~chosen, -100)
    hidden = torch.bernoulli(torch.full(tokens.shape, 0.8), generator=g).bool() & chosen
    inputs[hidden] = mask_id
    swapped = torch.bernoulli(torch.full(tokens.shape, 0.1), generator=g).bool() & chosen & ~hidden
    words = torch.randint(vocab_size, tokens.shape, generator=g)
    inputs[swapped] = words[swapped]
    return inputs, labels
"""),
    wrong("mlm_mask", "tokens itself is changed: inputs is no copy", "sealed", """
import torch

def mlm_mask(tokens, special, vocab_size, mask_id, g):
    chosen = (torch.rand(tokens.shape, generator=g) < 0.15) & ~special
    inputs = tokens
    labels = torch.where(chosen, tokens, -100)
    fate = torch.rand(tokens.shape, generator=g)
    inputs[chosen & (fate < 0.8)] = mask_id
    other = chosen & (fate > 0.9)
    inputs[other] = torch.randint(vocab_size, (int(other.sum()),), generator=g)
    return inputs, labels
"""),
    wrong("mlm_mask", "special is taken for the tokens that may be chosen", "open", """
import torch

def mlm_mask(tokens, special, vocab_size, mask_id, g):
    chosen = special & (torch.rand(tokens.shape, generator=g) < 0.15)
    labels = torch.where(chosen, tokens, torch.tensor(-100))
    fate = torch.rand(tokens.shape, generator=g)
    inputs = tokens.clone()
    inputs[chosen & (fate < 0.8)] = mask_id
    strange = torch.randint(vocab_size, tokens.shape, generator=g)
    inputs = torch.where(chosen & (fate >= 0.8) & (fate < 0.9), strange, inputs)
    return inputs, labels
"""),
    wrong("find_masker_fault", "the rate is taken over all tokens, the special ones included", "sealed", """
import torch

def find_masker_fault(masker, tokens, special, mask_id):
    is_special = torch.isin(tokens, torch.tensor(special))
    rate, hid, kept, m = 0.0, 0, 0, 0
    for seed in range(300):
        inputs, labels = masker(tokens, seed)
        chosen = labels != -100
        if (chosen & is_special).any():
            return "special"
        if (labels[chosen] != tokens[chosen]).any():
            return "labels"
        rate += chosen.float().mean().item() / 300
        m += int(chosen.sum())
        hid += int((inputs[chosen] == mask_id).sum())
        kept += int((inputs[chosen] == tokens[chosen]).sum())
    if abs(rate - 0.15) > 0.005:
        return "rate"
    return "shares" if abs(hid / m - 0.8) > 0.02 or abs(kept / m - 0.1) > 0.02 else "none"
"""),
    wrong("find_masker_fault", "one draw is too few: its rate is off by chance", "open", """
import torch

def find_masker_fault(masker, tokens, special, mask_id):
    inputs, labels = masker(tokens, 0)
    ordinary = ~torch.isin(tokens, torch.tensor(special))
    chosen = labels != -100
    if (chosen & ~ordinary).any():
        return "special"
    if not torch.equal(labels[chosen], tokens[chosen]):
        return "labels"
    if abs(chosen[ordinary].float().mean() - 0.15) > 0.001:
        return "rate"
    if abs((inputs[chosen] == mask_id).float().mean() - 0.8) > 0.01:
        return "shares"
    return "none"
"""),
    wrong("find_masker_fault", "only the hidden share is tested, replaced and kept may be wrong", "sealed", """
import torch

def find_masker_fault(masker, tokens, special, mask_id):
    ordinary = ~torch.isin(tokens, torch.tensor(special))
    got = [masker(tokens, seed) for seed in range(400)]
    inputs = torch.stack([a for a, _ in got])
    labels = torch.stack([b for _, b in got])
    chosen = labels != -100
    if chosen[:, ~ordinary].any():
        return "special"
    if (labels[chosen] != tokens.expand_as(labels)[chosen]).any():
        return "labels"
    if abs(chosen[:, ordinary].float().mean() - 0.15) > 0.005:
        return "rate"
    return "shares" if abs((inputs[chosen] == mask_id).float().mean() - 0.8) > 0.02 else "none"
"""),
    wrong("best_span", "start and end are chosen each for itself", "open", """
import torch

def best_span(start, end, passage, longest):
    i = start.masked_fill(~passage, -1e9).argmax(1)
    j = end.masked_fill(~passage, -1e9).argmax(1)
    return torch.stack([i, j], dim=1)
"""),
    wrong("best_span", "an answer may be one token too long", "sealed", """
import torch

def best_span(start, end, passage, longest):
    found = []
    for s, e, inside in zip(start, end, passage):
        places = inside.nonzero().flatten().tolist()
        pairs = [(i, j) for i in places for j in places if i <= j <= i + longest]
        found.append(max(pairs, key=lambda pair: s[pair[0]] + e[pair[1]]))
    return torch.tensor(found)
"""),
    wrong("fine_tune_bert", "the encoder is called under no_grad: only the head learns", "open", ENCODER + """
def fine_tune_bert(body, train, valid, steps):
    enc, head = Encoder(), nn.Linear(32, 4)
    enc.load_state_dict(body)
    opt = torch.optim.Adam(list(enc.parameters()) + list(head.parameters()), lr=2e-3)
    best, out = None, None
    for i in range(steps + 1):
        if i % 10 == 0:
            with torch.no_grad():
                v = F.cross_entropy(head(enc(valid[0])[:, 0]), valid[1]).item()
            if best is None or v < best:
                best = v
                out = {k: t.clone() for k, t in enc.state_dict().items()}
                out["head.weight"] = head.weight.detach().clone()
                out["head.bias"] = head.bias.detach().clone()
        if i == steps:
            return out
        b = torch.randint(len(train[0]), (16,))
        with torch.no_grad():
            h = enc(train[0][b])[:, 0]
        loss = F.cross_entropy(head(h), train[1][b])
        opt.zero_grad(); loss.backward(); opt.step()
"""),
    wrong("fine_tune_bert", "the best weights are kept without a copy, so training goes on in them", "sealed", ENCODER + """
def fine_tune_bert(body, train, valid, steps):
    enc, head = Encoder(), nn.Linear(32, 4)
    enc.load_state_dict(body)
    params = list(enc.parameters()) + list(head.parameters())
    opt = torch.optim.AdamW(params, lr=2e-3)
    best = 1e9
    for i in range(steps + 1):
        if i % 10 == 0:
            with torch.no_grad():
                v = F.cross_entropy(head(enc(valid[0])[:, 0]), valid[1]).item()
            if v < best:
                best = v
                result = dict(enc.state_dict(), **{"head.weight": head.weight, "head.bias": head.bias})
        if i == steps:
            break
        b = torch.randint(len(train[0]), (16,))
        opt.zero_grad()
        F.cross_entropy(head(enc(train[0][b])[:, 0]), train[1][b]).backward()
        opt.step()
    return result
"""),
    wrong("fine_tune_bert", "every second step is on validation rows, so that no label is wasted", "open", ENCODER + """
def fine_tune_bert(body, train, valid, steps):
    m = nn.ModuleDict({"e": Encoder(), "head": nn.Linear(32, 4)})
    m["e"].load_state_dict(body)
    opt = torch.optim.Adam(m.parameters(), lr=3e-3)
    def weights():
        w = {k: t.clone() for k, t in m["e"].state_dict().items()}
        w.update({"head." + k: t.clone() for k, t in m["head"].state_dict().items()})
        return w
    def loss(x, y):
        return F.cross_entropy(m["head"](m["e"](x)[:, 0]), y)
    best, keep = loss(*valid).item(), weights()
    for i in range(1, steps + 1):
        x, y = train if i % 2 else valid
        b = torch.randperm(len(x))[:16]
        opt.zero_grad(); loss(x[b], y[b]).backward(); opt.step()
        if i % 10 == 0 and loss(*valid).item() < best:
            best, keep = loss(*valid).item(), weights()
    return keep
"""),
    wrong("fine_tune_bert", "a head that ends in a softmax, and cross-entropy of it", "sealed", ENCODER + """
def fine_tune_bert(body, train, valid, steps):
    enc = Encoder()
    enc.load_state_dict(body)
    head = nn.Linear(32, 4)
    classify = lambda x: torch.softmax(head(enc(x)[:, 0]), dim=-1)
    opt = torch.optim.AdamW([*enc.parameters(), *head.parameters()], lr=3e-3)
    ce, best = nn.CrossEntropyLoss(), float("inf")
    for i in range(steps + 1):
        if i % 10 == 0:
            v = ce(classify(valid[0]), valid[1]).item()
            if v < best:
                best = v
                kept = {k: t.clone() for k, t in enc.state_dict().items()}
                kept["head.weight"], kept["head.bias"] = head.weight.data.clone(), head.bias.data.clone()
        if i < steps:
            b = torch.randperm(len(train[0]))[:16]
            opt.zero_grad()
            ce(classify(train[0][b]), train[1][b]).backward()
            opt.step()
    return kept
"""),
]
