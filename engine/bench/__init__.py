"""The benchmark: a model's tail through the released code and through ours, in one run, into one JSON file.

`bench` tells the story; `tails` says which models and how each drives its tail, `course` what is said, `columns` who
says it, `place` what a CPU and a GPU do differently, `rig` puts these together. Each measurement is a file: `pace`,
`kernels`, `equality`, `peaks`, `endurance`, `beside`, `floor`. `record` writes what came of it, `report` shows it.
"""
