"""Use a trained language model: features, probing, retrieval, prompting, instruction tuning.

embeddings    hidden states as features of tokens and texts
probing       linear probes, with an untrained model and a control task for comparison
retrieval     sparse retrieval: TF-IDF, BM25, LSA; recall and mean reciprocal rank
dense         dense retrieval with learned vectors
reader        extractive question answering
prompting     zero-shot and few-shot prompts; scores of answers
in_context    in-context learning of random maps
instructions  instruction tuning
metrics       accuracy, F1, Matthews correlation, exact match
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
