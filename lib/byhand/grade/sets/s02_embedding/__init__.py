"""Chapter 2: tokens and embeddings."""
