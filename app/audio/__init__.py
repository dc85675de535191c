"""Live sound: devices by name, capture and playout as two streams, and what goes wrong with them.

Knows no model, no session and no Qt. PortAudio is named in one file, `portaudio`.
"""
