"""Chapter 3: positions."""
