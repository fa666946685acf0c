"""Chapter 16: the loss out of the logits, one step with a cache, prompts of unequal length, the work of a generation, caches
that are broken, and a GPT of one's own."""
