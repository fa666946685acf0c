"""Denoising pre-training and its models: BART, T5, RoBERTa, ELECTRA, DeBERTa, Pegasus; and XLNet."""

from course_lib.transformer.denoising.bart import BART, BARTConfig
from course_lib.transformer.denoising.deberta import DisentangledAttention, relative_index
from course_lib.transformer.denoising.electra import ELECTRA, replace
from course_lib.transformer.denoising.masking import DynamicMasking, StaticMasking
from course_lib.transformer.denoising.noises import (
    document_rotation,
    sentence_permutation,
    split_sentences,
    text_infilling,
    token_deletion,
    token_masking,
)
from course_lib.transformer.denoising.pegasus import gap_sentences, rouge_l, rouge_n
from course_lib.transformer.denoising.sentinels import exchange, restore, span_corruption
from course_lib.transformer.denoising.t5 import T5, T5Config
from course_lib.transformer.denoising.xlnet import XLNet, order_masks

__all__ = ["BART", "BARTConfig", "DisentangledAttention", "DynamicMasking", "ELECTRA", "StaticMasking", "T5", "T5Config",
           "XLNet", "document_rotation", "exchange", "gap_sentences", "order_masks", "relative_index", "replace", "restore",
           "rouge_l", "rouge_n", "sentence_permutation", "split_sentences", "span_corruption", "text_infilling",
           "token_deletion", "token_masking"]
