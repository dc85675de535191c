"""The whole way in, on devices that drift, refuse, lose, lie and storm: every sample is at its place, and counted."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.audio.sound import Sound
from app.audio.state import NO_STREAM, EchoMode, Happening, Side, SoundSettings
from engine.clock import NS
from engine.errors import CadenceError
from tests.audio.fake_backend import MIC, SPEAKER, FakeBackend
from tests.audio.held import IN_HZ, OUT_HZ, Talk, accounted, click_times, clicks, hears
from tests.fakes import ManualClock, tone


@settings(deadline=None, max_examples=6)
@given(
    rate_hz=st.sampled_from([8_000, 16_000, 44_100, 48_000]),
    drift_ppm=st.sampled_from([-200, 0, 150]),
    burst=st.sampled_from([1, 3]),
    tells_times=st.booleans(),
)
def test_chunks_keep_to_the_sessions_clock_whatever_the_device(rate_hz, drift_ppm, burst, tells_times):
    device = replace(MIC, rate_hz=rate_hz)
    prepare = hears(device, clicks, drift=drift_ppm * 1e-6, burst=burst, tells_times=tells_times)
    talk = Talk(device, SPEAKER, prepare=prepare)
    talk.begin()
    talk.run(25)
    assert [chunk.index for chunk in talk.chunks] == list(range(len(talk.chunks)))
    assert len(talk.chunks) >= 24
    arrivals = [talk.sound.arrival_ns(chunk) for chunk in talk.chunks]
    assert np.all(np.diff(arrivals) == NS)
    assert -120e6 < min(talk.late_ns) <= max(talk.late_ns) <= 0
    # Every click lies one second after the one before, to a millisecond, and so at the same place in every chunk.
    apart = np.diff(click_times(talk))
    assert np.abs(apart - 1).max() < 1e-3
    assert np.abs(click_times(talk)[5:] % 1 - click_times(talk)[5] % 1).max() < 2e-3


def test_every_sample_is_accounted_for_when_the_driver_loses_some():
    talk = Talk(prepare=hears(MIC, clicks, loses=[(6.0, 4800), (8.0, 9600)]))
    talk.begin()
    talk.run(15)
    counts = accounted(talk)
    assert counts.filled == pytest.approx((4800 + 9600) / 3, abs=40)
    apart = np.diff(click_times(talk))
    assert np.abs(apart - np.round(apart)).max() < 2e-3  # one or two clicks are lost; the others keep their place
    assert (Happening.FAULT, Side.MICROPHONE) in talk.messages


def test_a_microphone_that_comes_back_of_itself_finds_its_place():
    talk = Talk(prepare=hears(MIC, clicks, loses=[(6.0, 96_000)]))
    talk.begin()
    talk.run(15)
    accounted(talk)
    assert talk.messages == [(Happening.LOST, Side.MICROPHONE), (Happening.RETURNED, Side.MICROPHONE)]
    apart = np.diff(click_times(talk))
    assert np.abs(apart - np.round(apart)).max() < 2e-3
    assert 2 <= np.round(apart).max() <= 4


def test_an_engine_that_comes_late_loses_nothing_within_ten_seconds():
    talk = Talk(prepare=hears(MIC, clicks))
    talk.begin()
    talk.run(2)
    talk.world.run(6)  # nobody pumps
    talk.run(4)
    counts = accounted(talk)
    assert counts.unread_frames == counts.filled == counts.skipped == 0
    assert np.abs(np.diff(click_times(talk)) - 1).max() < 1e-3


def test_past_ten_seconds_the_oldest_goes_and_is_counted():
    talk = Talk(prepare=hears(MIC, clicks))
    talk.begin()
    talk.run(2)
    talk.world.run(14)
    talk.run(4)
    counts = accounted(talk)
    assert counts.unread_frames == pytest.approx(4 * 48_000, abs=2000)
    assert counts.filled == pytest.approx(4 * IN_HZ, abs=700)
    apart = np.diff(click_times(talk))
    assert np.abs(apart - np.round(apart)).max() < 2e-3


def test_what_is_not_a_number_is_silence_and_counted():
    def wave(seconds):
        return np.where(seconds % 1 < 0.1, np.nan, 0.1)

    talk = Talk(prepare=hears(MIC, wave))
    talk.begin()
    talk.run(5)
    assert np.isfinite(talk.samples).all()
    assert accounted(talk).not_finite == pytest.approx(5 * 4800, abs=4900)
    assert talk.sound.microphone.clipped


def test_a_mono_microphone_is_opened_as_it_is():
    talk = Talk()
    assert [stream.channels for stream in talk.backend.open_streams] == [1, 2]


def test_what_is_asked_of_a_driver_by_default_is_20_ms_blocks_and_latencies_that_a_busy_interpreter_survives():
    microphone, speaker = (stream.request for stream in Talk().backend.open_streams)
    assert (microphone.block_frames, microphone.latency_s) == (960, 0.1)
    assert (speaker.block_frames, speaker.latency_s) == (960, 0.2)
    asked = Talk(settings=SoundSettings(output_latency_s=0.5)).sound.speaker
    assert asked.latency_ms == 500


@pytest.mark.parametrize(("offered", "refused", "opened"), [(2, (), 2), (32, (), 2), (32, (2,), 1), (4, (1, 2), 4)])
def test_of_many_channels_what_there_is_is_mixed_and_cannot_clip(offered, refused, opened):
    device = replace(MIC, inputs=offered)

    def wave(seconds):
        return np.ones((len(seconds), opened)) * np.cos(2 * np.pi * 440 * seconds)[:, None]

    talk = Talk(device, SPEAKER, prepare=hears(device, wave, refuses_channels=frozenset(refused)))
    assert talk.backend.open_streams[0].channels == opened
    talk.begin()
    talk.run(3)
    assert np.abs(talk.samples[IN_HZ:]).max() == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("device", [MIC, SPEAKER])
def test_a_device_that_refuses_its_own_rate_opens_at_another(device):
    def prepare(backend):
        backend.of(device).refuses_rates = frozenset({48_000, 44_100})

    talk = Talk(prepare=prepare)
    state = talk.sound.microphone if device is MIC else talk.sound.speaker
    assert state.rate_hz == 32_000
    talk.begin()
    talk.run(3)
    assert len(talk.samples) >= 2 * IN_HZ


def test_a_device_that_takes_no_rate_is_named_with_what_was_tried():
    def prepare(backend):
        backend.of(MIC).refuses_rates = frozenset(range(200_000))

    with pytest.raises(CadenceError, match=r"'Desk microphone'.*48000 Hz.*44100, 32000, 24000, 16000, 8000 Hz"):
        Talk(prepare=prepare)


def test_nothing_stays_open_where_one_device_fails():
    clock = ManualClock()
    backend = FakeBackend(clock)
    backend.of(SPEAKER).refuses_rates = frozenset(range(200_000))
    sound = Sound(backend, clock, input_rate_hz=IN_HZ, output_rate_hz=OUT_HZ)
    with pytest.raises(CadenceError, match="Desk speaker"):
        sound.open(SoundSettings())
    assert backend.open_streams == []
    assert sound.microphone == NO_STREAM


@pytest.mark.parametrize(
    ("platform", "says"), [("darwin", "System Settings"), ("win32", "Privacy & security"), ("linux", "sound settings")]
)
def test_three_seconds_of_zeros_ask_about_permission_once(monkeypatch, platform, says):
    monkeypatch.setattr("app.audio.oversight.sys.platform", platform)
    talk = Talk(prepare=hears(MIC, lambda seconds: np.zeros(len(seconds))))
    talk.run(2.9)
    assert talk.messages == []
    talk.run(10)
    assert talk.messages == [(Happening.WARNING, Side.MICROPHONE)]
    assert "muted" in talk.events[0].message
    assert says in talk.events[0].message


def test_a_storm_of_flags_is_a_line_a_second_and_the_sound_goes_on():
    talk = Talk(prepare=hears(MIC, clicks, flags=True))
    talk.begin()
    talk.run(10)
    assert 9 <= len(talk.events) <= 12
    assert "overflow" in talk.events[-1].message
    assert "50 times" in talk.events[-1].message
    assert talk.sound.microphone.faults == pytest.approx(550, abs=5)
    assert len(talk.samples) >= 9 * IN_HZ


def test_what_was_said_while_the_microphone_was_closed_is_silence_however_late_the_engine_comes():
    talk = Talk(prepare=hears(MIC, lambda seconds: np.full(len(seconds), 0.25)))
    talk.begin()
    talk.run(3)
    talk.sound.hear(False)
    assert not talk.sound.hearing
    talk.world.run(1)
    talk.sound.hear(True)
    talk.world.run(1)
    talk.run(3)
    silent = np.flatnonzero(np.abs(talk.samples[400:]) < 0.01)
    assert len(silent) == pytest.approx(IN_HZ, abs=500)
    assert silent[-1] - silent[0] == pytest.approx(IN_HZ, abs=500)
    assert talk.sound.counts.closed == pytest.approx(IN_HZ, abs=10)


def test_half_duplex_closes_the_microphone_while_the_agent_sounds():
    settings = SoundSettings(echo=EchoMode.HALF_DUPLEX)
    talk = Talk(settings=settings, prepare=hears(MIC, lambda seconds: np.full(len(seconds), 0.25)))
    talk.begin()
    talk.run(3)
    talk.sound.voice.push(tone(1.0, OUT_HZ), talk.clock.now_ns() + talk.sound.voice.lead_ns)
    talk.run(0.6)
    assert talk.sound.sounding
    assert not talk.sound.hearing
    talk.run(4)
    assert talk.sound.hearing
    closed = np.count_nonzero(np.abs(talk.samples[400:]) < 0.01)
    assert closed == pytest.approx(1.27 * IN_HZ, abs=0.08 * IN_HZ)  # the second, and the room after it
