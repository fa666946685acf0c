"""What this library reads of Hugging Face's files: a table by class and option, found by trying each on a small random model.

The table stands in book/api/transformer.md.
"""
from __future__ import annotations

import json
import re
import tempfile
import warnings
from pathlib import Path
from typing import Any, Callable, NamedTuple

import torch
from torch import Tensor

from book._tools.chapters import ROOT, between
from course_lib import transformer
from course_lib.hub import HubError
from course_lib.transformer import denoising

PAGE = ROOT / "book" / "api" / "transformer.md"
CLOSE = 1e-5                                                 # of two logits
SIZES = {
    "GPT2": dict(vocab_size=11, n_positions=16, n_embd=12, n_layer=2, n_head=3, n_inner=20, bos_token_id=0, eos_token_id=1,
                 pad_token_id=1),
    "Bert": dict(vocab_size=11, max_position_embeddings=10, hidden_size=12, num_hidden_layers=2, num_attention_heads=3,
                 intermediate_size=20),
    "Bart": dict(vocab_size=13, max_position_embeddings=12, d_model=12, encoder_layers=2, decoder_layers=1,
                 encoder_attention_heads=3, decoder_attention_heads=3, encoder_ffn_dim=20, decoder_ffn_dim=20,
                 forced_eos_token_id=None),
    "T5": dict(vocab_size=13, d_model=12, d_kv=5, num_layers=2, num_decoder_layers=1, num_heads=3, d_ff=20,
               relative_attention_num_buckets=8, relative_attention_max_distance=9, decoder_start_token_id=0),
}
PADS = {"Bart": (1, 2), "T5": (0, 1)}                        # the numbers of padding and of the end
TRIED: list[tuple[Any, ...]] = [             # their class, ours, options beside the sizes, how it is stored if not as always
    ("GPT2LMHeadModel", "GPT", {}),
    ("GPT2LMHeadModel", "GPT", {"tie_word_embeddings": False}),
    *(("GPT2LMHeadModel", "GPT", {"activation_function": name}) for name in ("gelu", "gelu_new", "relu", "silu")),
    ("GPT2LMHeadModel", "GPT", {"layer_norm_epsilon": 0.1}),
    ("GPT2LMHeadModel", "GPT", {"attn_pdrop": 0.0}),
    ("GPT2LMHeadModel", "GPT", {"bos_token_id": 50256, "eos_token_id": 50256}),
    ("GPT2LMHeadModel", "GPT", {"scale_attn_weights": False}),
    ("GPT2LMHeadModel", "GPT", {"scale_attn_by_inverse_layer_idx": True}),
    ("GPT2LMHeadModel", "GPT", {"add_cross_attention": True}),
    *(("GPT2LMHeadModel", "GPT", {}, stored) for stored in ("in shards", "as .bin", "as .bin in shards", "in float16", "in bfloat16")),
    ("GPT2Model", "GPT", {}),
    ("GPT2ForSequenceClassification", "GPTClassifier", {"num_labels": 4}),
    ("BertForPreTraining", "BERT", {}),
    ("BertForPreTraining", "BERT", {"tie_word_embeddings": False}),
    ("BertForPreTraining", "BERT", {"type_vocab_size": 3}),
    *(("BertForPreTraining", "BERT", {"hidden_act": name}) for name in ("gelu_new", "gelu_python", "relu", "silu")),
    ("BertForPreTraining", "BERT", {"attention_probs_dropout_prob": 0.0}),
    ("BertForPreTraining", "BERT", {"is_decoder": True}),
    *(("BertForPreTraining", "BERT", {}, stored) for stored in ("in shards", "as .bin", "in float16", "without model_type")),
    ("BertForMaskedLM", "BERT", {}),
    ("BertForNextSentencePrediction", "BERT", {}),
    ("BertModel", "BERT", {}),
    ("BertModel", "SequenceClassifier", {}),
    ("BertForSequenceClassification", "SequenceClassifier", {"num_labels": 3}),
    ("BertForTokenClassification", "TokenClassifier", {"num_labels": 3}),
    ("BertForQuestionAnswering", "QuestionAnswering", {}),
    ("BertForMultipleChoice", "MultipleChoice", {}),
    ("BartForConditionalGeneration", "BART", {}),
    ("BartForConditionalGeneration", "BART", {"scale_embedding": True}),
    ("BartForConditionalGeneration", "BART", {"activation_function": "relu"}),
    ("T5ForConditionalGeneration", "T5", {}),
    ("T5ForConditionalGeneration", "T5", {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}),
    ("T5ForConditionalGeneration", "T5", {"feed_forward_proj": "gated-silu"}),
]


def as_bin(folder: Path) -> None:
    """The weights as torch's own files, whole or in shards, as the hub had them before safetensors."""
    from safetensors.torch import load_file

    for file in sorted(folder.glob("*.safetensors")):
        torch.save(load_file(file), folder / renamed(file.name))
        file.unlink()
    for index in folder.glob("*.safetensors.index.json"):
        described = json.loads(index.read_text("utf-8"))
        described["weight_map"] = {name: renamed(file) for name, file in described["weight_map"].items()}
        (folder / f"{renamed(index.name.removesuffix('.index.json'))}.index.json").write_text(json.dumps(described), "utf-8")
        index.unlink()


def renamed(file: str) -> str:
    return f"pytorch_{file.removesuffix('.safetensors')}.bin"


def without_model_type(folder: Path) -> None:
    """config.json as older small BERTs have it."""
    file = folder / "config.json"
    described = json.loads(file.read_text("utf-8"))
    del described["model_type"]
    file.write_text(json.dumps(described), "utf-8")


SHARDS = {"max_shard_size": "3KB"}
STORED: dict[str, tuple[dict[str, Any], torch.dtype, Callable[[Path], None]]] = {     # for their save_pretrained; then done
    "": ({}, torch.float32, lambda folder: None),
    "in shards": (SHARDS, torch.float32, lambda folder: None),
    "as .bin": ({}, torch.float32, as_bin),
    "as .bin in shards": (SHARDS, torch.float32, as_bin),
    "in float16": ({}, torch.float16, lambda folder: None),
    "in bfloat16": ({}, torch.bfloat16, lambda folder: None),
    "without model_type": ({}, torch.float32, without_model_type),
}


class Row(NamedTuple):
    theirs: str
    ours: str
    options: str
    found: str                                               # "equal logits", with what is told, or why it is refused


def model_of(cls: str, options: dict[str, Any]):
    """Their model, small, every tensor perturbed, in eval mode."""
    import transformers

    kind = family(cls)
    torch.manual_seed(0)
    model = getattr(transformers, cls)(getattr(transformers, f"{kind}Config")(**SIZES[kind] | options)).eval()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.4 * torch.randn(p.shape, generator=generator))
    return model


def family(cls: str) -> str:
    return next(kind for kind in SIZES if cls.startswith(kind))


@torch.no_grad()
def both_logits(theirs, ours) -> list[tuple[Tensor, Tensor]]:
    """Their logits and ours at every real token of three texts, the shorter ones filled up on the right."""
    kind = family(type(theirs).__name__)
    generator = torch.Generator().manual_seed(1)
    tokens, mask = torch.randint(3, 11, (3, 8), generator=generator), torch.arange(8) < torch.tensor([8, 6, 4])[:, None]
    types = (torch.arange(8) >= torch.tensor([3, 5, 2])[:, None]).long()
    if kind in PADS:
        pad, end = PADS[kind]
        for row, last in zip(tokens, mask.sum(1) - 1):
            row[last], row[last + 1:] = end, pad
        want = theirs(input_ids=tokens, attention_mask=mask.long(), labels=tokens).logits
        return [(want[mask], ours.logits(ours.decode(ours.shift_right(tokens), *ours.encode((tokens, mask))))[mask])]
    if kind == "GPT2":
        padded = tokens.masked_fill(~mask, 1)
        answer, got = theirs(padded, attention_mask=mask.long()), ours(padded)
        want = answer.logits if hasattr(answer, "logits") else answer.last_hidden_state @ theirs.wte.weight.T
        return [(want[mask], got[mask]) if want.dim() == 3 else (want, got)]
    if type(ours).__name__ == "MultipleChoice":
        tokens, types, mask = (torch.stack([part, part.flip(0)], dim=1) for part in (tokens, types, mask))
    answer = theirs(tokens, attention_mask=mask.long(), token_type_ids=types)
    if hasattr(answer, "start_logits"):
        pairs = zip((answer.start_logits, answer.end_logits), ours(tokens, types, mask))
        return [(want[mask], got[mask]) for want, got in pairs]
    if hasattr(answer, "last_hidden_state"):                 # no head at all: the vectors
        got = ours(tokens, types, mask)
        return [(answer.last_hidden_state[mask], got.tokens[mask]), (answer.pooler_output, got.sentence)]
    if type(ours).__name__ == "BERT":
        words, sentence = ours.pretraining_logits(tokens, types, mask)
        if hasattr(answer, "prediction_logits"):
            return [(answer.prediction_logits[mask], words[mask]), (answer.seq_relationship_logits, sentence)]
        return [(answer.logits, sentence) if answer.logits.dim() == 2 else (answer.logits[mask], words[mask])]
    got = ours(tokens, types, mask)
    return [(answer.logits[mask], got[mask]) if got.dim() == 3 else (answer.logits, got)]


def row_of(theirs: str, ours: str, options: dict[str, Any], stored: str = "") -> Row:
    """What becomes of one of their files."""
    saving, dtype, change = STORED[stored]
    model, cls = model_of(theirs, options).to(dtype), getattr(transformer, ours, None) or getattr(denoising, ours)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder, **saving)
        change(Path(folder))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                found = "equal logits" if all(torch.allclose(*pair, rtol=CLOSE, atol=CLOSE) for pair in
                                              both_logits(model.double(), cls.from_pretrained(folder).double())) else "OTHER LOGITS"
            except HubError as error:
                found = f"refused: {error}"
        told = [str(one.message) for one in said if issubclass(one.category, UserWarning) and folder in str(one.message)]
        found = "; ".join([found, *(f"told: {text}" for text in told)]).replace(f"{folder}/model.safetensors", "the file").replace("the file: ", "")
    written = escaped(stored) or ", ".join(f"`{name}={value!r}`" for name, value in options.items() if name != "num_labels") or "as it is"
    return Row(theirs, ours, written, found)


def table(rows: list[Row]) -> str:
    """The rows as Markdown; a class is named where it begins."""
    out, former = ["| their class | here | option, or how it is stored | |", "|---|---|---|---|"], None
    for row in rows:
        names = (f"`{row.theirs}`", f"`{row.ours}`") if row[:2] != former else ("", "")
        out.append(f"| {' | '.join((*names, row.options, escaped(row.found)))} |")
        former = row[:2]
    return "\n".join(out)


def escaped(text: str) -> str:
    return re.sub(r"([<>|*_\[\]])", r"\\\1", text)


def wanted() -> dict[Path, str]:
    return {PAGE: between(PAGE.read_text("utf-8"), "what loads", table([row_of(*tried) for tried in TRIED]))}
