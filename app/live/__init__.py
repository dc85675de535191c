"""A live conversation without a window: settings, sound and engine put together, told as frozen snapshots.

Knows no Qt. The window and the line interface read the same snapshots and post the same commands.
"""
