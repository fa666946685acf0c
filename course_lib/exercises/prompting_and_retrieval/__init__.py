"""Chapter 20: a vector for each word, BM25, a probe beside its control, planted passages, scores of answers, examples in a
prompt, and a prompt of vectors that is tuned."""
