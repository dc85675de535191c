"""MiniCPM-o 4.5: full duplex on a one-second cadence, LISTEN or SPEAK decided each second."""
