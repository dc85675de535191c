"""A sound that is open, on a world that runs: what tests of the whole way have in common. Time is moved by hand."""

import threading

import numpy as np
import pytest

from app.audio.sound import Sound
from app.audio.state import SoundSettings
from engine.clock import NS
from tests.audio.fake_backend import FakeBackend, World
from tests.fakes import ManualClock, tone

IN_HZ, OUT_HZ = 16_000, 24_000


class Talk:
    """A sound that is open, on a world that runs."""

    def __init__(self, *devices, settings=SoundSettings(), close_s=2.0, prepare=lambda backend: None):  # noqa: B008
        self.clock = ManualClock()
        self.backend = FakeBackend(self.clock, *devices)
        prepare(self.backend)
        self.world = World(self.backend)
        self.sound = Sound(self.backend, self.clock, input_rate_hz=IN_HZ, output_rate_hz=OUT_HZ, close_s=close_s)
        self.chunks, self.events, self.late_ns = [], [], []
        self.settings = settings
        self.sound.open(settings)

    def begin(self):
        self.run(1)
        self.sound.begin(IN_HZ)

    def run(self, seconds):
        self.world.run(seconds, self._each)

    def _each(self):
        self.sound.pump()
        self.events += self.sound.events()
        while (chunk := self.sound.take()) is not None:
            self.late_ns.append(self.clock.now_ns() - self.sound.arrival_ns(chunk))
            self.chunks.append(chunk)

    @property
    def samples(self):
        return np.concatenate([np.zeros(0, np.float32), *(chunk.samples for chunk in self.chunks)])

    @property
    def messages(self):
        return [(event.kind, event.side) for event in self.events]

    @property
    def speaker_stream(self):
        return next(stream for stream in self.backend.open_streams if not stream.hears)


def clicks(seconds):
    """A click of 2 ms at every whole second of the true clock, on a little noise."""
    return np.where(np.abs(seconds - np.round(seconds)) < 0.001, 0.5, 1e-4)


def hears(device, wave, **more):
    def prepare(backend):
        behaviour = backend.of(device)
        behaviour.wave = wave
        for name, value in more.items():
            setattr(behaviour, name, value)

    return prepare


def click_times(talk):
    """True seconds at which the session heard clicks."""
    loud = np.flatnonzero(np.abs(talk.samples) > 0.2)
    groups = np.split(loud, np.flatnonzero(np.diff(loud) > 1000) + 1)
    first = talk.chunks[0]
    begins_ns = talk.sound.arrival_ns(first) - len(first.samples) * NS // IN_HZ
    return np.array([begins_ns / NS + group.mean() / IN_HZ for group in groups if len(group)])


def accounted(talk):
    """Asserts the two laws of SoundCounts."""
    counts, microphone = talk.sound.counts, talk.sound.microphone
    assert counts.placed_frames + counts.unplaced_frames + counts.unread_frames == counts.captured_frames
    came = counts.placed_frames * IN_HZ / microphone.rate_hz + counts.filled - counts.skipped
    assert counts.heard == pytest.approx(came, abs=0.035 * IN_HZ + 1e-3 * counts.heard)
    return counts


def speak(talk, seconds):
    """Say a tone of so many seconds, each pushed a tenth of a second before it must be."""
    said, begins_ns = tone(seconds, OUT_HZ), talk.clock.now_ns() + 100_000_000
    for second in range(seconds):
        part = said[second * OUT_HZ : (second + 1) * OUT_HZ]
        talk.sound.voice.push(part, begins_ns + second * NS + talk.sound.voice.lead_ns)
        talk.run(1)


def holes_ms(talk, since_s):
    """How long the speaker fell silent, or nearly, between the first and the last sound since a second."""
    stream = talk.speaker_stream
    heard = stream.heard[:, 0][round((since_s * NS - stream.true_ns(0)) * stream.rate_hz / NS) :]
    loud = np.flatnonzero(np.abs(heard) > 0.05)
    gaps = np.diff(loud) * 1e3 / stream.rate_hz
    return [round(float(gap), 1) for gap in gaps if gap > 1]


def closing_threads():
    return [thread for thread in threading.enumerate() if thread.name == "sound closing"]
