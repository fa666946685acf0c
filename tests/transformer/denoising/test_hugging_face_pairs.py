"""Against Hugging Face's transformers: BART and T5 both ways, their losses, what they generate; DeBERTa's attention."""
from __future__ import annotations

import json

import pytest
import torch

from course_lib import decoding
from course_lib.hub import HubError
from course_lib.transformer.denoising import BART, T5, DisentangledAttention, pretrained_bart, pretrained_t5
from course_lib.transformer.denoising.deberta import TERMS
from course_lib.transformer.hub_files import read
from course_lib.transformer.pretrained import write
from tests.support.random import rng
from tests.support.tensors import same

transformers = pytest.importorskip("transformers")

V = 13
PADS = {"bart": 1, "t5": 0}
ENDS = {"bart": 2, "t5": 1}


def theirs(kind, seed=0, **changes):
    """A model of which every tensor was perturbed, in eval mode."""
    torch.manual_seed(seed)
    if kind == "bart":
        size = dict(vocab_size=V, max_position_embeddings=12, d_model=12, encoder_layers=2, decoder_layers=1,
                    encoder_attention_heads=3, decoder_attention_heads=3, encoder_ffn_dim=20, decoder_ffn_dim=20,
                    forced_eos_token_id=None)
        model = transformers.BartForConditionalGeneration(transformers.BartConfig(**size | changes))
    else:
        size = dict(vocab_size=V, d_model=12, d_kv=5, num_layers=2, num_decoder_layers=1, num_heads=3, d_ff=20,
                    relative_attention_num_buckets=8, relative_attention_max_distance=9, decoder_start_token_id=0)
        model = transformers.T5ForConditionalGeneration(transformers.T5Config(**size | changes))
    generator = rng(seed)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.4 * torch.randn(p.shape, generator=generator))
        if kind == "bart":
            model.final_logits_bias.normal_(generator=generator)
    return model.eval()


def texts(kind, length, seed):
    """Rows of unequal length, each with its end, filled up on the right; and their mask."""
    rows = torch.randint(3, V, (3, length), generator=rng(seed))
    for row, last in zip(rows, (length - 1, length // 2, 2)):
        row[last], row[last + 1:] = ENDS[kind], PADS[kind]
    return rows, rows != PADS[kind]


def both(tmp_path, kind, **changes):
    model = theirs(kind, **changes)
    model.save_pretrained(tmp_path)
    return model, {"bart": BART, "t5": T5}[kind].from_pretrained(tmp_path)


CASES = [("bart", {}), ("bart", {"scale_embedding": True, "activation_function": "relu"}),
         ("t5", {}), ("t5", {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False})]


@pytest.mark.parametrize("kind, changes", CASES)
def test_logits_and_round_trip(tmp_path, kind, changes):
    model, ours = both(tmp_path, kind, **changes)
    (source, real), (target, told) = texts(kind, 9, 1), texts(kind, 7, 2)
    want = model(input_ids=source, attention_mask=real.long(), labels=target)
    hidden = ours.decode(ours.shift_right(target), *ours.encode((source, real)))
    same(ours.logits(hidden)[told], want.logits[told], 1e-5)
    ours.save_pretrained(tmp_path / "back")
    again, report = type(model).from_pretrained(tmp_path / "back", output_loading_info=True)
    assert not any(report[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    same(again.eval()(input_ids=source, attention_mask=real.long(), labels=target).logits, want.logits, 1e-5)


@pytest.mark.parametrize("kind, changes", CASES)
def test_loss_and_gradients(tmp_path, kind, changes):
    model, ours = (each.double() for each in both(tmp_path, kind, **changes))      # gradients of 10 lose 1e-5 in float32
    (source, real), (target, told) = texts(kind, 9, 3), texts(kind, 7, 4)
    labels, start = target.masked_fill(~told, -100), torch.full((3, 1), model.config.decoder_start_token_id)
    want = model(input_ids=source, attention_mask=real.long(), labels=labels,
                 decoder_input_ids=torch.cat([start, target[:, :-1]], dim=1)).loss
    loss, count = ours.loss(((source, real), (target, told)))
    assert count == int(told.sum())
    same(loss, want, 1e-5)
    same(-ours.log_prob(target, context=(source, real)).sum() / count, want, 1e-5)
    loss.backward()
    want.backward()
    names = (pretrained_bart if kind == "bart" else pretrained_t5)._names(ours)
    their = dict(model.named_parameters())
    for name, p in ours.named_parameters():
        if name == "bias":                                           # a buffer there, without gradient
            continue
        parts = names[name] if isinstance(names[name], tuple) else (names[name],)
        expected = torch.cat([their[part].grad for part in parts])
        same(p.grad, expected[2:] if "positions.table" in name else expected, 1e-5)


@pytest.mark.parametrize("kind", ["bart", "t5"])
@pytest.mark.parametrize("seed", range(3))
def test_generated_tokens(tmp_path, kind, seed):
    model, ours = both(tmp_path, kind, seed=seed)
    source, real = texts(kind, 9, 5)
    common = dict(input_ids=source, attention_mask=real.long(), max_new_tokens=8, do_sample=False)
    want = model.generate(**common)[:, 1:]
    got = decoding.greedy(ours, length=8, context=(source, real), eos_id=ENDS[kind])
    for row, tokens, length in zip(want, got.tokens, got.length.tolist()):
        assert torch.equal(tokens[:length], row[:length])
        assert (row[length:] == PADS[kind]).all()
    beams = decoding.beam_search(ours, length=8, beams=3, context=(source, real), eos_id=ENDS[kind])
    want = model.generate(**common, num_beams=3, early_stopping=False)[:, 1:]
    for row, tokens, length in zip(want, beams.tokens[:, 0], beams.length[:, 0].tolist()):
        assert torch.equal(tokens[:length], row[:length])


def test_t5_own_output_layer(tmp_path):
    """Version 1.1: not tied, whatever config.json says of it."""
    model = theirs("t5", feed_forward_proj="gated-gelu", tie_word_embeddings=False)
    model.save_pretrained(tmp_path)
    _, tensors, _ = read(tmp_path)
    own = tensors["shared.weight"].flip(0) * 0.5
    write(tmp_path, json.loads((tmp_path / "config.json").read_text()), tensors | {"lm_head.weight": own})
    model.lm_head.weight = torch.nn.Parameter(own)
    (source, real), (target, told) = texts("t5", 9, 1), texts("t5", 7, 2)
    ours = T5.from_pretrained(tmp_path)
    want = model(input_ids=source, attention_mask=real.long(), labels=target).logits
    same(ours.logits(ours.decode(ours.shift_right(target), *ours.encode((source, real))))[told], want[told], 1e-5)
    ours.save_pretrained(tmp_path / "back")
    same(T5.from_pretrained(tmp_path / "back").head.weight, ours.head.weight, 0)


def test_configurations_refused(tmp_path):
    for kind, key, value, said in (("bart", "decoder_ffn_dim", 24, "ffn_dim"), ("bart", "activation_function", "tanh", "tanh"),
                                   ("bart", "model_type", "mbart", "mbart"), ("t5", "feed_forward_proj", "silu", "silu"),
                                   ("t5", "d_kv", 6, "shape"), ("bart", "d_model", 15, "shape"),
                                   ("t5", "model_type", "umt5", "umt5")):
        model = theirs(kind)
        model.save_pretrained(tmp_path)
        file = tmp_path / "config.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | {key: value}))
        with pytest.raises(HubError, match=said):
            {"bart": BART, "t5": T5}[kind].from_pretrained(tmp_path)


@pytest.mark.parametrize("kind, sign", [("c2p", 1), ("p2c", -1)])
def test_disentangled_attention_equals_deberta(kind, sign):
    """Against the class of the paper's authors, weight for weight. Their third term turns the distance; see `deberta`."""
    from transformers.models.deberta import modeling_deberta as module
    D, H, span, T = 12, 3, 4, 9
    config = transformers.DebertaConfig(hidden_size=D, num_attention_heads=H, relative_attention=True,
                                        max_relative_positions=span, pos_att_type=[kind], attention_dropout=0.0,
                                        attention_probs_dropout_prob=0.0, hidden_dropout_prob=0.0)
    torch.manual_seed(0)
    terms = (TERMS[0], TERMS[1 if kind == "c2p" else 2])
    their, ours = module.DisentangledSelfAttention(config).eval(), DisentangledAttention(D, H, span, terms).eval()
    with torch.no_grad():
        for p in their.parameters():
            p.normal_(0, 0.5)
        packed = their.in_proj.weight.view(H, 3, D // H, D)          # of each head its queries, keys, values
        for part, layer in enumerate((ours.q, ours.k, ours.v)):
            layer.weight.copy_(packed[:, part].reshape(D, D))
        ours.q.bias.copy_(their.q_bias)
        ours.v.bias.copy_(their.v_bias)
        ours.k.bias.zero_()
        if kind == "c2p":
            ours.k_r.weight.copy_(their.pos_proj.weight)
        else:
            ours.q_r.load_state_dict(their.pos_q_proj.state_dict())
        ours.out.weight.copy_(torch.eye(D))
        ours.out.bias.zero_()
    x, place = torch.randn(2, T, D), torch.arange(T)
    out, weights = their(x, torch.ones(2, 1, T, T), output_attentions=True,
                         relative_pos=sign * (place[:, None] - place[None])[None],
                         rel_embeddings=ours.distances.weight.clone())
    same(ours.weights(x), weights, 1e-5)
    same(ours(x), out, 1e-5)
