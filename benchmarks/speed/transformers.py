"""GPT, BERT and the encoder-decoder beside those of Hugging Face and torch, with the same weights or sizes: steps, greedy and beam search."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from unittest.mock import patch

import torch
import torch.nn.functional as F
from torch import nn

from benchmarks.speed.comparison import Comparison, peer
from course_lib.autoregressive import AutoregressiveModel
from course_lib.decoding import beam_search, greedy
from course_lib.transformer import _fused_attention
from course_lib.transformer.bert import BERT, PretrainingBatch
from course_lib.transformer.gpt import GPT, GPTConfig
from course_lib.transformer.positions import SinusoidalPositions
from course_lib.transformer.transformer import Transformer, TransformerConfig

PAD, BOS, EOS = 0, 1, 2
PEER = "transformers 5.23.0"


def step(model: nn.Module, loss: Callable[[], torch.Tensor]) -> Callable[[], torch.Tensor]:
    """A training step as in `fit` with AdamW, without gradient clipping."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def call() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        value = loss()
        value.backward()
        optimizer.step()
        return value.detach()

    return call


def as_ours(cls: type, theirs: nn.Module) -> nn.Module:
    """A model with the same weights, converted through the file format."""
    with tempfile.TemporaryDirectory() as folder:
        theirs.save_pretrained(folder)
        return cls.from_pretrained(folder)


def numbers(low: int, high: int, *shape: int) -> torch.Tensor:
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(0))


# --- GPT -------------------------------------------------------------------------------------------------------------


def gpts(layers: int = 6, heads: int = 6, width: int = 192, window: int = 128, vocabulary: int = 65) -> tuple[nn.Module, GPT]:
    """Theirs and ours, with the same weights."""
    torch.manual_seed(0)
    hf = peer("transformers")
    theirs = hf.GPT2LMHeadModel(hf.GPT2Config(
        vocab_size=vocabulary, n_positions=window, n_embd=width, n_layer=layers, n_head=heads, resid_pdrop=0.0, embd_pdrop=0.0,
        attn_pdrop=0.0, bos_token_id=0, eos_token_id=vocabulary - 1, attn_implementation="sdpa"))
    return theirs, as_ours(GPT, theirs)


def gpt_step() -> Comparison:
    theirs, ours = gpts()
    tokens = numbers(0, 65, 16, 128)
    calls = {"course_lib": step(ours, lambda: ours.loss(tokens)[0]),
             PEER: step(theirs, lambda: theirs(tokens, labels=tokens).loss)}
    torch.testing.assert_close(calls["course_lib"](), calls[PEER](), atol=1e-4, rtol=0)
    return Comparison(
        "GPT, 6 layers, width 192: a training step",
        "16 rows of 128 tokens, AdamW included, from the same weights. The peer is GPT-2 with `sdpa` attention.",
        calls, fast="course_lib", slow=PEER)


def gpt_greedy(batch: int) -> Comparison:
    theirs, ours = (model.eval() for model in gpts())
    prompt = numbers(0, 64, batch, 16)
    options = {"max_new_tokens": 100, "min_new_tokens": 100, "do_sample": False, "pad_token_id": 64}
    attended = torch.ones_like(prompt)
    calls = {"course_lib": lambda: greedy(ours, 100, context=prompt).tokens,
             PEER: lambda: theirs.generate(prompt, attention_mask=attended, eos_token_id=None, **options)[:, 16:]}
    if not torch.equal(*(call() for call in calls.values())):
        raise AssertionError("the two write different tokens: there is nothing to compare")
    return Comparison(
        f"GPT, 6 layers, width 192: 100 tokens, batch {batch}",
        "Greedy, with a cache of keys and values, after 16 tokens. Same weights, same tokens.",
        calls, fast="course_lib", slow=PEER)


def gpt_padding() -> Comparison:
    """Two layers, four heads, width 128: long texts of unequal length, with and without a mask of all pairs."""
    theirs, ours = (model.eval() for model in gpts(layers=2, heads=4, width=128, window=2048))
    tokens = numbers(0, 65, 4, 2048)
    real = torch.arange(2048) < torch.tensor([2048, 1800, 1400, 1024])[:, None]

    def of_all_pairs() -> torch.Tensor:
        with patch.object(_fused_attention, "LONG", tokens.shape[1]):
            return ours(tokens, real)

    calls = {"course_lib": lambda: ours(tokens, real), "course_lib, one mask of all pairs": of_all_pairs,
             "course_lib, nothing hidden": lambda: ours(tokens),
             PEER: lambda: theirs(tokens, attention_mask=real.long(), use_cache=False).logits}
    calls = {name: torch.no_grad()(call) for name, call in calls.items()}
    for name in ("course_lib, one mask of all pairs", PEER):
        torch.testing.assert_close(calls["course_lib"]()[real], calls[name]()[real], atol=1e-4, rtol=0)
    return Comparison(
        "GPT, 2 layers, width 128: 4 texts of 1024 to 2048 tokens",
        "A forward pass over rows that are filled up on the right, from the same weights. The peer joins the padding with the "
        "causal mask, a number for each pair of positions; `course_lib` has one number more in each key.",
        calls, fast="course_lib", slow=PEER)


class Recomputes(GPT):
    """GPT without a cache: the base class calls `conditionals` for every token."""

    start, predict = AutoregressiveModel.start, AutoregressiveModel.predict
    update, select = AutoregressiveModel.update, AutoregressiveModel.select


def gpt_cache() -> Comparison:
    """Six layers, six heads, width 192, window 256: what the cache saves, for a short text and for a full window."""
    torch.manual_seed(0)
    config = GPTConfig(vocab_size=65, window=256, layers=6, heads=6, d_model=192, bos_id=0)
    ours, again = GPT(config).eval(), Recomputes(config).eval()
    again.load_state_dict(ours.state_dict())
    calls = {"course_lib": lambda: greedy(ours, 256).tokens, "recomputed": lambda: greedy(again, 256).tokens,
             "course_lib, 64 tokens": lambda: greedy(ours, 64).tokens,
             "recomputed, 64 tokens": lambda: greedy(again, 64).tokens}
    if not torch.equal(calls["course_lib, 64 tokens"](), calls["recomputed, 64 tokens"]()):
        raise AssertionError("the two write different tokens: there is nothing to compare")
    return Comparison(
        "GPT, 6 layers, width 192: 256 tokens with and without a cache",
        "Greedy, batch 1, after the start token. Same weights, same tokens; the peer reads all of them again for each.",
        calls, fast="course_lib", slow="recomputed")


# --- BERT ------------------------------------------------------------------------------------------------------------


def bert_losses(layers: int = 4, heads: int = 4, width: int = 128, length: int = 128, rows: int = 16, vocabulary: int = 8000,
                device: str | torch.device = "cpu") -> dict[str, tuple[nn.Module, Callable[[], torch.Tensor]]]:
    """Ours and theirs, with the same weights: the model, and both losses on the same rows."""
    torch.manual_seed(0)
    hf = peer("transformers")
    theirs = hf.BertForPreTraining(hf.BertConfig(
        vocab_size=vocabulary, hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads, intermediate_size=4 * width,
        max_position_embeddings=length, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))
    ours, theirs = as_ours(BERT, theirs).to(device).train(), theirs.to(device).train()
    tokens, kinds, chosen = (part.to(device) for part in (
        numbers(5, vocabulary, rows, length), numbers(0, 2, rows, length), numbers(0, 100, rows, length) < 15))
    mask, follows = torch.ones_like(chosen), numbers(0, 2, rows).bool().to(device)
    given = PretrainingBatch(tokens.masked_fill(chosen, 4), kinds, mask, chosen, tokens, follows)
    labels = tokens.masked_fill(~chosen, -100)
    return {"course_lib": (ours, lambda: ours.loss(given)[0]),
            PEER: (theirs, lambda: theirs(given.tokens, attention_mask=mask.long(), token_type_ids=kinds, labels=labels,
                                          next_sentence_label=(~follows).long()).loss)}


def bert_step() -> Comparison:
    calls = {name: step(*each) for name, each in bert_losses().items()}
    torch.testing.assert_close(calls["course_lib"](), calls[PEER](), atol=1e-4, rtol=0)
    return Comparison(
        "BERT, 4 layers, width 128: a pre-training step",
        "16 rows of 128 tokens, vocabulary 8000, both losses, AdamW included, from the same weights. The peer runs its "
        "output layer on every position, `course_lib` on the chosen ones.",
        calls, fast="course_lib", slow=PEER)


# --- encoder and decoder ---------------------------------------------------------------------------------------------

SIZE = {"d_model": 256, "heads": 4, "d_ff": 1024, "encoder_layers": 3, "decoder_layers": 3, "dropout": 0.0}
WORDS, PAIRS, LENGTH = 5000, 32, 24


class TorchTranslation(nn.Module):
    """The same network from torch's layers."""

    def __init__(self):
        super().__init__()
        d, heads, d_ff = SIZE["d_model"], SIZE["heads"], SIZE["d_ff"]
        self.source, self.target = nn.Embedding(WORDS, d), nn.Embedding(WORDS, d)
        self.positions = SinusoidalPositions(d, scale=True)
        options = {"dropout": 0.0, "batch_first": True}
        encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(d, heads, d_ff, **options), 3)
        decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(d, heads, d_ff, **options), 3)
        self.transformer = nn.Transformer(d, heads, custom_encoder=encoder, custom_decoder=decoder, batch_first=True)

    def loss(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        before = F.pad(target[:, :-1], (1, 0), value=BOS)
        hidden = source == PAD
        future = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1)
        out = self.transformer(self.positions(self.source(source)), self.positions(self.target(before)), tgt_mask=future,
                               src_key_padding_mask=hidden, memory_key_padding_mask=hidden)
        logits = F.linear(out, self.target.weight)
        return F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=PAD)


def pairs() -> tuple[torch.Tensor, torch.Tensor]:
    """Sentences of 12 to 24 words, filled up."""
    long = torch.arange(LENGTH) < numbers(LENGTH // 2, LENGTH + 1, PAIRS)[:, None]
    words = numbers(3, WORDS, 2, PAIRS, LENGTH).masked_fill(~long, PAD)
    return words[0], words[1]


def ours_for_translation() -> Transformer:
    return Transformer(TransformerConfig(source=WORDS, target=WORDS, pad_id=PAD, bos_id=BOS, eos_id=EOS, **SIZE))


def translation_step() -> Comparison:
    torch.manual_seed(0)
    ours, theirs, data = ours_for_translation(), TorchTranslation(), pairs()
    sizes = [sum(p.numel() for p in model.parameters()) for model in (ours, theirs)]
    if sizes[0] != sizes[1]:
        raise AssertionError(f"{sizes[0]} parameters against {sizes[1]}: there is nothing to compare")
    return Comparison(
        "Encoder and decoder, 3 + 3 layers, width 256: a training step",
        f"{PAIRS} pairs of 12 to {LENGTH} words, vocabularies of {WORDS}, AdamW included. The peer is "
        "`torch.nn.Transformer` between the same embeddings.",
        {"course_lib": step(ours, lambda: ours.loss(data)[0]),
         "torch.nn.Transformer": step(theirs, lambda: theirs.loss(*data))},
        fast="course_lib", slow="torch.nn.Transformer")


def marian() -> nn.Module:
    """Hugging Face's encoder-decoder of the same sizes."""
    hf = peer("transformers")
    return hf.MarianMTModel(hf.MarianConfig(
        vocab_size=WORDS, d_model=256, encoder_layers=3, decoder_layers=3, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=1024, decoder_ffn_dim=1024, max_position_embeddings=64, pad_token_id=PAD,
        bos_token_id=BOS, eos_token_id=EOS, decoder_start_token_id=BOS, forced_eos_token_id=None, dropout=0.0,
        scale_embedding=True, share_encoder_decoder_embeddings=True)).eval()


def translation_greedy() -> Comparison:
    torch.manual_seed(0)
    source = pairs()[0][:8]
    theirs = marian()
    ours = ours_for_translation().eval()
    options = {"max_new_tokens": LENGTH, "min_new_tokens": LENGTH, "do_sample": False, "num_beams": 1}
    calls = {"course_lib": lambda: greedy(ours, LENGTH, context=source).tokens,
             f"Marian, {PEER}": lambda: theirs.generate(source, attention_mask=(source != PAD).long(), **options)}
    return Comparison(
        "Encoder and decoder, 3 + 3 layers, width 256: greedy decoding",
        f"8 sources, {LENGTH} words each, with what is kept of the past. Networks of the same sizes, each with weights "
        "of its own.", calls, fast="course_lib", slow=f"Marian, {PEER}")


BEAMS, BATCH, NEW = 4, 8, 100                                        # beams a row, rows, tokens


def gpt_beams() -> Comparison:
    """Six layers, six heads, width 192: the same weights, the same tokens."""
    theirs, ours = (model.eval() for model in gpts())
    prompt = numbers(0, 64, BATCH, 16)
    attended = torch.ones_like(prompt)
    options = {"max_new_tokens": NEW, "min_new_tokens": NEW, "do_sample": False, "num_beams": BEAMS, "pad_token_id": 64,
               "eos_token_id": None, "early_stopping": False, "length_penalty": 1.0}
    calls = {"course_lib": lambda: beam_search(ours, NEW, context=prompt, beams=BEAMS).tokens[:, 0],
             PEER: lambda: theirs.generate(prompt, attention_mask=attended, **options)[:, 16:]}
    if not torch.equal(*(call() for call in calls.values())):
        raise AssertionError("the two write different tokens: there is nothing to compare")
    return Comparison(
        f"GPT, 6 layers, width 192: {BEAMS} beams, {NEW} tokens, batch {BATCH}",
        "With a cache of keys and values, after 16 tokens. Same weights, same tokens.",
        calls, fast="course_lib", slow=PEER)


def translation_beams() -> Comparison:
    torch.manual_seed(0)
    source = pairs()[0]
    theirs, ours = marian(), ours_for_translation().eval()
    options = {"max_new_tokens": LENGTH, "min_new_tokens": LENGTH, "do_sample": False, "num_beams": BEAMS,
               "early_stopping": False}
    calls = {"course_lib": lambda: beam_search(ours, LENGTH, context=source, beams=BEAMS).tokens,
             f"Marian, {PEER}": lambda: theirs.generate(source, attention_mask=(source != PAD).long(), **options)}
    return Comparison(
        f"Encoder and decoder, 3 + 3 layers, width 256: {BEAMS} beams",
        f"{len(source)} sources, {LENGTH} words each, with what is kept of the past. Networks of the same sizes, each with "
        "weights of its own.", calls, fast="course_lib", slow=f"Marian, {PEER}")


COMPARISONS = {
    "speed-gpt-step": gpt_step,
    "speed-gpt-greedy-1": partial(gpt_greedy, 1),
    "speed-gpt-greedy-8": partial(gpt_greedy, 8),
    "speed-gpt-padding": gpt_padding,
    "speed-gpt-cache": gpt_cache,
    "speed-gpt-beams": gpt_beams,
    "speed-bert-step": bert_step,
    "speed-translation-step": translation_step,
    "speed-translation-greedy": translation_greedy,
    "speed-translation-beams": translation_beams,
}
