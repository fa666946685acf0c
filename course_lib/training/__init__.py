"""Training: `fit` any model that has a log-likelihood or a loss; `evaluate` it in nats.

loop         the training loop and the evaluation, one screen each
objective    what is minimised: the mean over a batch, and what it weighs
source       where the batches come from: tensors or a DataLoader
losses       label smoothing in its two forms
schedules    the learning rate, step by step
history      what was measured, epoch by epoch
checkpoint   a file from which a killed run goes on bit for bit
metrics      perplexity, bits a character, BLEU
"""

from course_lib.training.checkpoint import CheckpointError
from course_lib.training.history import History, Report
from course_lib.training.loop import evaluate, fit
from course_lib.training.losses import cross_entropy
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
from course_lib.training.objective import epoch_order, objective
from course_lib.training.schedules import constant, cosine, inverse_sqrt, linear, noam_lr

__all__ = ["Bleu", "CheckpointError", "History", "Report", "bits", "bits_per_character", "bits_per_token", "bleu", "constant",
           "cosine", "cross_entropy", "epoch_order", "evaluate", "fit", "inverse_sqrt", "linear", "nats", "noam_lr",
           "objective", "perplexity", "spelling_nats"]
