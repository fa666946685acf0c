"""Attention, positional encodings, transformer blocks, and the models GPT, BERT and the encoder-decoder."""

from course_lib.tokenizers.batching import left_pad
from course_lib.transformer._fused_attention import fused_attention
from course_lib.transformer.attention import MultiHeadAttention, attention_weights
from course_lib.transformer.bert import BERT, BERTConfig, PretrainingBatch
from course_lib.transformer.blocks import (
    DecoderBlock,
    FeedForward,
    LayerNorm,
    Residual,
    TransformerBlock,
    layer_norm,
    transformer_function,
)
from course_lib.transformer.corruption import mask_tokens, sentence_pairs
from course_lib.transformer.gpt import GPT, GPTConfig
from course_lib.transformer.kv_cache import KVCache
from course_lib.transformer.masks import causal_mask, combine_masks, padding_mask
from course_lib.transformer.positions import (
    CombinedPositions,
    LearnedPositions,
    OneHotPositions,
    SeparatePositions,
    SinusoidalPositions,
    rotary,
    sinusoidal,
)
from course_lib.transformer.rotary_attention import RollingCache, RotaryAttention
from course_lib.transformer.rotary_gpt import RotaryGPT, RotaryGPTConfig
from course_lib.transformer.segments import join_segments
from course_lib.transformer.task_heads import (
    GPTClassifier,
    MultipleChoice,
    QuestionAnswering,
    SequenceClassifier,
    TokenClassifier,
)
from course_lib.transformer.transformer import Transformer, TransformerConfig

__all__ = ["BERT", "BERTConfig", "CombinedPositions", "DecoderBlock", "TransformerBlock", "FeedForward", "GPT",
           "GPTClassifier", "GPTConfig", "KVCache", "LayerNorm", "LearnedPositions", "MultiHeadAttention", "MultipleChoice", "OneHotPositions",
           "PretrainingBatch", "QuestionAnswering", "Residual", "RollingCache", "RotaryAttention", "RotaryGPT",
           "RotaryGPTConfig", "SeparatePositions", "SequenceClassifier",
           "SinusoidalPositions", "TokenClassifier", "Transformer", "TransformerConfig", "attention_weights",
           "causal_mask", "combine_masks", "fused_attention", "join_segments", "layer_norm", "left_pad", "mask_tokens",
           "padding_mask", "rotary", "sentence_pairs", "sinusoidal", "transformer_function"]
