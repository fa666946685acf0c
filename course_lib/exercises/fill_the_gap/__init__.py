"""Chapter 11: a window's weights permuted, what a gap reads through convolutions and of two recurrent networks, ELMo's mixture."""
