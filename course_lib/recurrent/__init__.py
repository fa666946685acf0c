"""Recurrent networks: cells, layers, language models, attention over hidden states, and the encoder-decoder."""

from course_lib.recurrent.attentive import AttentiveLM
from course_lib.recurrent.cells import CELLS, Cell, GRUCell, LSTMCell, RNNCell
from course_lib.recurrent.language_model import RecurrentLM
from course_lib.recurrent.layers import Recurrent
from course_lib.recurrent.scores import (
    SCORES,
    AdditiveScore,
    BilinearScore,
    DotScore,
    ScaledDotScore,
    Score,
    context_of,
    weights_of,
)
from course_lib.recurrent.selection import (
    expected_loss_gradient,
    gumbel_softmax,
    hard_selection,
    mean_selection,
    reinforce,
    soft_selection,
    sum_selection,
)
from course_lib.recurrent.seq2seq import Seq2Seq
from course_lib.recurrent.truncated import Carried, nats_of_text, streams

__all__ = ["CELLS", "SCORES", "AdditiveScore", "AttentiveLM", "BilinearScore", "Carried", "Cell", "DotScore",
           "GRUCell", "LSTMCell", "RNNCell", "Recurrent", "RecurrentLM", "ScaledDotScore", "Score", "Seq2Seq",
           "context_of", "expected_loss_gradient", "gumbel_softmax", "hard_selection", "mean_selection",
           "nats_of_text", "reinforce", "soft_selection", "streams", "sum_selection", "weights_of"]
