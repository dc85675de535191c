"""Qwen2.5-Omni: hears a whole turn, thinks in text, talks in speech codes, and makes them sound window by window."""
