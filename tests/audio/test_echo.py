"""The canceller takes the agent away and leaves the user; absent, it is one line, and the microphone closes instead."""

import builtins

import numpy as np
import pytest

from app.audio.echo import Canceller
from app.audio.sound import Sound
from app.audio.state import EchoMode, Happening, SoundSettings
from engine.clock import NS
from engine.errors import CadenceError
from tests.audio.fake_backend import FakeBackend, World
from tests.fakes import ManualClock


@pytest.fixture
def no_canceller(monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name == "pywebrtc_audio":
            raise ImportError("No module named 'pywebrtc_audio'")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)


def babble(seconds, rate_hz, seed):
    """Noise that comes and goes as speech does, below 4 kHz."""
    rng = np.random.default_rng(seed)
    size = round(seconds * rate_hz)
    spectrum = np.fft.rfft(rng.standard_normal(size))
    spectrum[np.fft.rfftfreq(size, 1 / rate_hz) > 4000] = 0
    noise = np.fft.irfft(spectrum, size)
    syllables = np.clip(np.sin(2 * np.pi * (2 + seed) * np.arange(size) / rate_hz), 0, 1)
    return (0.2 * noise / np.abs(noise).max() * syllables).astype(np.float32)


def level_db(samples):
    return 10 * np.log10(np.mean(samples.astype(float) ** 2) + 1e-12)


@pytest.mark.parametrize("rate_hz", [16_000, 24_000, 48_000])
@pytest.mark.parametrize("delay_ms", [5, 120])
def test_an_echo_is_taken_away(rate_hz, delay_ms):
    pytest.importorskip("pywebrtc_audio")
    sounded = babble(6, rate_hz, 1)
    late = rate_hz * delay_ms // 1000
    heard = 0.5 * np.concatenate([np.zeros(late, np.float32), sounded[:-late]])
    canceller = Canceller(rate_hz)
    block = rate_hz // 50 + 7  # of no round size
    clean = [canceller.process(heard[at : at + block], sounded[at : at + block]) for at in range(0, len(heard), block)]
    out = np.concatenate(clean)
    assert len(out) == len(heard)
    assert level_db(out[len(out) // 2 :]) < level_db(heard[len(out) // 2 :]) - 20


@pytest.mark.parametrize("rate_hz", [16_000, 24_000])
def test_the_user_is_left(rate_hz):
    pytest.importorskip("pywebrtc_audio")
    said = babble(4, rate_hz, 2)
    canceller, silent = Canceller(rate_hz), np.zeros(rate_hz // 50, np.float32)
    out = [canceller.process(said[at : at + len(silent)], silent) for at in range(0, len(said), len(silent))]
    out = np.concatenate(out)
    assert len(out) == len(said)
    assert level_db(out) == pytest.approx(level_db(said), abs=1.5)
    # It comes as much later as is said, and the filters' eight milliseconds.
    alike = np.fft.irfft(np.fft.rfft(out, 2 * len(out)) * np.conj(np.fft.rfft(said, 2 * len(said))))
    late = int(np.argmax(alike[: rate_hz // 5]))
    assert late == pytest.approx(canceller.delay + 0.008 * rate_hz, abs=0.012 * rate_hz)


def test_without_it_there_is_one_line_and_the_microphone_closes_instead(no_canceller):
    with pytest.raises(CadenceError, match="pip install pywebrtc-audio"):
        Canceller(16_000)
    clock = ManualClock()
    sound = Sound(FakeBackend(clock), clock, input_rate_hz=16_000, output_rate_hz=24_000)
    sound.set_echo(EchoMode.CANCELLER)
    (line,) = sound.warnings
    assert "pywebrtc-audio" in line
    assert "\n" not in line
    assert sound.echo is EchoMode.HALF_DUPLEX
    sound.open(SoundSettings(echo=EchoMode.CANCELLER))
    (event,) = sound.events()
    assert (event.kind, event.message) == (Happening.WARNING, line)
    sound.set_echo(EchoMode.HEADPHONES)
    assert sound.warnings == ()


def heard_of_the_agent(mode):
    """What a session hears of an agent that speaks in a room, once with a gap and at another volume from there on."""
    clock = ManualClock()
    backend = FakeBackend(clock)

    def room(seconds):
        (speaker,) = [stream for stream in backend.open_streams if not stream.hears] or [None]
        heard = np.full(len(seconds), 1e-6)
        if speaker is not None and speaker.sounded:
            sounded = speaker.heard[:, 0]
            at = np.round(((seconds - 0.06) * NS - speaker.true_ns(0)) * speaker.rate_hz / NS).astype(int)
            there = (at >= 0) & (at < len(sounded))
            heard[there] += 0.5 * sounded[at[there]]
        return heard

    backend.of(backend.devices().all[0]).wave = room
    sound, world, chunks = Sound(backend, clock, input_rate_hz=16_000, output_rate_hz=24_000), World(backend), []
    sound.open(SoundSettings(echo=mode))
    world.run(1, sound.pump)
    sound.begin(16_000)
    speech = babble(10, 24_000, 1)
    due_ns = clock.now_ns() + 100_000_000 + sound.voice.lead_ns
    for second in range(10):
        if second == 4:  # a late unit: what was planned is not what sounded
            world.run(0.47, sound.pump)
            sound.set_volume(0.7)
        sound.voice.push(speech[second * 24_000 : (second + 1) * 24_000], due_ns + second * NS)
        world.run(1, sound.pump)
    world.run(1, sound.pump)
    assert sound.voice.counts.underflows == 1
    while (chunk := sound.take()) is not None:
        chunks.append(chunk.samples)
    return np.concatenate(chunks)


def test_a_canceller_at_work_outlives_other_devices_and_what_one_still_held_is_counted():
    pytest.importorskip("pywebrtc_audio")
    clock = ManualClock()
    backend = FakeBackend(clock)
    sound, world = Sound(backend, clock, input_rate_hz=24_000, output_rate_hz=24_000), World(backend)
    sound.open(SoundSettings(echo=EchoMode.CANCELLER))
    world.run(1, sound.pump)
    sound.begin(24_000)
    world.run(2, sound.pump)
    at_work = sound._hearing._canceller
    sound.open(SoundSettings(echo=EchoMode.CANCELLER, output_latency_s=0.3))
    sound.rescan(SoundSettings(echo=EchoMode.CANCELLER))
    world.run(2, sound.pump)
    assert sound._hearing._canceller is at_work
    assert sound.counts.left_in_canceller == 0
    sound.set_echo(EchoMode.HEADPHONES)
    world.run(0.1, sound.pump)
    assert sound.counts.left_in_canceller == at_work.delay > 240


def test_the_canceller_is_told_what_really_sounded():
    pytest.importorskip("pywebrtc_audio")
    heard, clean = heard_of_the_agent(EchoMode.HEADPHONES), heard_of_the_agent(EchoMode.CANCELLER)
    after = slice(6 * 16_000, 10 * 16_000)  # the gap, and a second to settle
    assert level_db(heard[after]) > -45
    assert level_db(clean[after]) < level_db(heard[after]) - 20
