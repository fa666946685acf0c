"""Chapter 02: derivatives of activations, the slide's regression, a training loop with three faults, an autodiff, a "
  "network."""
