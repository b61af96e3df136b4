"""Chapter 12: what a text costs, draws from logits, the cache, and heads that copy."""
