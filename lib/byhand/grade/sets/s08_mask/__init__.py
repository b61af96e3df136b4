"""Chapter 8: masks."""
