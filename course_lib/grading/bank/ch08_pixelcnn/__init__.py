"""Chapter 08: the mask of a kernel, the mask with colours, leaks in a mask that somebody else wrote, the blind spot, and a
PixelCNN of one's own."""
from course_lib.grading.bank.ch08_pixelcnn import (
    blind_spot,
    find_color_leaks,
    own_pixelcnn,
    pixelcnn_mask,
    pixelcnn_rgb_mask,
)

EXERCISES = [each.exercise for each in (pixelcnn_mask, pixelcnn_rgb_mask, find_color_leaks, blind_spot, own_pixelcnn)]
