"""Chapter 4: scaled dot-product attention."""
