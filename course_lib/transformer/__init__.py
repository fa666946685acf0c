"""Attention, positions, the blocks made of them, and the models made of blocks."""

from course_lib.transformer.attention import (
    KVCache,
    MultiHeadAttention,
    attention_weights,
    causal_mask,
    combine_masks,
    fused_attention,
    padding_mask,
)
from course_lib.transformer.bert import (
    BERT,
    BERTConfig,
    PretrainingBatch,
    QuestionAnswering,
    SequenceClassifier,
    TokenClassifier,
)
from course_lib.transformer.blocks import (
    DecoderBlock,
    EncoderBlock,
    FeedForward,
    LayerNorm,
    Residual,
    layer_norm,
    transformer_function,
)
from course_lib.transformer.corruption import mask_tokens, sentence_pairs
from course_lib.transformer.gpt import GPT, GPTConfig, left_pad
from course_lib.transformer.positions import (
    CombinedPositions,
    LearnedPositions,
    OneHotPositions,
    SeparatePositions,
    SinusoidalPositions,
    rotary,
    sinusoidal,
)
from course_lib.transformer.translation import Translation, TranslationConfig

__all__ = ["BERT", "BERTConfig", "CombinedPositions", "DecoderBlock", "EncoderBlock", "FeedForward", "GPT",
           "GPTConfig", "KVCache", "LayerNorm", "LearnedPositions", "MultiHeadAttention", "OneHotPositions",
           "PretrainingBatch", "QuestionAnswering", "Residual", "SeparatePositions", "SequenceClassifier",
           "SinusoidalPositions", "TokenClassifier", "Translation", "TranslationConfig", "attention_weights",
           "causal_mask", "combine_masks", "fused_attention", "layer_norm", "left_pad", "mask_tokens", "padding_mask",
           "rotary", "sentence_pairs", "sinusoidal", "transformer_function"]
