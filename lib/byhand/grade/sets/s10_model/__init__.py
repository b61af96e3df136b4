"""Chapter 10: encoder, decoder, encoder–decoder."""
