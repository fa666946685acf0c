"""Chapter 07: an RNN's states, an LSTM's step, the gradient through time, gates that are not there, a net that says hello, and a
language model with a cell of one's own."""
from course_lib.grading.bank.ch07_recurrent import (
    find_forgetful,
    lstm_step,
    own_recurrent,
    rnn_forward,
    through_time,
    train_hello,
)

EXERCISES = [each.exercise for each in (rnn_forward, lstm_step, through_time, find_forgetful, train_hello, own_recurrent)]
