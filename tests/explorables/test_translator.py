"""The transformer in the page: its numbers against the library's layers, its weights, its measured shares, bad input."""
from __future__ import annotations

import base64
import json
from contextlib import ExitStack

import numpy as np
import pytest
import torch

from benchmarks import translators
from course_lib import hub
from course_lib.data.toy_translation import to_text, translate, vocabularies
from course_lib.decoding import greedy
from course_lib.explorables import Translator
from course_lib.explorables.base import STATIC
from course_lib.explorables.translator import (
    BOXES,
    HEADS,
    LONGEST,
    MEASURED,
    NETWORKS,
    PARTS,
    attention_of,
    heads_off,
    pack,
    parameters,
    run,
    setting,
    translated,
)

SENTENCES = ("the small dog does not see the red house", "I love hiking", "they do not paint the old street")
OFF = ([], [("cross", 1)], [("encoder", 0), ("decoder", 2), ("cross", 0)], list(HEADS))
CLOSE = {"rtol": 0, "atol": 1e-9}


def models():
    return [hub.load(STATIC / "weights" / name).double().eval() for name in NETWORKS]


def ids(sentence: str) -> list[int]:
    return [vocabularies()[0].id(word) for word in sentence.split()]


def by_the_library(model, source, read, off) -> dict[str, torch.Tensor]:
    """What passes through the library's own modules in one pass, by the names of the boxes."""
    (reads,), (writes,), found = model.encoder, model.decoder, {}
    named = {"encoder.normed": reads.residual1.norm, "ffn1.normed": reads.residual2.norm, "ffn1.out": reads.feed_forward,
             "encoder.mixed": reads.attention, "ffn1.sum": reads, "encoder.m": model.encoder_norm,
             "decoder.normed": writes.residual1.norm, "cross.normed": writes.residual2.norm,
             "ffn2.normed": writes.residual3.norm, "decoder.mixed": writes.attention,
             "cross.mixed": writes.cross_attention, "ffn2.out": writes.feed_forward, "ffn2.sum": writes,
             "decoder.last": model.decoder_norm, "encoder.sum": reads.residual1, "decoder.sum": writes.residual1,
             "cross.sum": writes.residual2}
    with ExitStack() as stack, torch.no_grad():
        stack.enter_context(heads_off(model, off))
        for name, module in named.items():
            stack.callback(module.register_forward_hook(
                lambda _, args, out, name=name: found.__setitem__(name, out[0])).remove)
        for part, layer in attention_of(model).items():
            stack.callback(layer.out.register_forward_pre_hook(
                lambda _, args, part=part: found.update({f"{part}.{h}.out": each for h, each in
                                                         enumerate(args[0][0].chunk(3, dim=-1))})).remove)
        target = torch.tensor([[*read[1:], model.eos_id]])
        found["log p"] = model.conditionals(target, context=torch.tensor([source])).logits.log_softmax(-1)[0]
        found["cross weights"] = model.attention_weights(torch.tensor([source]), target)[0][0]
    return found


@pytest.mark.parametrize("network", [0, 1])
@pytest.mark.parametrize("off", OFF, ids=len)
def test_every_box_is_what_passes_through_the_librarys_modules(network, off):
    model = models()[network]
    for sentence in SENTENCES:
        source = ids(sentence)
        read, _ = translated(model, source, off)
        got, want = run(model, source, read, off), by_the_library(model, source, read, off)
        assert set(got) == set(BOXES)
        torch.testing.assert_close(got["decoder.p"].log(), want.pop("log p"), **CLOSE)
        torch.testing.assert_close(got["decoder.logits"].softmax(-1), got["decoder.p"], **CLOSE)
        for h, weights in enumerate(want.pop("cross weights")):
            torch.testing.assert_close(got[f"cross.{h}.weights"], weights, **CLOSE)
        assert len(want) == 26                                       # 17 modules and nine heads
        for name, value in want.items():
            torch.testing.assert_close(got[name], value, msg=name, **CLOSE)
        for part, h in HEADS:                                        # what no module puts out, from what one does
            q, k, v, scores, weights, out = (got[f"{part}.{h}.{step}"] for step in
                                             ("q", "k", "v", "scores", "weights", "out"))
            layer, y = attention_of(model)[part], got[f"{part}.normed"]
            memory = got["encoder.m"] if part == "cross" else y
            projected = [layer._split(layer.qkv(each[None]))[:, 0, h] for each in (y, memory)]
            torch.testing.assert_close(q, projected[0][0], **CLOSE)
            torch.testing.assert_close(torch.stack([k, v]), projected[1][1:], **CLOSE)
            torch.testing.assert_close(weights.log(), scores.log_softmax(-1), **CLOSE)
            assert torch.equal(scores == -torch.inf, (torch.ones_like(scores).triu(1) == 1) & (part == "decoder"))
            torch.testing.assert_close(out, 0 * v[:1].expand_as(out) if (part, h) in off else weights @ v, **CLOSE)


def test_it_writes_what_the_library_decodes():
    for model in models():
        for off in OFF:
            for sentence in SENTENCES:
                with heads_off(model, off):
                    want = greedy(model, length=LONGEST, context=torch.tensor([ids(sentence)]), eos_id=2).tokens[0]
                written = translated(model, ids(sentence), off)[1]
                assert to_text(torch.tensor(written)) == to_text(want)


def test_the_page_holds_the_rounded_weights_that_torch_runs():
    w = Translator()
    for text, model in zip(w.weights, models(), strict=True):
        sent = np.frombuffer(base64.b64decode(text), "<f2").astype("f8")
        assert np.array_equal(sent, torch.cat([p.detach().flatten() for p in parameters(model)]).numpy())
        assert text == pack(model) and len(sent) == 14_616 == sum(p.numel() for p in model.parameters())
    assert len(json.dumps(w.get_state()).encode()) <= 150_000        # with script and style


# --- what was measured -----------------------------------------------------------------------------------------------


def recorded() -> dict:
    return json.loads(MEASURED.read_text("utf-8"))


def test_the_recorded_shares_are_those_of_the_shipped_weights():
    """All heads, each head off, all cross heads off, and three choices drawn at random; the kinds of errors too."""
    _, _, test = translators.parts()
    record, generator = recorded(), torch.Generator().manual_seed(0)
    drawn = torch.randint(512, (3,), generator=generator).tolist()
    assert record["sentences"] == len(test) == 400 and len(record["networks"]) == 2
    for model, found in zip(models(), record["networks"], strict=True):
        assert len(found["right"]) == 512
        for choice in [0, *(1 << k for k in range(9)), setting([("cross", h) for h in range(3)]), *drawn]:
            off = [pair for k, pair in enumerate(HEADS) if choice >> k & 1]
            assert translators.right(model, test, off) == found["right"][choice], off
        for k in (0, 7):
            texts = translators.written(model, test, [HEADS[k]])
            kinds = [translators.kind(text, p) for text, p in zip(texts, test) if text != " ".join(p.target)]
            assert found["first wrong word"][k] == {name: kinds.count(name) for name in translators.KINDS
                                                    if name in kinds}
        blind = translators.written(model, test, [("cross", h) for h in range(3)])
        assert len(set(blind)) == found["sentences without cross-attention"] == 1
    assert record["maps"] == translators.matched(models(), test) and min(record["maps"]["correlations"]) > 0.7
    layers = [[network["right"][setting([(part, h) for h in range(3)])] for part in PARTS]
              for network in record["networks"]]
    assert layers[0][0] > 300 and layers[0][1:] == [0, 0] and min(layers[1][:2]) >= 399 and layers[1][2] == 0


def test_all_512_choices_are_those_of_the_shipped_weights():
    _, _, test = translators.parts()
    for model, found in zip(models(), recorded()["networks"], strict=True):
        assert translators.measured(model, test) == found


def test_both_are_right_and_only_one_can_do_without_any_head():
    """What the figure and chapter 15 say: of every seed, by its card; of the two that ship, by the record."""
    for name, (plain, found) in zip(NETWORKS, zip((True, False), recorded()["networks"])):
        rows = hub.card(STATIC / "weights" / name).results["right of 400"]
        assert rows in Translator().seeds
        assert [row["seed"] for row in rows] == [0, 1, 2]
        best = max(rows, key=lambda row: row["valid"])
        assert found["right"][0] == best["test"] >= 396
        assert [found["right"][1 << k] for k in range(9)] == list(best["one head off"].values())
        for row in rows:
            alone = row["one head off"]
            assert row["test"] >= 390 and list(alone) == [f"{part} {h + 1}" for part, h in HEADS]
            if plain:
                of = {each: [alone[f"{part} {h + 1}"] for part, h in HEADS if part == each] for each in PARTS}
                assert min(of["encoder"]) > 380 and max(of["decoder"] + of["cross"]) < 330
                assert min(of["decoder"]) < 100 and min(of["cross"]) < 100
            else:
                assert min(alone.values()) == 400


def test_test_sentences_do_not_occur_in_training():
    train, valid, test = translators.parts()
    assert (len(train), len(valid), len(test)) == (8000, 400, 400)
    sources = [{pair.source for pair in part} for part in (train, valid, test)]
    assert len(sources[1] | sources[2]) == 800 and not sources[0] & (sources[1] | sources[2])


@pytest.mark.parametrize("said, kind", [
    ("la cane rosso vede le escursioni", "gender"), ("il cane rossa vede le escursioni", "gender"),
    ("il cane rosso vedo le escursioni", "form of the verb"), ("il cane rosso non vede le escursioni", "not"),
    ("il rosso cane vede le escursioni", "place"), ("il cane rosso vede le escursioni le", "end"),
    ("il cane rosso", "end"), ("il gatto rosso vede le escursioni", "another word"),
])
def test_kinds_of_errors(said, kind):
    pair = translate("the red dog sees hiking")
    assert " ".join(pair.target) == "il cane rosso vede le escursioni" and translators.kind(said, pair) == kind


def test_heads_are_dropped_whole_while_it_trains_and_not_after():
    model, tokens = models()[0].train(), torch.tensor([ids(SENTENCES[1])] * 400)
    seen = []
    with torch.no_grad(), translators.heads_dropped(model, 0.5):
        for layer in attention_of(model).values():
            layer.out.register_forward_pre_hook(lambda _, args: seen.append(args[0].unflatten(2, (3, 8))))
        model.log_prob(torch.tensor([[5, 2]] * 400), tokens)
        gone = [(each == 0).all(dim=3) for each in seen]             # (B, T, H) of each layer
        assert len(gone) == 3
        for each in gone:
            assert torch.equal(each.any(dim=1), each.all(dim=1)) and 0.4 < each.float().mean() < 0.6
        seen.clear()
        model.eval().log_prob(torch.tensor([[5, 2]]), tokens[:1])
    assert not any((each == 0).all(dim=3).any() for each in seen)


def test_the_weights_have_a_card():
    for name in NETWORKS:
        card = hub.card(STATIC / "weights" / name)
        assert "python -m benchmarks.translators" in card.notes and card.licence.startswith("MIT")


# --- the figure ------------------------------------------------------------------------------------------------------


def test_it_opens_on_a_sentence_that_one_network_loses_and_the_other_keeps():
    w = Translator()
    assert w.off and w.network == 0
    assert w.says(0) == w.says(1) == w.says(1, w.off) == "la macchina rossa vede il gatto bianco"
    assert w.says(0, w.off) == "la montagna rossa vede il gatto bianco"


def test_without_cross_attention_the_second_writes_good_italian_whatever_the_source():
    blind = [["cross", h] for h in range(3)]
    assert {Translator(sentence=s).says(1, blind) for s in SENTENCES} == {"il cane non dipinge la strada"}
    assert len({Translator(sentence=s).says(0, blind) for s in SENTENCES}) == 1


def test_words():
    w = Translator(off=[], sentence="I love hiking", shown="decoder.p", place=[0, 4])
    lines = w.text().splitlines()
    assert lines[1:3] == ["English: I love hiking", "Heads switched off: none"]
    assert lines[3].startswith("trained as it is: adoro le escursioni (right ") and repr(w) == "Translator()"
    assert lines[-1].startswith("decoder.p, 4 x 55 numbers; row 1, column 5: ")
    bundle = w._repr_mimebundle_()
    assert (bundle[0] if isinstance(bundle, tuple) else bundle)["text/plain"] == w.text()
    w.off = [[part, h] for part, h in HEADS]
    assert "Heads switched off: encoder 1, encoder 2" in w.text() and w.right(0, w.off) == 0


def test_a_setting_is_nine_bits():
    assert setting([]) == 0 and setting(HEADS) == 511 and setting([["cross", 0], ["cross", 0]]) == 64
    assert [setting([pair]) for pair in HEADS] == [2 ** k for k in range(9)] and PARTS == ("encoder", "decoder", "cross")


@pytest.mark.parametrize("make, message", [
    (lambda: Translator(sentence="the dog eats the house"), "word 3 is not a verb of the grammar"),
    (lambda: Translator(network=2), "network is 2; expected 0 or 1"),
    (lambda: Translator(off=[["cross", 3]]), r"off holds \['cross', 3\]; expected pairs of 'encoder', 'decoder', 'cross'"),
    (lambda: Translator(shown="cross.1"), "shown is 'cross.1'; expected one of encoder.x"),
    (lambda: Translator(place=[1]), r"place is \[1\]; expected a row and a column"),
    (lambda: Translator(place=[0, -1]), r"place is \[0, -1\]"),
])
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
