"""Models of text: tokenizers, chains and n-grams, classes of words, and the units in which they are compared."""

from course_lib.text.class_ngram import ClassNGram
from course_lib.text.classes import brown_classes, mutual_information
from course_lib.text.markov import MarkovChain
from course_lib.text.metrics import bits, bits_per_character, bits_per_token, nats, perplexity, spelling_nats
from course_lib.text.ngram import NGram
from course_lib.text.tokenizers import CharTokenizer, Tokenizer, Vocabulary, WordTokenizer, vowels

__all__ = ["CharTokenizer", "ClassNGram", "MarkovChain", "NGram", "Tokenizer", "Vocabulary", "WordTokenizer", "bits",
           "bits_per_character", "bits_per_token", "brown_classes", "mutual_information", "nats", "perplexity",
           "spelling_nats", "vowels"]
