"""Train a model that has a log-likelihood or a loss (`fit`), and evaluate its negative log-likelihood in nats (`evaluate`).

loop         the training loop and the evaluation
batches      tensors or a DataLoader, checked and split into batches
losses       the objective of a model, and cross-entropy with label smoothing
schedules    the learning rate of each step
history      the losses of each epoch
checkpoint   a file from which an interrupted run resumes bit for bit
metrics      perplexity, bits per character, BLEU
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
