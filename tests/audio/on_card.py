"""What a test lets real PortAudio do, in a process whose environment names the virtual card. Writes one line of JSON.

    python -m tests.audio.on_card FOLDER SECONDS [--rescan] [--flush] [--rates IN OUT] [--starts N]

Hears for SECONDS, and sounds a tone of 1 kHz in the third and fourth second. With --rescan it waits until both devices
are lost, makes FOLDER/lost, waits for FOLDER/again, looks for devices again, and hears on. With --flush it is cut short
in the midst of another tone. Both sides are left in FOLDER/both.npy.
"""

import argparse
import json
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import psutil

from app.audio.devices import DeviceChoice
from app.audio.portaudio import PortAudio
from app.audio.sound import Sound
from app.audio.state import Happening, SoundSettings
from engine.clock import NS, WallClock
from engine.errors import CadenceError
from tests.virtual_card import MICROPHONE, SPEAKER

IN_HZ, OUT_HZ = 16_000, 24_000
PATIENCE_S = 20
SETTINGS = SoundSettings(DeviceChoice(MICROPHONE, "ALSA"), DeviceChoice(SPEAKER, "ALSA"))


class Held:
    """A sound, and what came of it."""

    def __init__(self, folder: Path, in_hz: int, out_hz: int) -> None:
        self.folder, self.out_hz = folder, out_hz
        self.clock = WallClock()
        self.sound = Sound(PortAudio(), self.clock, input_rate_hz=in_hz, output_rate_hz=out_hz)
        self.users: list[np.ndarray] = []
        self.agents: list[np.ndarray] = []
        self.events: list[str] = []
        self.kinds: list[Happening] = []
        self.late_ms: list[float] = []
        self.chunks = 0

    def open(self) -> None:
        self.sound.open(SETTINGS)
        self.sound.tap = self.tap

    def tap(self, user: np.ndarray, agent: np.ndarray) -> None:
        self.users.append(user.copy())
        self.agents.append(agent.copy())

    def pump(self, seconds: float, until=lambda: False) -> bool:
        end_ns = self.clock.now_ns() + round(seconds * NS)
        while self.clock.now_ns() < end_ns:
            self.sound.pump()
            while (chunk := self.sound.take()) is not None:
                self.chunks += 1
                self.late_ms.append((self.clock.now_ns() - self.sound.arrival_ns(chunk)) / 1e6)
            for event in self.sound.events():
                self.events.append(f"{event.kind}: {event.message}")
                self.kinds.append(event.kind)
            if until():
                return True
            self.clock.sleep_until_ns(self.clock.now_ns() + 10_000_000)
        return until()

    def say(self) -> None:
        """A second of the tone, and another that joins it."""
        at = np.arange(2 * self.out_hz) / self.out_hz
        tone = (0.3 * np.sin(2 * np.pi * 1000 * at)).astype(np.float32)
        due_ns = self.clock.now_ns() + self.sound.voice.lead_ns
        self.sound.voice.push(tone[: self.out_hz], due_ns)
        self.pump(0.5)
        self.sound.voice.push(tone[self.out_hz :], due_ns + NS)

    def cut(self) -> dict[str, float]:
        """Four seconds of the tone, flushed after one; tells how long what callbacks were given was loud.

        Of that, what they were given after the flush is told too, in frames.
        """
        speaker, given = self.sound._speaker, []
        write = speaker.tape.write

        def note(mono: np.ndarray, *rest: object) -> None:
            given.append(mono.copy())
            write(mono, *rest)

        speaker.tape.write = note
        at = np.arange(4 * self.out_hz) / self.out_hz
        due_ns = self.clock.now_ns() + self.sound.voice.lead_ns
        self.sound.voice.push((0.3 * np.sin(2 * np.pi * 2000 * at)).astype(np.float32), due_ns)
        self.pump((due_ns - self.clock.now_ns()) / NS + 1)
        before = len(given)
        left = self.sound.voice.flush(self.clock.now_ns())
        self.pump(1)
        loud = [np.flatnonzero(np.abs(np.concatenate(blocks)) > 0.003) for blocks in (given, given[before:])]
        frames = [int(found[-1] + 1) if len(found) else 0 for found in loud]
        return {
            "left_s": left / self.out_hz,
            "loud_s": (frames[0] - int(loud[0][0])) / speaker.rate_hz,
            "loud_after_ms": 1e3 * frames[1] / speaker.rate_hz,
        }

    def lose_and_find(self) -> float:
        assert self.pump(PATIENCE_S, lambda: self.kinds.count(Happening.LOST) == 2), "nothing was lost"
        (self.folder / "lost").touch()
        assert self.pump(PATIENCE_S, (self.folder / "again").exists), "nobody said that it is there again"
        began = time.monotonic()
        while True:
            try:
                self.sound.rescan(SETTINGS)
                return time.monotonic() - began
            except CadenceError:
                assert time.monotonic() < began + PATIENCE_S, "it did not come back"
                self.pump(0.2)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("seconds", type=float)
    parser.add_argument("--rescan", action="store_true")
    parser.add_argument("--flush", action="store_true")
    parser.add_argument("--rates", type=int, nargs=2, default=(IN_HZ, OUT_HZ))
    parser.add_argument("--starts", type=int, default=1)
    args = parser.parse_args()
    told = {"threads": [], "rss": [], "close_s": []}
    rescan_s = None
    for start in range(args.starts):
        held = Held(args.folder, *args.rates)
        held.open()
        held.pump(1.0 if args.starts == 1 else 0.1)
        held.sound.begin(args.rates[0])
        held.pump(2.0 if args.starts == 1 else 0.1)
        if start == 0:
            (args.folder / "ready").touch()
            held.say()
        held.pump(args.seconds - 2.5 if args.starts == 1 else 0.1)
        if args.flush:
            told |= held.cut()
        if args.rescan:
            rescan_s = held.lose_and_find()
            held.pump(args.seconds)
        counts, voice = held.sound.counts, held.sound.voice.counts
        states = [asdict(held.sound.microphone), asdict(held.sound.speaker)]
        began = time.monotonic()
        held.sound.close()
        held.sound.tap = None  # else the two hold each other until the collector comes
        told["close_s"].append(time.monotonic() - began)
        told["threads"].append(threading.active_count())
        told["rss"].append(psutil.Process().memory_info().rss)
        both = [np.concatenate([np.zeros(0, np.float32), *side]) for side in (held.users, held.agents)]
        np.save(args.folder / "both.npy", np.stack(both))
        told |= {"counts": asdict(counts), "voice": asdict(voice), "states": states, "events": held.events}
        told |= {"chunks": held.chunks, "late_ms": held.late_ms, "rescan_s": rescan_s}
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
