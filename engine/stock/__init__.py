"""What this engine is compared with: the released token2wav, driven as its own models drive it, and never weakened.

`package` finds and imports the released code, `modules` builds it at any size, `driver` drives it, `caches` tells
whether it carries what ours carries. Where the package is not to be had, `transcription` is memory as it takes it.
"""
