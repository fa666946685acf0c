"""Autoregressive models of images, an image classifier, adversarial attacks and their detection."""

from course_lib.pixels.attacks import fgsm, pgd, sign_noise
from course_lib.pixels.classifier import ImageClassifier
from course_lib.pixels.detection import (
    auc,
    auc_interval,
    compressed_bits,
    purify,
    rank_p_values,
    roc,
    typicality,
    wilson,
)
from course_lib.pixels.gated import GatedPixelCNN
from course_lib.pixels.images import ImageModel
from course_lib.pixels.masks import CausalConv2d, MaskedConv2d, kernel_mask
from course_lib.pixels.pixelcnn import PixelCNN
from course_lib.pixels.pixelrnn import DiagonalBiLSTM, RowLSTM

__all__ = ["CausalConv2d", "DiagonalBiLSTM", "GatedPixelCNN", "ImageClassifier", "ImageModel", "MaskedConv2d", "PixelCNN",
           "RowLSTM", "auc", "auc_interval", "compressed_bits", "fgsm", "kernel_mask", "pgd", "purify", "rank_p_values",
           "roc", "sign_noise", "typicality", "wilson"]
