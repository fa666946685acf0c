"""Chapter 15: layer norm, smoothed targets, the schedule of the paper, the name of a block's arrangement,
a merge of byte pairs, the counts of BLEU, a clipped step, a decoder block of one's own, a training run to be mended, and a translator to be
trained."""
from course_lib.grading.bank.ch15_transformer import (
    byte_pair_step,
    clipped_ngrams,
    clipped_step,
    find_placements,
    label_smoothing_loss,
    layer_norm,
    mended_training,
    noam_lr,
    own_decoder_block,
    slide_smoothing_loss,
    train_translator,
)

EXERCISES = [each.exercise for each in (
    layer_norm, label_smoothing_loss, slide_smoothing_loss, noam_lr, byte_pair_step, clipped_ngrams,
    find_placements, clipped_step, own_decoder_block, mended_training, train_translator)]
