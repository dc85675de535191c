"""The benchmark of tails that are windows of codes: Qwen2.5-Omni's and Qwen3-Omni's, beside their released modules.

`tails` says which there are and what is said to them, `columns` who says it, `run` tells the story, `alone` measures
memory in a process of its own. The file is that of the other tails (`bench.schema.json`).
"""
