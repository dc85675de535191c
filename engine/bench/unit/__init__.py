"""The benchmark of MiniCPM-o's whole unit: from what was heard to sound, through the released code and through ours.

`scripted` says what is listened to and said, `chance` what is left to chance, `columns` who does it, `rig` makes them
over the same weights. Each measurement is a file: `paces`, `tokens`, `equal`, `memory`. `run` tells the story. `trial`
is of a released folder, on whatever machine: `staged` compares, `verdict` tells.
"""
