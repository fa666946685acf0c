"""Training: `fit` any model that has a log-likelihood or a loss; `evaluate` it in nats.

loop         the training loop and the evaluation
batches      tensors or a DataLoader, checked once and cut into batches
losses       what is minimized: the objective of a model, label smoothing in its two forms
schedules    the learning rate, step by step
history      what was measured, epoch by epoch
checkpoint   a file from which an interrupted run resumes bit for bit
metrics      perplexity, bits a character, BLEU
"""

from course_lib.training.batches import epoch_order
from course_lib.training.checkpoint import CheckpointError
from course_lib.training.history import History, Report
from course_lib.training.loop import evaluate, fit
from course_lib.training.losses import cross_entropy, objective
from course_lib.training.metrics import (
    Bleu,
    bits,
    bits_per_character,
    bits_per_token,
    bleu,
    nats,
    perplexity,
    spelling_nats,
)
from course_lib.training.schedules import constant, cosine, inverse_sqrt, linear, noam_lr

__all__ = ["Bleu", "CheckpointError", "History", "Report", "bits", "bits_per_character", "bits_per_token", "bleu", "constant",
           "cosine", "cross_entropy", "epoch_order", "evaluate", "fit", "inverse_sqrt", "linear", "nats", "noam_lr",
           "objective", "perplexity", "spelling_nats"]
