"""Lets the app listen to a recording with real PortAudio, in a process whose environment names the virtual card.

    python -m tests.live.listens_on_card FOLDER RECORDING.wav

Ends as the recording does; settings and sessions are FOLDER's.
"""

import sys
import time
from pathlib import Path

from app import wiring
from app.audio.devices import DeviceChoice
from app.audio.state import SoundSettings
from app.audio_file import SpeechFile
from app.live.settings import SettingsFile
from app.live.snapshot import Track
from tests.virtual_card import SPEAKER

RATE_HZ = 24_000
PATIENCE_S = 30


def main(folder: str, recording: str) -> int:
    settings = SettingsFile(Path(folder) / "settings.json")
    settings.change(sound=SoundSettings(speaker=DeviceChoice(SPEAKER, "ALSA")))
    conversation = wiring.live(settings)
    conversation.listen(Track("it", RATE_HZ, 0, 0, lambda: SpeechFile(Path(recording), RATE_HZ).blocks()))
    end_s = time.monotonic() + PATIENCE_S
    while conversation.snapshot().listened is not None and time.monotonic() < end_s:
        time.sleep(0.02)
    message = conversation.snapshot().message
    conversation.close()
    sys.stderr.write(message)
    return int(bool(message) or time.monotonic() >= end_s)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
