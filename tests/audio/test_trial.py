"""The set-up's trials find what is there: a voice, a dead or distorting microphone, an echo and its delay."""

import builtins

import numpy as np
import pytest

from app.audio import trial
from app.audio.sound import Sound
from app.audio.state import EchoMode, SoundSettings
from engine.clock import NS
from tests.audio.fake_backend import MIC, SPEAKER, FakeBackend, World
from tests.fakes import ManualClock


class RunningClock(ManualClock):
    """Sleeping lets the world go on."""

    world: World | None = None

    def sleep_until_ns(self, when_ns):
        if self.world is None:
            super().sleep_until_ns(when_ns)
        elif when_ns > self.now_ns():
            world, self.world = self.world, None
            world.run((when_ns - self.now_ns()) / NS)
            self.world = world


@pytest.fixture
def room():
    """Opens a sound in a room where the microphone hears `wave`, and of the speaker `echo` times what it sounds."""

    def make(wave=lambda seconds: np.full(len(seconds), 1e-4), echo=0.0, delay_s=0.03):
        clock = RunningClock()
        backend = FakeBackend(clock)
        rng = np.random.default_rng(1)

        def heard(seconds):
            speakers = [stream for stream in backend.streams if not stream.hears]
            noise = wave(seconds) + 1e-4 * rng.standard_normal(len(seconds))
            if not speakers or not echo:
                return noise
            frames = np.round((seconds - delay_s - speakers[0].true_ns(0) / NS) * speakers[0].rate_hz).astype(int)
            sounded = speakers[0].heard[:, 0]
            known = (frames >= 0) & (frames < len(sounded))
            return noise + np.where(known, echo * sounded[np.clip(frames, 0, len(sounded) - 1)], 0.0)

        backend.of(MIC).wave = heard
        sound = Sound(backend, clock, input_rate_hz=16_000, output_rate_hz=24_000)
        sound.open(SoundSettings())
        clock.world = World(backend)
        return sound, clock, backend

    return make


def voice(level):
    return lambda seconds: level * np.sin(2 * np.pi * 200 * seconds)


@pytest.mark.parametrize(
    ("wave", "good", "said"),
    [
        (voice(0.2), True, "hears you well"),
        (voice(0.0005), False, "next to nothing"),
        (voice(1.5), False, "too loud"),
    ],
)
def test_a_microphone_is_judged_by_what_it_hears(room, wave, good, said):
    sound, clock, _ = room(wave)
    found = trial.try_microphone(sound, clock, seconds=2)
    assert found.good is good
    assert said in found.line
    assert found.rms <= found.peak


def test_a_dead_microphone_is_told_from_one_that_is_gone(room):
    sound, clock, backend = room()
    backend.of(MIC).wave = lambda seconds: np.zeros(len(seconds))
    assert "zeros" in trial.try_microphone(sound, clock, seconds=2).line
    backend.unplug(MIC)
    found = trial.try_microphone(sound, clock, seconds=2)
    assert not found.good
    assert "does not deliver" in found.line


def test_the_speaker_sounds_three_notes(room):
    sound, clock, backend = room()
    line = trial.try_speaker(sound, clock)
    assert SPEAKER.name in line
    (speaker,) = [stream for stream in backend.streams if not stream.hears]
    heard = speaker.heard[:, 0]
    assert np.abs(heard).max() == pytest.approx(trial.TEST_LEVEL, abs=0.01)
    spectrum = np.abs(np.fft.rfft(heard))
    strongest = np.fft.rfftfreq(len(heard), 1 / speaker.rate_hz)[np.argsort(spectrum)[-200:]]
    for hz in trial.NOTES_HZ:
        assert np.abs(strongest - hz).min() < 3
    assert sound.voice.unplayed_samples == 0


def test_no_echo_recommends_headphones(room):
    sound, clock, _ = room()
    found = trial.try_echo(sound, clock)
    assert not found.heard
    assert found.recommended is EchoMode.HEADPHONES


@pytest.mark.parametrize(("level", "delay_s"), [(0.5, 0.03), (0.05, 0.2)])
def test_an_echo_is_found_with_its_loudness_and_delay(room, level, delay_s):
    pytest.importorskip("pywebrtc_audio")
    sound, clock, _ = room(echo=level, delay_s=delay_s)
    sound.set_echo(EchoMode.HALF_DUPLEX)
    found = trial.try_echo(sound, clock)
    assert found.heard
    assert found.loudness_db == pytest.approx(20 * np.log10(level), abs=1.5)
    assert found.delay_ms == pytest.approx(1e3 * delay_s, abs=5)
    assert found.recommended is EchoMode.CANCELLER
    assert sound.echo is EchoMode.HALF_DUPLEX  # as it was


def test_an_echo_without_a_canceller_recommends_half_duplex(room, monkeypatch):
    sound, clock, _ = room(echo=0.5)
    real = builtins.__import__

    def without(name, *rest):
        if name == "pywebrtc_audio":
            raise ImportError("no pywebrtc_audio")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    found = trial.try_echo(sound, clock)
    assert found.recommended is EchoMode.HALF_DUPLEX


def test_a_faint_leak_is_no_echo(room):
    sound, clock, _ = room(echo=0.002)
    assert trial.try_echo(sound, clock).recommended is EchoMode.HEADPHONES


def test_a_trial_can_be_given_up(room):
    sound, clock, _ = room(voice(0.2))
    began_ns = clock.now_ns()
    trial.try_microphone(sound, clock, seconds=60, going=lambda: clock.now_ns() < began_ns + 2 * NS)
    assert clock.now_ns() < began_ns + 3 * NS
