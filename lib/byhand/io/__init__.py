"""Files: checkpoints of a run, parameter trees as safetensors, models in the GGUF format."""
