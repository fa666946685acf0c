"""Chapter 05: a log-softmax that survives, the softmax NADE, a mixture of Gaussians, functions that are no densities,
and a class of one's own."""
