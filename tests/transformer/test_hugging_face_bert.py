"""Against Hugging Face's transformers: BERT both ways, its losses, its heads for tasks."""
from __future__ import annotations

import json

import pytest
import torch
from safetensors.torch import load_file

from course_lib.hub import HubError
from course_lib.transformer import pretrained_bert
from course_lib.transformer.bert import BERT, PretrainingBatch
from course_lib.transformer.task_heads import QuestionAnswering, SequenceClassifier, TokenClassifier
from tests.support.hugging_face import store
from tests.support.random import rng
from tests.support.tensors import same
from tests.transformer.bert_checks import MASK, TOKENS, TYPES

transformers = pytest.importorskip("transformers")


def theirs(cls="BertForPreTraining", seed=0, **changes):
    """A model of which every tensor was perturbed, in eval mode."""
    torch.manual_seed(seed)
    size = dict(vocab_size=11, max_position_embeddings=10, hidden_size=12, num_hidden_layers=2, num_attention_heads=3,
                intermediate_size=20)
    model = getattr(transformers, cls)(transformers.BertConfig(**size | changes)).eval()
    generator = rng(seed)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.5 * torch.randn(p.shape, generator=generator))
    return model


def asked(model, **more):
    return model(TOKENS, attention_mask=MASK.long(), token_type_ids=TYPES, **more)


@pytest.mark.parametrize("changes", [{}, {"hidden_act": "gelu_new", "type_vocab_size": 3}, {"layer_norm_eps": 0.1},
                                     {"hidden_act": "gelu_python"}, {"tie_word_embeddings": False}])
def test_logits_and_round_trip(tmp_path, changes):
    model = theirs(**changes)
    model.save_pretrained(tmp_path)
    ours, want = BERT.from_pretrained(tmp_path), asked(model)
    tokens, sentence = ours.pretraining_logits(TOKENS, TYPES, MASK)
    same(tokens[MASK], want.prediction_logits[MASK], 1e-5)
    same(sentence, want.seq_relationship_logits, 1e-5)
    ours.save_pretrained(tmp_path / "back")
    again, report = transformers.BertForPreTraining.from_pretrained(tmp_path / "back", output_loading_info=True)
    assert not any(report[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    same(asked(again.eval()).prediction_logits, want.prediction_logits, 1e-5)


def test_loss_and_gradients(tmp_path):
    model = theirs()
    model.save_pretrained(tmp_path)
    ours = BERT.from_pretrained(tmp_path)
    chosen, follows = (torch.rand(3, 8, generator=rng(5)) < 0.4) & MASK, torch.tensor([True, False, False])
    labels = TOKENS.masked_fill(~chosen, -100)
    want = asked(model, labels=labels, next_sentence_label=(~follows).long()).loss
    loss, _ = ours.loss(PretrainingBatch(TOKENS, TYPES, MASK, chosen, TOKENS, follows))
    same(loss, want, 1e-5)
    mine, parameters = dict(ours.named_parameters()), dict(model.named_parameters())
    got = torch.autograd.grad(loss, list(mine.values()))
    names = pretrained_bert._names(ours)
    for g, name in zip(got, mine):
        expected = torch.autograd.grad(want, [parameters[part] for part in names[name]], retain_graph=True)
        same(g, torch.cat(expected), 1e-5)


def test_attention_weights_and_hidden(tmp_path):
    model = theirs("BertModel")
    model.set_attn_implementation("eager")
    model.save_pretrained(tmp_path)
    with pytest.warns(UserWarning, match="lacks cls"):
        ours = BERT.from_pretrained(tmp_path)
    want = asked(model, output_attentions=True)
    encoded = ours(TOKENS, TYPES, MASK)
    same(encoded.tokens[MASK], want.last_hidden_state[MASK], 1e-5)
    same(encoded.sentence, want.pooler_output, 1e-5)
    for a, b in zip(ours.attention_weights(TOKENS, TYPES, MASK), want.attentions):
        same(a, b, 1e-5)


# --- the files of a fine-tuned BERT ------------------------------------------------------------------------------------

TASKS = {SequenceClassifier: "BertForSequenceClassification", TokenClassifier: "BertForTokenClassification",
         QuestionAnswering: "BertForQuestionAnswering"}


def outputs(model):
    """Ours as theirs gives it: logits, or starts and ends, at real tokens where there is one for each."""
    if isinstance(model, QuestionAnswering):
        return [logits[MASK] for logits in model(TOKENS, TYPES, MASK)]
    if isinstance(model, (SequenceClassifier, TokenClassifier)):
        logits = model(TOKENS, TYPES, MASK)
    else:
        answer = asked(model)
        if hasattr(answer, "start_logits"):
            return [answer.start_logits[MASK], answer.end_logits[MASK]]
        logits = answer.logits
    return [logits if logits.dim() == 2 else logits[MASK]]


@pytest.mark.parametrize("cls", TASKS, ids=lambda cls: cls.__name__)
def test_fine_tuned_round_trip(tmp_path, cls):
    options = {} if cls is QuestionAnswering else {"num_labels": 3}
    model = theirs(TASKS[cls], **options)
    model.save_pretrained(tmp_path / "theirs")
    ours = cls.from_pretrained(tmp_path / "theirs")
    assert isinstance(ours, cls) and not ours.training
    same(outputs(ours), outputs(model), 1e-5)
    ours.save_pretrained(tmp_path / "ours")
    again, report = type(model).from_pretrained(tmp_path / "ours", output_loading_info=True)
    assert not any(report[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    assert again.config.num_labels == model.config.num_labels
    same(outputs(again.eval()), outputs(model), 1e-5)
    same(outputs(cls.from_pretrained(tmp_path / "ours")), outputs(ours), 0)


@pytest.mark.parametrize("cls, kind", [(cls, kind) for cls in TASKS for kind in TASKS.values() if kind != TASKS[cls]])
def test_other_task_refused(tmp_path, cls, kind):
    theirs(kind).save_pretrained(tmp_path)
    with pytest.raises(HubError, match=rf"architectures is \['{kind}'\]; expected {TASKS[cls]}, for a {cls.__name__}"):
        cls.from_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    del config["architectures"]                                     # then the tensors tell, as far as they can
    (tmp_path / "config.json").write_text(json.dumps(config))
    if (cls, kind) != (TokenClassifier, TASKS[SequenceClassifier]):                 # has all that it reads
        with pytest.raises(HubError, match="lacks (classifier|qa_outputs|bert.pooler)"):
            cls.from_pretrained(tmp_path)


def test_head_refused(tmp_path):
    theirs("BertForPreTraining").save_pretrained(tmp_path)
    with pytest.raises(HubError, match="architectures is .*BertForPreTraining"):
        TokenClassifier.from_pretrained(tmp_path)
    SequenceClassifier(BERT(dict(vocab_size=11, window=16, layers=1, heads=3, d_model=12)), 3).save_pretrained(tmp_path)
    tensors, config = load_file(tmp_path / "model.safetensors"), json.loads((tmp_path / "config.json").read_text())
    store(tmp_path, tensors | {"classifier.weight": torch.zeros(3, 11)}, config)
    with pytest.raises(HubError, match=r"classifier.weight gives weight the shape \(3, 11\); expected \(3, 12\), by config.json"):
        SequenceClassifier.from_pretrained(tmp_path)
