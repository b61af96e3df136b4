"""A class: submissions are read, run where they can reach nothing, judged outside, and kept."""
