"""Counts and vectors of words and documents, and models that predict a masked word."""

from course_lib.words.cloze import Gaps, delete_every, flesch, restored, syllables
from course_lib.words.counts import (
    Corpus,
    cooccurrences,
    count_words,
    inverse_document_frequency,
    ngrams,
    weigh,
    window_pairs,
)
from course_lib.words.elmo import BiLM, LayerMix, OneWay, words_of_pieces
from course_lib.words.glove import GloVe
from course_lib.words.lsa import LSA, ppmi, svd_vectors, truncated_svd
from course_lib.words.masked import BiRNNCloze, Cloze, ConvCloze, TextConv, WindowCloze, neighbours
from course_lib.words.multitask import MultiTask, ranking_loss, windows_of, with_another_middle
from course_lib.words.neural_lm import NeuralLM
from course_lib.words.topics import TopicModel
from course_lib.words.vectors import WordVectors, agreement, analogies_right
from course_lib.words.word2vec import CBOW, NoiseSampler, SkipGram, negative_sampling_loss

__all__ = ["BiLM", "BiRNNCloze", "CBOW", "Cloze", "ConvCloze", "Corpus", "Gaps", "GloVe", "LSA", "LayerMix",
           "MultiTask", "NeuralLM", "NoiseSampler", "OneWay", "SkipGram", "TextConv", "TopicModel", "WindowCloze",
           "WordVectors", "agreement", "analogies_right", "cooccurrences", "count_words", "delete_every", "flesch",
           "inverse_document_frequency", "negative_sampling_loss", "neighbours", "ngrams", "ppmi", "ranking_loss",
           "restored", "svd_vectors", "syllables", "truncated_svd", "weigh", "window_pairs", "windows_of",
           "with_another_middle", "words_of_pieces"]
