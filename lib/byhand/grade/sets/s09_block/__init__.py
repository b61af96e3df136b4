"""Chapter 9: feed-forward, and the block."""
