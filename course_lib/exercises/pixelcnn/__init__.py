"""Chapter 08: the mask of a kernel, the mask with colours, leaks in a mask that somebody else wrote, the blind spot, and a
PixelCNN of one's own."""
