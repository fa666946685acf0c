"""From text to numbers and back: characters, words, pieces of words; and texts as batches.

vocabulary   symbols and their numbers; what all tokenizers share
characters   every character a symbol
words        every word a symbol
byte_pairs   pieces of words as in GPT-2
word_pieces  pieces of words as in BERT
merging      learning the pieces, for both
sequences    what models of text accept as text, checked
batching     texts of unequal length as one rectangle
"""

from course_lib.tokenizers.batching import left_pad, pad, tokens_and_mask, unpad
from course_lib.tokenizers.byte_pairs import BytePairTokenizer
from course_lib.tokenizers.characters import CharTokenizer, vowels
from course_lib.tokenizers.vocabulary import Tokenizer, Vocabulary
from course_lib.tokenizers.word_pieces import WordPieceTokenizer
from course_lib.tokenizers.words import WordTokenizer

__all__ = ["BytePairTokenizer", "CharTokenizer", "Tokenizer", "Vocabulary", "WordPieceTokenizer", "WordTokenizer",
           "left_pad", "pad", "tokens_and_mask", "unpad", "vowels"]
