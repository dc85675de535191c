"""Qwen3-Omni: hears a whole turn, thinks in text, talks in 16 codebooks at 12.5 Hz, decoded by a causal network."""
