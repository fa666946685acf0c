"""Chapter 15: layer norm, smoothed targets, the schedule of the paper, the name of a block's arrangement,
a merge of byte pairs, the counts of BLEU, a clipped step, a decoder block of one's own, a training run to be mended, and a translator to be
trained."""
