"""Count-based language models: Markov chains, n-grams with smoothing, class-based n-grams.

markov       a first-order Markov chain
ngram        n-gram models
counts       counts of n-grams, stored as a tree of histories (the symbols before a symbol)
smoothing    add-alpha, interpolation, Kneser-Ney
packing      compressed counts for a file of weights
brown        Brown clustering
class_ngram  an n-gram model over word classes
"""

from course_lib.counting.brown import brown_classes, mutual_information
from course_lib.counting.class_ngram import ClassNGram
from course_lib.counting.markov import MarkovChain
from course_lib.counting.ngram import NGram

__all__ = ["ClassNGram", "MarkovChain", "NGram", "brown_classes", "mutual_information"]
