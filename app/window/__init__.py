"""The window: the only room that knows Qt. It polls snapshots, paints them, and posts commands [ui]."""
