"""The decoding tree in a browser: its functions and its page against the package, by mouse and by keyboard."""
from __future__ import annotations

import json
import math
from itertools import product

import pytest
import torch

from course_lib.decoding import beam_search, exhaustive, greedy, sample
from course_lib.decoding import walk as library_walk
from course_lib.explorables.decoding_tree import DecodingTree, Setting, depth, follow, sequences, state_of, table, write
from course_lib.explorables.decoding_trees import Offer
from tests.explorables.test_decoding_tree import SAMPLING, TREES

KINDS = ("kept", "finished", "dropped", "stopped", "done", "cut")
SEARCHES = [Setting(), *(Setting("beam search", width=k, exponent=e) for k, e in product(range(1, 6), (0, 0.4, 1, 2)))]


def number(value) -> float:
    """JSON has no infinity: null is minus infinity here."""
    return -math.inf if value is None else value


def near(got: list, want) -> bool:
    """Equal to 1e-5, infinities included."""
    return len(got) == len(want) and all(a == b or abs(a - b) <= 1e-5 for a, b in zip(map(number, got), want))


def same(js: list, hypotheses) -> bool:
    """Hypotheses of the page (as JSON) are these, in this order."""
    return ([tuple(b["tokens"]) for b in js] == [b.tokens for b in hypotheses]
            and near([b["logProb"] for b in js], [b.log_prob for b in hypotheses])
            and near([b["score"] for b in js], [b.score for b in hypotheses]))


def test_every_function_of_the_page_agrees_with_the_package(show):
    """Each step, each sequence, each branch, on the trees and on random ones; and the results of the library itself."""
    page, cases = show(DecodingTree()), []
    for i, (name, tree) in enumerate(TREES.items()):
        chosen = (SEARCHES + SAMPLING)[i % 4:: 4 if name.startswith("random") else 2]
        cases += [(name, tree, s) for s in chosen]
    trees = {name: state_of(Offer(name, "", tree)) for name, tree in TREES.items()}
    got = json.loads(page.evaluate("""async ({ trees, cases }) => {
      const m = await import("./decoding_search.js"), bare = list => list.map(({ tokens, logProb, score }) =>
        ({ tokens, logProb, score }));
      return JSON.stringify(cases.map(([name, s]) => ({
        steps: m.follow(trees[name], s).map(step => ({ u: step.u, ...Object.fromEntries(["kept", "finished", "dropped",
          "stopped", "done", "cut"].map(k => [k, bare(step[k])])) })),
        all: bare(m.sequences(trees[name], s)),
        q: trees[name].rows.map((_, i) => m.branches(trees[name], i, s).map(b => b.changed)) })));
    }""", {"trees": trees, "cases": [(name, s._asdict()) for name, _, s in cases]}))
    for (name, tree, s), js in zip(cases, got, strict=True):
        n, steps, every = depth(tree), follow(tree, s), {b.tokens: b for b in sequences(tree, s)}
        assert len(steps) == len(js["steps"]), (name, s)
        for step, shown_ in zip(steps, js["steps"]):
            assert all(same(shown_[kind], getattr(step, kind)) for kind in KINDS) and shown_["u"] == step.u, (name, s)
        assert len(js["all"]) == len(every) and same(js["all"], [every[tuple(b["tokens"])] for b in js["all"]])
        changed, model = table(tree, s), table(tree)
        assert all(near(row, changed[i][model[i] > -math.inf].tolist()) for i, row in enumerate(js["q"])), (name, s)
        done = js["steps"][-1]["done"]
        if s.strategy == "beam search":
            want = beam_search(tree, n, eos_id=tree.eos_id, beams=s.width, num_return=s.width, length_penalty=s.exponent)
            assert near([b["score"] for b in done], want.score[0][want.score[0] > -math.inf].tolist())
            if len(tree.symbols) < 8:
                best = exhaustive(tree, n, eos_id=tree.eos_id, length_penalty=s.exponent).score.item()
                assert js["all"][0]["score"] == pytest.approx(best, abs=1e-5)
        if s.strategy == "greedy":
            assert done[0]["tokens"] == greedy(tree, n, eos_id=tree.eos_id).tokens[0].tolist()


def test_step_and_verdict_stand_once_and_the_help_stays(show):
    page = show(DecodingTree())
    for action in ("one step on", "to the end", "to the start"):
        page.get_by_role("button", name=action).click()
        got = shown(page)
        for sentence in filter(None, (got["status"], got["verdict"])):
            in_sight = page.locator("p").filter(has_text=sentence).evaluate_all(
                "all => all.filter(p => p.getBoundingClientRect().width > 1).length")
            assert in_sight == 1, sentence
            assert sentence in got["live"]                       # a screen reader hears it all the same
        assert page.get_by_text("Take the search one step on.").is_visible()


def shown(page) -> dict:
    """What the page shows: the nodes of the drawing, the table of sequences, its sentences."""
    return page.evaluate("""() => {
      const text = s => document.querySelector(s).textContent, all = (s, f) => [...document.querySelectorAll(s)].map(f);
      return { nodes: Object.fromEntries(all("[data-node]", e => [e.dataset.node, { ...e.dataset,
                 text: [...e.querySelectorAll("text")].map(x => x.textContent) }])),
               rows: all("[data-sequence]", e => ({ ...e.dataset, cells: [...e.children].map(c => c.textContent) })),
               status: text("[data-status]"), t: +document.querySelector("[data-status]").dataset.t,
               verdict: text("[data-verdict]"), live: text(".cl-live"), note: text(".cl-dt-note"),
               bar: all(".cl-dt-cdf:not([hidden]) span", e => e.textContent) } }""")


def agrees(page, w) -> dict:
    """The page shows what `w` computes, after as many steps as `w` has taken."""
    got, tree, s, steps = shown(page), w.model, w.setting, w.steps
    t = min(w.step, len(steps))
    assert got["t"] == t
    fates = {}
    for step in steps[:t]:
        for kind in ("kept", "finished", "dropped", "stopped", "cut"):
            fates |= {b.tokens: kind for b in getattr(step, kind)}
    changed, model, nodes = table(tree, s), table(tree), 0
    for key, node in got["nodes"].items():
        tokens = tuple(map(int, key.split(",")))
        row = tree.root
        for v in tokens[:-1]:
            row = int(tree.child[row, v])
        p, q = model[row, tokens[-1]].exp().item(), changed[row, tokens[-1]].exp().item()
        assert [float(node["p"]), float(node["q"])] == pytest.approx([p, q], abs=1e-5)
        assert node["text"][:2] == [tree.symbols[tokens[-1]], f"{p:.2f}"]
        if q == 0:
            assert node["fate"] == "cut" and node["text"][2] == "cut"
        elif s.strategy == "sampling":
            assert node["fate"] in ("behind", fates.get(tokens, "")) and node["text"][2] == f"{q:.2f}"
        else:
            assert node["fate"] == fates.get(tokens, "")
            assert float(node["logProb"]) == pytest.approx(float(node["text"][2].replace("−", "-")), abs=0.006)
        nodes += 1
    want = sequences(tree, s)
    leaves = [key for key, node in got["nodes"].items() if len(node["text"]) == 4]
    assert sorted(leaves) == sorted(",".join(map(str, b.tokens)) for b in want) and nodes >= len(want)
    assert sorted(row["sequence"] for row in got["rows"]) == sorted(leaves)
    by_key = {",".join(map(str, b.tokens)): b for b in want}
    for row in got["rows"]:
        b = by_key[row["sequence"]]
        assert float(row["p"]) == pytest.approx(math.exp(b.log_prob), abs=1e-5)
        assert row["score"] == "-Infinity" if b.score == -math.inf else float(row["score"]) == pytest.approx(b.score, abs=1e-5)
        last = math.exp(b.score) if s.strategy == "sampling" else b.score
        assert row["cells"][:3] == [write(tree, b.tokens), f"{math.exp(b.log_prob):.4f}", f"{last:.4f}".replace("-", "−")]
    over = t == len(steps)
    assert [key for key in leaves if "◄" in got["nodes"][key]["text"][3]] == (
        [",".join(map(str, w.found.tokens))] if over else [])
    assert (f"“{write(tree, w.found.tokens)}”, p = {math.exp(w.found.log_prob):.4f}" in got["verdict"]) is over
    starred = [by_key[key] for key in leaves if "★" in got["nodes"][key]["text"][3]]
    by = 1 if s.strategy == "sampling" else 2
    assert len(starred) == 1 and starred[0][by] == pytest.approx(w.best[by], abs=1e-9)
    return got


def press(page, name: str) -> None:
    page.get_by_role("button", name=name).click()


def slide(page, setting: str, value) -> None:
    page.locator(f"[data-setting='{setting}']").fill(str(value))


def test_steps_forwards_and_backwards(show):
    page, w = show(DecodingTree()), DecodingTree()
    got = agrees(page, w)
    assert got["status"] == "No step taken, of 3." and got["verdict"] == ""
    for name, step in (("one step on", 1), ("one step on", 2), ("one step on", 3), ("one step on", 3),
                       ("one step back", 2), ("to the start", 0), ("one step back", 0), ("to the end", 3)):
        press(page, name)
        w.step = step
        got = agrees(page, w)
    assert got["live"] == ("Step 3 of 3: “yes yes </s>” is the likeliest, ln p = −1.609. Dropped: none. Found: “yes yes "
                           "</s>”, p = 0.2000, ln p = −1.6094. That is number 2 of 7 sequences; the best is “ok ok "
                           "</s>”, p = 0.2800, ln p = −1.2730.")
    assert [row["cells"][4] for row in got["rows"]][:2] == ["dropped, step 1", "the result"]


@pytest.mark.parametrize("number", range(3))
def test_the_readers_settings_are_answered_at_once(show, number):
    page, w = show(DecodingTree()), DecodingTree()
    if number:
        page.locator("select").first.select_option(str(number))
    w.tree, w.step = number, 9
    page.locator("select").last.select_option("beam search")
    w.strategy = "beam search"
    agrees(page, w)
    for w.width, w.exponent in ((1, 0.0), (3, 0.0), (5, 0.6), (2, 2.0)):
        slide(page, "width", w.width)
        slide(page, "exponent", w.exponent)
        agrees(page, w)
    for name, step in (("one step back", len(w.steps) - 1), ("to the start", 0), ("one step on", 1)):
        press(page, name)
        w.step = step
        agrees(page, w)
    page.locator("select").last.select_option("sampling")
    w.strategy, w.step = "sampling", 9
    agrees(page, w)
    most = max(len(row) for row in w.trees[number]["rows"])
    for w.temperature, w.top_k, w.top_p in ((0.0, 0, 1.0), (0.7, 2, 1.0), (1.8, 0, 0.75), (2.0, 1, 0.35), (1.3, 0, 0.95)):
        slide(page, "temperature", w.temperature)
        slide(page, "top_k", w.top_k or most)
        slide(page, "top_p", 105 if w.top_p == 1 else round(100 * w.top_p))
        agrees(page, w)
    for w.seed in (2, 3):
        press(page, "draw again")
        agrees(page, w)
    press(page, "to the start")
    press(page, "one step on")
    w.step = 1
    got, step = agrees(page, w), w.steps[0]
    assert got["status"].startswith(f"Step 1 of {len(w.steps)}: u = {step.u:.4f} falls to “")
    open_ = sorted(b.tokens[-1] for b in (*step.kept, *step.finished, *step.dropped))
    assert got["bar"] == [w.model.symbols[v] for v in open_]


def test_a_draw_of_the_page_is_the_librarys_with_the_stated_uniforms(show, monkeypatch):
    """Read u off the page, hand it to `sample`, and the same sequence comes out with the probability that is shown."""
    page, w = show(DecodingTree(strategy="sampling", temperature=0.8, top_p=0.95, seed=5)), DecodingTree()
    u, fates = [], {}
    for _ in range(3):
        press(page, "one step on")
        u.append(float(shown(page)["status"].split("u = ")[1].split()[0]))
        fates = shown(page)
    u = torch.tensor(u, dtype=torch.float64)
    monkeypatch.setattr(library_walk, "uniforms", lambda *a: u.view(1, 3, 1))
    want = sample(w.model, 3, eos_id=w.model.eos_id, temperature=0.8, top_p=0.95)
    assert fates["verdict"].startswith(
        f"Drawn: “{w.model.write(want.tokens[0])}”, p = {want.log_prob.exp().item():.4f} in the model, "
        f"{want.score.exp().item():.4f} under the setting")


def test_by_keyboard_alone(show):
    page, w = show(DecodingTree()), DecodingTree()
    focus = "[document.activeElement.dataset.setting, document.activeElement.textContent]"
    page.locator("select").last.focus()
    page.keyboard.press("ArrowDown")
    w.strategy, w.step = "beam search", 9
    agrees(page, w)
    page.keyboard.press("Tab")
    assert page.evaluate(focus)[0] == "width"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("ArrowRight")
    w.width = 3
    agrees(page, w)
    assert shown(page)["live"].startswith("Width 3. Step 3 of 3: kept none; finished “ok ok </s>” (score −1.273)")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    w.exponent = 0.1
    agrees(page, w)
    assert page.evaluate("document.activeElement.getAttribute('aria-valuetext')") == "0.1"
    for name, key, step in (("one step on", "Space", 3), ("one step back", "Enter", 2)):
        page.keyboard.press("Tab")
        assert page.evaluate(focus)[1] == name
        page.keyboard.press(key)
        w.step = step
        agrees(page, w)
        assert page.evaluate(focus)[1] == name, "the focus stays where it was"
    page.locator("summary").focus()
    page.keyboard.press("Enter")
    cells = page.locator("details tbody tr").first.locator("th, td").all_inner_texts()
    assert cells == ["yes", "0.5000", "−0.6931", "kept"]


def test_a_change_from_python_redraws_and_ends_with_the_view(show):
    page = show(DecodingTree())
    state = {k: v for k, v in DecodingTree().get_state().items() if not k.startswith("_")}
    got = page.evaluate("""async state => {
      const { default: widget } = await import("./decoding_tree.js"), heard = {}, saved = [];
      const el = document.createElement("div");
      const model = { get: k => state[k], set(k, v) { state[k] = v; (heard["change:" + k] || []).forEach(f => f()); },
        on(k, f) { (heard[k] ||= []).push(f); }, off(k, f) { heard[k] = heard[k].filter(g => g !== f); },
        save_changes() { saved.push(state.step); } };
      document.body.append(el);
      const end = widget.render({ model, el }), status = () => el.querySelector("[data-status]").textContent, out = [];
      model.set("step", 1);
      out.push(status(), el.querySelector(".cl-live").textContent, saved.length);
      [...el.querySelectorAll("button")].find(b => b.textContent === "one step on").click();
      out.push(saved.slice());
      end();
      model.set("step", 0);
      out.push(status());
      el.remove();
      return out;
    }""", state)
    assert got[0].startswith("Step 1 of 3: “yes” is the likeliest")
    assert got[1].startswith("The figure was changed from outside. Step 1 of 3") and got[2] == 0
    assert got[3] == [2] and got[4].startswith("Step 2"), "a view that has ended listens no more"


CASES = [({"strategy": "sampling", "top_p": 0.75}, "light", 1000), ({"tree": 1, "strategy": "beam search"}, "dark", 700),
         ({"strategy": "beam search", "width": 3}, "light", 390), ({"tree": 2, "strategy": "sampling"}, "dark", 390)]


@pytest.mark.parametrize("traits, theme, width", CASES)
def test_readable_in_both_themes_on_a_phone_and_wide(show, accessible, traits, theme, width):
    page = show(DecodingTree(step=2, **traits), theme=theme, width=width)
    page.locator("summary").click()
    assert accessible(page) == ""
    for narrower in (width, width - 70):
        page.set_viewport_size({"width": narrower, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= narrower


def test_fates_differ_by_more_than_colour(show):
    """Frames and lines: kept thick, dropped dashed with a cross, cut dotted and struck out, finished double."""
    page = show(DecodingTree(strategy="sampling", top_p=0.65, step=9, seed=1))
    look = page.evaluate("""() => Object.fromEntries([...document.querySelectorAll("[data-node]")].map(e => {
      const box = getComputedStyle(e.querySelector("rect")), name = e.querySelector(".cl-dt-symbol");
      return [e.dataset.fate, [box.strokeWidth, box.strokeDasharray, getComputedStyle(name).textDecorationLine,
        e.querySelectorAll(".cl-dt-mark").length]];
    }))""")
    assert set(look) == {"kept", "finished", "dropped", "cut", "behind", ""}
    assert look["kept"] == ["3px", "none", "none", 0] and look["finished"][3] == 1 and look["dropped"][3] == 1
    assert look["dropped"][1] != "none" and look["cut"][1:3] == [look["behind"][1], "line-through"]
    assert look[""] == ["1px", "none", "none", 0] and look["behind"][2] == "none"
