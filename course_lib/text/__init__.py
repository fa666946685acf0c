"""Models of text: tokenizers, chains and n-grams, classes of words, and the units in which they are compared."""

from course_lib.text.batching import join_segments, pad, unpad
from course_lib.text.byte_pairs import BytePairTokenizer
from course_lib.text.class_ngram import ClassNGram
from course_lib.text.classes import brown_classes, mutual_information
from course_lib.text.markov import MarkovChain
from course_lib.text.metrics import (
           Bleu,
           bits,
           bits_per_character,
           bits_per_token,
           bleu,
           nats,
           perplexity,
           spelling_nats,
)
from course_lib.text.ngram import NGram
from course_lib.text.tokenizers import CharTokenizer, Tokenizer, Vocabulary, WordTokenizer, vowels
from course_lib.text.word_pieces import WordPieceTokenizer

__all__ = ["Bleu", "BytePairTokenizer", "CharTokenizer", "ClassNGram", "MarkovChain", "NGram", "Tokenizer",
           "Vocabulary", "WordPieceTokenizer", "WordTokenizer", "bits", "bits_per_character", "bits_per_token",
           "bleu", "brown_classes", "join_segments", "mutual_information", "nats", "pad", "perplexity",
           "spelling_nats", "unpad", "vowels"]
