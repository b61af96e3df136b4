"""Chapter 0: conventions and tools."""
