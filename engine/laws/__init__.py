"""The laws that every model keeps, tried on its specimen: plan, streamed equals whole, replay equals eager, addresses.

`laws` holds them, `recorded` is a graph on a CPU: what a step asked of torch, asked again.
"""

from engine.laws.laws import Law, hold

__all__ = ["Law", "hold"]
