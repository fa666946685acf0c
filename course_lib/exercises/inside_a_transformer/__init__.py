"""Chapter 13: attention with a mask, the causal mask of queries that go on, attention to another sequence, heads, a
layer that looks where it must not, a layer of one's own, and one to be mended."""
