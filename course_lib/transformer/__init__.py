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
from course_lib.transformer.blocks import (
    DecoderBlock,
    EncoderBlock,
    FeedForward,
    LayerNorm,
    Residual,
    layer_norm,
    transformer_function,
)
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

__all__ = ["GPT", "CombinedPositions", "DecoderBlock", "EncoderBlock", "FeedForward", "GPTConfig", "KVCache",
           "LayerNorm", "LearnedPositions", "MultiHeadAttention", "OneHotPositions", "Residual", "SeparatePositions",
           "SinusoidalPositions", "attention_weights", "causal_mask", "combine_masks", "fused_attention",
           "layer_norm", "left_pad", "padding_mask", "rotary", "sinusoidal", "transformer_function"]
