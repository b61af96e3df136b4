"""Chapter 14: words hidden and sentences paired, the gradient of a tied table, fine-tuning, and adapters."""
