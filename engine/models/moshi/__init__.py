"""Moshi and PersonaPlex: full duplex on an 80 ms cadence, always both ways, over Mimi's codec."""
