"""Chapter 11: the loss, the optimisers, and one step of training."""
