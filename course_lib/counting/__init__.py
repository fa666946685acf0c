"""Models by counting: chains, n-grams and their smoothing, classes of words.

markov       a chain over the values themselves
ngram        the next symbol from the last n - 1
counts       the tree of counts behind it
smoothing    what unseen histories are given
packing      the counts in a file of weights
brown        classes of words, found by mutual information
class_ngram  an n-gram over classes
"""

from course_lib.counting.brown import brown_classes, mutual_information
from course_lib.counting.class_ngram import ClassNGram
from course_lib.counting.markov import MarkovChain
from course_lib.counting.ngram import NGram

__all__ = ["ClassNGram", "MarkovChain", "NGram", "brown_classes", "mutual_information"]
