"""Chapter 5: several heads, and two sequences."""
