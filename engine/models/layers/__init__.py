"""Layers that several models share: weights in, tensors through, state handed in."""
