"""Tokenizers for characters, words and subwords, and padded batches of texts.

vocabulary   tokens and their ids; the base class of tokenizers
characters   one token per character
words        one token per word
byte_pairs   byte-pair encoding as in GPT-2
word_pieces  WordPiece as in BERT
merging      learn the merges of byte-pair encoding and WordPiece
sequences    check sequences of ids and prompts
batching     pad texts of different lengths to a batch
"""

from course_lib.tokenizers.batching import left_pad, pad, tokens_and_mask, unpad
from course_lib.tokenizers.byte_pairs import BytePairTokenizer
from course_lib.tokenizers.characters import CharTokenizer, vowels
from course_lib.tokenizers.vocabulary import Tokenizer, Vocabulary
from course_lib.tokenizers.word_pieces import WordPieceTokenizer
from course_lib.tokenizers.words import WordTokenizer

__all__ = ["BytePairTokenizer", "CharTokenizer", "Tokenizer", "Vocabulary", "WordPieceTokenizer", "WordTokenizer",
           "left_pad", "pad", "tokens_and_mask", "unpad", "vowels"]
