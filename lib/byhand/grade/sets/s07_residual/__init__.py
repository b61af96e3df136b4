"""Chapter 7: the residual stream."""
