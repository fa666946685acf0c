"""Chapter 18: what BERT reads, the pairs it judges, the sum of three embeddings, tokens hidden by its rule, maskers
that break it, the best span of an answer, a BERT of one's own, and one that is fine-tuned to a score."""
