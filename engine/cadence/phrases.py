"""Moved to `engine.phrases`."""

from engine.phrases import printable as printable
