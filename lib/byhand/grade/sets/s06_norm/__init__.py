"""Chapter 6: normalisation."""
