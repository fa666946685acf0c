"""A trained language model in use: its layers as features, what they know, texts to read from, prompts, instructions.

embeddings    layers as vectors of tokens and of texts
probing       what a layer knows, beside an untrained twin and a control task
retrieval     which documents bear on a question: TF-IDF, BM25, LSA; recall and rank
dense         the same by learned vectors
reader        an answer taken out of a passage
prompting     instructions, examples and sources in front of a question; the likeliest answer
in_context    a task that is new in every prompt
instructions  tuning on answers alone
metrics       what leaderboards count
"""

from course_lib.using.dense import Dense, DualEncoder
from course_lib.using.embeddings import feature_extraction, hidden_states, pooled
from course_lib.using.in_context import answers, best_possible, draw_prompts, right_by_examples, seen_before
from course_lib.using.instructions import AnswerLoss
from course_lib.using.metrics import accuracy, answer_f1, exact_match, f1, matthews, normalized
from course_lib.using.probing import LinearProbe, Probed, control_labels, probe, untrained_twin
from course_lib.using.prompting import gap_scores, option_scores, write_prompt
from course_lib.using.reader import SpanReader, fit_reader, sentences_in
from course_lib.using.retrieval import BM25, Hit, Index, Latent, TfIdf, mean_reciprocal_rank, ranks, recall_at

__all__ = ["AnswerLoss", "BM25", "Dense", "DualEncoder", "Hit", "Index", "Latent", "LinearProbe", "Probed", "SpanReader",
           "TfIdf", "accuracy", "answer_f1", "answers", "best_possible", "control_labels", "draw_prompts", "exact_match", "f1",
           "feature_extraction", "fit_reader", "gap_scores", "hidden_states", "matthews", "mean_reciprocal_rank", "normalized",
           "option_scores", "pooled", "probe", "ranks", "recall_at", "right_by_examples", "seen_before", "sentences_in",
           "untrained_twin", "write_prompt"]
