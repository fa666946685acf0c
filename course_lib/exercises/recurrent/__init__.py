"""Chapter 07: an RNN's states, an LSTM's step, the gradient through time, gates that are not there, a net that says hello, and a
language model with a cell of one's own."""
