"""Chapter 19: spans cut into sentinels and put back, labels of replaced words mended, the two masks of an order."""
