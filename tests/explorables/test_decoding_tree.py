"""The decoding tree: every way through it against the package's decoders, on its own trees and on random ones."""
from __future__ import annotations

import json
import math
from itertools import product

import pytest
import torch

from course_lib import hub
from course_lib.decoding import beam_search, exhaustive, sample
from course_lib.decoding import sampling as library_walk
from course_lib.decoding.prefix_tree import PrefixTree, yes_or_ok
from course_lib.explorables import decoding_tree as figure
from course_lib.explorables.decoding_tree import (
    DecodingTree,
    Setting,
    depth,
    follow,
    sequences,
    state_of,
    stated_uniforms,
    table,
    write,
)
from course_lib.explorables.decoding_trees import PROMPT, SPACE, Offer, cut, next_characters, offers, rain
from course_lib.tokenizers import CharTokenizer
from tests.explorables.figure import Figure, choose, click, data, fill, keys

TEMPERATURES, SLIDER = [i / 10 for i in range(21)], [*((5 + 10 * i) / 100 for i in range(10)), 1.0]


def random_tree(seed: int) -> PrefixTree:
    """2 to 5 symbols, sequences of up to 2 to 4; some branches have no probability, some beginnings no row."""
    g = torch.Generator().manual_seed(seed)
    V, n = 2 + seed % 4, 2 + seed % 3
    names, table = [*"abcdefg"[:V - 1], "."], {}

    def grow(beginning: tuple[str, ...]) -> None:
        p = torch.rand(V, generator=g, dtype=torch.float64) + 0.02
        if V > 2:
            p[torch.rand(V, generator=g) < 0.3] = 0
        if not bool(p[:-1].any()):
            p[0] = 0.5
        table[" ".join(beginning)] = (p / p.sum()).tolist()
        for v in range(V - 1):
            if len(beginning) < n - 1 and p[v] > 0 and torch.rand((), generator=g) < (0.9 if V < 4 else 0.4):
                grow((*beginning, names[v]))

    grow(())
    return PrefixTree(names, table)


TREES = {"yes or ok": yes_or_ok(), "rain": rain(), "characters": next_characters()[0],
         **{f"random {seed}": random_tree(seed) for seed in range(9)}}
SAMPLING = [Setting("sampling", temperature=t, top_k=k, top_p=p, seed=seed) for seed, (t, k, p) in enumerate(
    product((0, 0.3, 1.0, 2.0), (0, 1, 2, 3), (0.25, 0.55, 0.85, 1.0)))]


def close(a, b) -> bool:
    return torch.allclose(torch.as_tensor(a, dtype=torch.float64), torch.as_tensor(b, dtype=torch.float64),
                          rtol=0, atol=1e-10)


class Watched(PrefixTree):
    """A tree that writes down which beginnings a decoder goes on with: rows of the table, step by step."""

    def update(self, state, x_i):
        state = super().update(state, x_i)
        self.seen.append({int(i) for i in state.node} - {len(self.p) - 1})
        return state


@pytest.mark.parametrize("name", TREES)
def test_beam_search_equals_library(name):
    tree = TREES[name]
    for width, exponent in product(range(1, 6), (0.0, 0.3, 1.0)):
        steps, watched = follow(tree, Setting("beam search", width=width, exponent=exponent)), Watched(tree.symbols, {
            tree.write(b) if b else "": tree.p[i].tolist() for i, b in enumerate(tree.prefixes)})
        watched.seen, done = [], steps[-1].done
        want = beam_search(watched, depth(tree), eos_id=tree.eos_id, beams=width, num_return=width, length_penalty=exponent)
        real = want.score[0] > -math.inf
        assert close([b.score for b in done], want.score[0, real]), (width, exponent)
        assert close([b.log_prob for b in done], want.log_prob[0, real])
        scores = torch.tensor([b.score for b in sequences(tree, Setting("beam search", exponent=exponent))])
        for b, tokens, length in zip(done, want.tokens[0].tolist(), want.length[0].tolist(), strict=False):
            if int(((scores - b.score).abs() < 1e-6).sum()) == 1:        # of those that tie, either may come first
                assert list(b.tokens) == tokens[:length]
        going = [{figure._node(tree, b.tokens) for b in step.kept} - {len(tree.p) - 1} for step in steps[:-1]]
        assert going == watched.seen[:len(going)] and len(watched.seen) == len(going)


@pytest.mark.parametrize("name", TREES)
def test_sampling_equals_library(name, monkeypatch):
    """The library's sampler, handed the stated uniforms, comes to the same sequence with the same two probabilities."""
    tree, n = TREES[name], depth(TREES[name])
    for setting in SAMPLING[list(TREES).index(name) % 4::4]:
        u = torch.tensor(stated_uniforms(setting.seed, n), dtype=torch.float64)
        monkeypatch.setattr(library_walk, "uniforms", lambda *a, u=u: u.view(1, n, 1))
        want = sample(tree, n, eos_id=tree.eos_id, temperature=setting.temperature, top_k=setting.top_k or None,
                      top_p=setting.top_p)
        steps = follow(tree, setting)
        found = steps[-1].done[0]
        assert list(found.tokens) == want.tokens[0].tolist(), setting
        assert close([found.log_prob, found.score], [want.log_prob[0], want.score[0]])
        assert [step.u for step in steps] == u[:len(steps)].tolist()


@pytest.mark.parametrize("name", TREES)
def test_sequences_probabilities(name):
    tree, n = TREES[name], depth(TREES[name])
    for setting in (Setting(), Setting("beam search", exponent=0.7), *SAMPLING[5::13]):
        got = sequences(tree, setting)
        assert math.fsum(math.exp(b.log_prob) for b in got) == pytest.approx(1, abs=1e-6)
        rows = torch.tensor([[*b.tokens, *[tree.eos_id] * (n - len(b.tokens))] for b in got])
        assert close([b.log_prob for b in got], tree.log_prob(rows).detach())
        if setting.strategy == "sampling":
            assert math.fsum(math.exp(b.score) for b in got) == pytest.approx(1, abs=1e-9)
            drawn = sample(tree, n, batch=40, eos_id=tree.eos_id, temperature=setting.temperature, top_p=setting.top_p,
                           top_k=setting.top_k or None, generator=torch.Generator().manual_seed(0))
            known = {b.tokens: b for b in got}
            for row, size, score in zip(drawn.tokens.tolist(), drawn.length.tolist(), drawn.score.tolist()):
                assert known[tuple(row[:size])].score == pytest.approx(score, abs=1e-10)
        elif len(tree.symbols) < 8:
            best = exhaustive(tree, n, eos_id=tree.eos_id, num_return=len(got), length_penalty=setting.exponent)
            assert close(sorted((b.score for b in got), reverse=True), best.score[0])


def test_characters_of_trained_model():
    """Two beginnings asked of the model itself; the mass that was kept is the smallest of all."""
    tree, least = next_characters()
    gpt = hub.load("gpt-tiny-shakespeare").eval()
    tokenizer = CharTokenizer.from_config(hub.card("gpt-tiny-shakespeare").training["tokenizer"])
    masses = []
    for i, beginning in enumerate(tree.prefixes):
        text = PROMPT + "".join(tree.symbols[v] for v in beginning)
        p = gpt.predict(gpt.start(1, tokenizer.encode(text)[None])).probs[0].double()
        top = p.topk(2)
        row = {tree.symbols[v].replace(SPACE, " "): q for v, q in enumerate(tree.p[i].tolist()) if q > 0}
        assert row.keys() == {tokenizer.decode(torch.tensor([v])) for v in top.indices.tolist()}
        assert sorted(row.values(), reverse=True) == pytest.approx((top.values / top.values.sum()).tolist(), abs=2e-4)
        masses.append(top.values.sum().item())
    assert least == pytest.approx(min(masses), abs=1e-4) and f"at least {least:.0%} of" in offers()[2].note


WIDE = PrefixTree([*"abcdefghijklmnopqrstuvwxy", "."], {"": [1 / 26] * 26})


# --- in the browser ----------------------------------------------------------------------------------------------------


KINDS = ("kept", "finished", "dropped", "stopped", "done", "cut")
SEARCHES = [Setting(), *(Setting("beam search", width=k, exponent=e) for k, e in product(range(1, 6), (0, 0.4, 1, 2)))]


def near(got: list, want) -> bool:
    """Equal to 1e-5; JSON has no infinity: null is minus infinity here."""
    got = [-math.inf if v is None else v for v in got]
    return len(got) == len(want) and all(a == b or abs(a - b) <= 1e-5 for a, b in zip(got, want))


def same(js: list, hypotheses) -> bool:
    """Hypotheses of the page (as JSON) are these, in this order."""
    return ([tuple(b["tokens"]) for b in js] == [b.tokens for b in hypotheses]
            and near([b["logProb"] for b in js], [b.log_prob for b in hypotheses])
            and near([b["score"] for b in js], [b.score for b in hypotheses]))


def test_javascript_equals_package(modules):
    """Each step, each sequence, each branch, on the trees and on random ones."""
    cases = []
    for i, (name, tree) in enumerate(TREES.items()):
        cases += [(name, tree, s) for s in (SEARCHES + SAMPLING)[i % 4:: 4 if name.startswith("random") else 2]]
    trees = {name: state_of(Offer(name, "", tree)) for name, tree in TREES.items()}
    got = json.loads(modules.evaluate("""async ({ trees, cases, kinds }) => {
      const m = await import("./decoding_search.js"), bare = list => list.map(({ tokens, logProb, score }) =>
        ({ tokens, logProb, score }));
      return JSON.stringify(cases.map(([name, s]) => ({
        steps: m.follow(trees[name], s).map(step => ({ u: step.u, ...Object.fromEntries(kinds.map(k => [k, bare(step[k])])) })),
        all: bare(m.sequences(trees[name], s)),
        q: trees[name].rows.map((_, i) => m.branches(trees[name], i, s).map(b => b.changed)) })));
    }""", {"trees": trees, "cases": [(name, s._asdict()) for name, _, s in cases], "kinds": KINDS}))
    for (name, tree, s), js in zip(cases, got, strict=True):
        every = {b.tokens: b for b in sequences(tree, s)}
        for step, shown in zip(follow(tree, s), js["steps"], strict=True):
            assert all(same(shown[kind], getattr(step, kind)) for kind in KINDS) and shown["u"] == step.u, (name, s)
        assert len(js["all"]) == len(every) and same(js["all"], [every[tuple(b["tokens"])] for b in js["all"]])
        changed, model = table(tree, s), table(tree)
        assert all(near(row, changed[i][model[i] > -math.inf].tolist()) for i, row in enumerate(js["q"])), (name, s)


def agrees(page, w) -> None:
    """After as many steps as `w` has taken: every node with its fate, every sequence, the result."""
    got = page.evaluate("""() => {
      const all = (s, f) => [...document.querySelectorAll(s)].map(f);
      return { nodes: all("[data-node]", e => [e.dataset.node, { ...e.dataset,
                 text: [...e.querySelectorAll("text")].map(x => x.textContent) }]),
               rows: all("[data-sequence]", e => ({ ...e.dataset, cells: [...e.children].map(c => c.textContent) })),
               verdict: document.querySelector("[data-verdict]").textContent,
               bar: all(".cl-dt-cdf:not([hidden]) span", e => e.textContent) } }""")
    tree, s, steps, nodes = w.model, w.setting, w.steps, dict(got["nodes"])
    t = min(w.step, len(steps))
    assert data(page, "t")[0] == t
    fates = {b.tokens: kind for step in steps[:t] for kind in ("kept", "finished", "dropped", "stopped", "cut")
             for b in getattr(step, kind)}
    changed, model = table(tree, s), table(tree)
    for key, node in nodes.items():
        tokens, row = tuple(map(int, key.split(","))), tree.root
        for v in tokens[:-1]:
            row = int(tree.child[row, v])
        p, q = model[row, tokens[-1]].exp().item(), changed[row, tokens[-1]].exp().item()
        assert [float(node["p"]), float(node["q"])] == pytest.approx([p, q], abs=1e-5)
        assert node["text"][:2] == [tree.symbols[tokens[-1]], f"{p:.2f}"]
        if q == 0:
            assert node["fate"] == "cut"
        elif s.strategy == "sampling":
            assert node["fate"] in ("behind", fates.get(tokens, "")) and node["text"][2] == f"{q:.2f}"
        else:
            assert node["fate"] == fates.get(tokens, "")
            assert float(node["logProb"]) == pytest.approx(float(node["text"][2].replace("−", "-")), abs=0.006)
    want = {",".join(map(str, b.tokens)): b for b in sequences(tree, s)}
    leaves = [key for key, node in nodes.items() if len(node["text"]) == 4]
    assert sorted(leaves) == sorted(want) == sorted(row["sequence"] for row in got["rows"])
    for row in got["rows"]:
        b = want[row["sequence"]]
        assert float(row["p"]) == pytest.approx(math.exp(b.log_prob), abs=1e-5)
        assert row["score"] == "-Infinity" if b.score == -math.inf else float(row["score"]) == pytest.approx(b.score, abs=1e-5)
        last = math.exp(b.score) if s.strategy == "sampling" else b.score
        assert row["cells"][:3] == [write(tree, b.tokens), f"{math.exp(b.log_prob):.4f}", f"{last:.4f}".replace("-", "−")]
    over = t == len(steps)
    assert [key for key in leaves if "◄" in nodes[key]["text"][3]] == [",".join(map(str, w.found.tokens))] * over
    assert (f"“{write(tree, w.found.tokens)}”, p = {math.exp(w.found.log_prob):.4f}" in got["verdict"]) is over
    starred, by = [want[key] for key in leaves if "★" in nodes[key]["text"][3]], 1 if s.strategy == "sampling" else 2
    assert len(starred) == 1 and starred[0][by] == pytest.approx(w.best[by], abs=1e-9)
    if s.strategy == "sampling" and t == 1:
        open_ = sorted(b.tokens[-1] for b in (*steps[0].kept, *steps[0].finished, *steps[0].dropped))
        assert got["bar"] == [tree.symbols[v] for v in open_] and steps[0].u is not None


def ended(**traits):
    """These traits, and the search gone through to its end under them."""
    def of(w) -> dict:
        w.set_state(traits)
        return {**traits, "step": depth(w.model)}
    return of


def slide(**traits) -> list[tuple]:
    return [(fill(f"[data-setting='{name}']", round(100 * v) if name == "top_p" else v), ended(**{name: v}))
            for name, v in traits.items()]


def on_tree(number: int) -> list[tuple]:
    """Beams, then draws."""
    tree, strategy = ".cl-top select >> nth=0", ".cl-top select >> nth=1"
    return [*[(choose(tree, number), ended(tree=number))] * (number > 0),
            (choose(strategy, "beam search"), ended(strategy="beam search")),
            *slide(width=1, exponent=0.6), *slide(width=5, exponent=2), *slide(width=3, exponent=0),
            (choose(strategy, "sampling"), ended(strategy="sampling")), *slide(temperature=0.7, top_k=1 + (number < 2)),
            *slide(top_p=0.75, temperature=1.8), *slide(temperature=0), *slide(temperature=1.3),
            (click("draw again"), lambda w: ended(seed=w.seed + 1)(w)), (click("to the start"), {"step": 0}),
            (click("one step on"), {"step": 1})]


BAD = [
    (lambda: DecodingTree({}), "trees is empty"),
    (lambda: DecodingTree({"wide": WIDE}), r"trees\['wide'\] has 26 sequences; expected at most 24"),
    ({"tree": 3}, "tree is 3; expected a number from 0 to 2"),
    ({"strategy": "beam"}, "strategy is 'beam'; expected 'greedy' or 'beam search' or 'sampling'"),
    ({"width": 6}, "width is 6; expected a number from 1 to 5"),
    ({"exponent": -0.5}, "exponent is -0.5; expected a number from 0 to 2"),
    ({"temperature": float("nan")}, "temperature is nan"),
    ({"top_k": -1}, "top_k is -1; expected 0 for all"),
    ({"top_p": 0.0}, "top_p is 0.0; expected 0 < top_p <= 1"),
    ({"step": -1}, "step is -1"),
    (lambda: cut(yes_or_ok(), torch.zeros(0, dtype=torch.long), ["a", "b", "c"], 3), "end is 3; expected 0 to 2"),
    (lambda: cut(yes_or_ok(), torch.zeros(0, dtype=torch.long), ["a", "b", "c"], 2, keep=4), "length is 4 and keep is 4"),
]
FIGURE = Figure(DecodingTree, agrees, bad=BAD, change={"step": 1}, rich={"strategy": "sampling", "top_p": 0.75, "step": 2},
                says=("keeps “yes” 0.5000; drops “ok” 0.4000, “</s>” 0.1000", "“yes yes </s>”, p = 0.2000",
                      "“ok ok </s>”, p = 0.2800"), moves=[
    *((click(name), {"step": step}) for name, step in (
        ("one step on", 1), ("one step on", 2), ("one step on", 3), ("one step back", 2), ("to the start", 0), ("to the end", 3))),
    (click("one step on"), {}),                                      # there is none
    (keys("ArrowDown", at=".cl-top select >> nth=1"), ended(strategy="beam search")),
    (keys("Tab", "ArrowRight"), ended(width=3)),
    (keys("Tab", "ArrowRight"), ended(exponent=0.1)),
    (keys("Tab", "Space"), {"step": 3}),
    (keys("Tab", "Enter"), {"step": 2}),
    *on_tree(0), *on_tree(1), *on_tree(2),
])
