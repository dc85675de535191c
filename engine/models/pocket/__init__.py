"""Pocket: the model that talks on a fresh machine, composed of small released parts that hear, think and speak.

One module a stage, each stage three times behind one interface: `cadence` (our layers, state in the arena), `library`
(transformers' classes and caches on the same windows, equal to ours bit for bit) and `stock` (as the libraries run by
default). Nothing here knows a sound card or a session.
"""
