"""Devices are lost, exchanged, refuse and hang in the midst of a session, which goes on; nothing leaks."""

import threading
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from app.audio.devices import AudioDevice, DeviceChoice
from app.audio.state import NO_STREAM, EchoMode, Happening, Side, SoundSettings
from engine.clock import NS
from engine.errors import CadenceError
from tests.audio.fake_backend import MIC, SPEAKER
from tests.audio.held import IN_HZ, OUT_HZ, Talk, accounted, click_times, clicks, closing_threads, hears, speak
from tests.fakes import tone


def test_a_lost_microphone_is_said_once_and_heard_as_silence_until_a_rescan_brings_it_back():
    talk = Talk(prepare=hears(MIC, clicks))
    talk.begin()
    talk.run(5)
    talk.backend.unplug(MIC)
    talk.run(6)
    assert talk.messages == [(Happening.LOST, Side.MICROPHONE)]
    assert talk.sound.microphone.lost
    assert not talk.sound.hearing
    assert len(talk.chunks) >= 10
    with pytest.raises(CadenceError, match="no microphone"):
        talk.sound.rescan(talk.settings)
    talk.run(1)
    talk.backend.present.append(MIC)
    assert MIC in talk.sound.rescan(talk.settings).all
    talk.run(6)
    assert talk.messages[1:] == [(Happening.RETURNED, None)]
    assert not talk.sound.microphone.lost
    assert [chunk.index for chunk in talk.chunks] == list(range(len(talk.chunks)))
    apart = np.diff(click_times(talk))
    assert np.abs(apart - np.round(apart)).max() < 3e-3
    assert 7 <= np.round(apart).max() <= 10
    assert talk.sound.counts.captured_frames == pytest.approx(48_000 * 11, abs=48_000)


def test_a_lost_speaker_is_said_once_and_its_voice_counts_as_flushed():
    talk = Talk()
    talk.begin()
    talk.run(1)
    talk.sound.voice.push(tone(3.0, OUT_HZ), talk.clock.now_ns() + talk.sound.voice.lead_ns)
    talk.run(1)
    talk.backend.unplug(SPEAKER)
    talk.run(1)
    assert talk.messages == [(Happening.LOST, Side.SPEAKER)]
    talk.backend.present.append(replace(SPEAKER, rate_hz=44_100))
    talk.sound.rescan(talk.settings)
    talk.run(1)
    counts = talk.sound.voice.counts
    assert counts.pushed == 3 * OUT_HZ == counts.played + counts.flushed
    assert talk.sound.speaker.rate_hz == 44_100
    talk.sound.voice.push(tone(1.0, OUT_HZ), talk.clock.now_ns() + talk.sound.voice.lead_ns)
    talk.run(2)
    assert talk.sound.voice.counts.played == counts.played + OUT_HZ


def test_another_microphone_makes_no_chunk_late_and_finds_its_place():
    """A new one's clock takes a second to be known: silence stands for it, and what comes then is where it belongs."""
    other = AudioDevice("Headset", "ALSA", 1, 0, 48_000)
    talk = Talk(MIC, SPEAKER, other, prepare=hears(MIC, clicks))
    talk.backend.of(other).wave = clicks
    talk.begin()
    talk.run(4.3)
    talk.sound.open(replace(talk.settings, microphone=other.choice))
    talk.run(6)
    talk.sound.rescan(talk.settings)
    talk.run(6)
    assert len(talk.chunks) >= 15
    assert max(talk.late_ns) <= 0
    counts = accounted(talk)
    assert counts.filled == pytest.approx(2 * 1.0 * IN_HZ, abs=0.1 * IN_HZ)
    apart = np.diff(click_times(talk))
    assert np.abs(apart - np.round(apart)).max() < 2e-3
    assert talk.messages == []


def test_of_what_was_placed_no_exchange_of_microphones_loses_any():
    other = AudioDevice("Headset", "ALSA", 1, 0, 48_000)
    talk = Talk(MIC, SPEAKER, other, prepare=hears(MIC, clicks))
    talk.begin()
    talk.run(2)
    for number in range(12):
        talk.sound.open(replace(talk.settings, microphone=(MIC if number % 2 else other).choice))
        talk.run(2)
    counts = talk.sound.counts
    came = counts.placed_frames / 3 + counts.filled - counts.skipped
    assert counts.heard == pytest.approx(came, abs=0.035 * IN_HZ)  # as without any


def test_a_microphone_that_is_away_for_a_moment_makes_no_chunk_late():
    talk = Talk(prepare=hears(MIC, clicks))
    talk.begin()
    talk.run(4)
    talk.sound.close()
    talk.run(3)  # as long as a driver may take to open it again
    talk.sound.open(talk.settings)
    talk.run(3)
    assert max(talk.late_ns) <= 0
    accounted(talk)


def test_an_hour_without_devices_costs_no_memory_as_they_come_back():
    talk = Talk(prepare=hears(MIC, clicks))
    talk.begin()
    agents = []
    talk.sound.tap = lambda user, agent: agents.append((len(user), float(np.abs(agent).max(initial=0.0))))
    talk.run(2)
    talk.sound.close()
    for _ in range(360):
        talk.clock.advance_s(10)
        talk._each()
    talk.sound.open(talk.settings)
    agents.clear()
    tracemalloc.start()
    talk.run(2)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20e6
    speak(talk, 2)
    talk.run(1)
    assert sum(count for count, peak in agents if peak > 0.4) == pytest.approx(2 * IN_HZ, abs=0.1 * IN_HZ)
    accounted(talk)


def test_after_a_pause_the_next_chunk_is_fresh():
    talk = Talk(prepare=hears(MIC, clicks))
    talk.begin()
    talk.run(3)
    talk.world.run(5, talk.sound.pump)  # nobody takes
    assert talk.sound.skip() >= 4 * IN_HZ
    talk.run(2)
    indices = [chunk.index for chunk in talk.chunks]
    assert indices == sorted(set(indices))
    assert max(np.diff(indices)) > 4


def test_a_replug_that_moves_numbers_moves_no_choice():
    other = AudioDevice("Headset", "ALSA", 1, 2, 48_000)
    settings = SoundSettings(microphone=MIC.choice, speaker=SPEAKER.choice)
    talk = Talk(other, MIC, SPEAKER, settings=settings)
    assert talk.sound.microphone.device == MIC.name
    talk.backend.present = [SPEAKER, MIC]
    talk.sound.rescan(talk.settings)
    assert talk.sound.microphone.device == MIC.name
    talk.backend.present = [other, SPEAKER]
    with pytest.raises(CadenceError, match=r"'Desk microphone' \(ALSA\) is not there.*Headset"):
        talk.sound.rescan(talk.settings)
    talk.sound.open(replace(settings, microphone=DeviceChoice()))
    assert talk.sound.microphone.device == "Headset"


def test_only_what_the_settings_changed_is_reopened():
    talk = Talk()
    talk.run(1)
    microphone, speaker = talk.backend.open_streams
    talk.sound.open(SoundSettings(output_latency_s=0.3))
    assert not microphone.closed
    assert speaker.closed
    assert talk.speaker_stream.latency_s == 0.3
    talk.sound.open(SoundSettings(output_latency_s=0.3, volume=0.5, echo=EchoMode.HALF_DUPLEX))
    assert len(talk.backend.streams) == 3


def test_a_headset_whose_speaker_falls_as_its_microphone_opens_is_asked_again_and_said():
    headset = AudioDevice("Headset", "ALSA", 1, 2, 48_000)

    def prepare(backend):
        backend.of(headset).falls_to_hz = 16_000
        backend.of(headset).wave = clicks

    talk = Talk(headset, prepare=prepare)
    first, second = talk.backend.streams
    assert first.hears
    assert not second.hears
    assert (second.rate_hz, second.channels) == (16_000, 1)
    talk.run(1)
    assert talk.messages == [(Happening.WARNING, Side.SPEAKER)]
    assert "16000 Hz" in talk.events[0].message
    assert "48000 Hz" in talk.events[0].message


def test_a_driver_that_hangs_is_left_behind_at_the_deadline_and_said():
    release = threading.Event()
    talk = Talk(close_s=0.05, prepare=hears(MIC, clicks, hangs=release))
    talk.sound.close()
    talk.events += talk.sound.events()
    assert talk.messages == [(Happening.WARNING, None)]
    assert talk.sound.microphone == talk.sound.speaker == NO_STREAM
    with pytest.raises(CadenceError, match="hangs"):
        talk.sound.rescan(talk.settings)
    assert talk.backend.starts_over == 0
    assert [stream.request.device for stream in talk.backend.open_streams] == [MIC]
    release.set()
    for thread in closing_threads():
        thread.join()
    talk.sound.rescan(talk.settings)
    talk.backend.of(MIC).hangs = None
    talk.sound.close()
    assert talk.backend.open_streams == []


def test_what_sounds_is_closed_first_and_both_by_one_thread():
    talk, closed = Talk(), []
    talk.sound.close()
    closed = sorted(talk.backend.streams, key=lambda stream: stream.hears)
    assert closed[0].closed_by is closed[1].closed_by is not None
    release = threading.Event()
    other = Talk(close_s=0.05, prepare=hears(SPEAKER, clicks, hangs=release))
    other.sound.close()
    assert {stream.request.device.name for stream in other.backend.open_streams} == {MIC.name, SPEAKER.name}
    release.set()
    for thread in closing_threads():
        thread.join()
    assert other.backend.open_streams == []


@pytest.mark.parametrize("device", [MIC, SPEAKER])
def test_a_device_that_does_not_start_is_said_and_left_closed(device):
    def prepare(backend):
        backend.of(device).starts = False

    talk = Talk.__new__(Talk)
    with pytest.raises(CadenceError, match=f"'{device.name}' does not start"):
        talk.__init__(prepare=prepare)
    assert talk.backend.streams
    assert talk.backend.open_streams == []
    assert talk.sound.microphone == talk.sound.speaker == NO_STREAM
    talk.backend.of(device).starts = True
    talk.sound.rescan(talk.settings)
    talk.begin()
    talk.run(2)
    assert talk.messages == [(Happening.RETURNED, None)]


def test_ten_openings_leave_nothing_open_and_no_thread():
    talk = Talk()
    for _ in range(10):
        talk.sound.open(SoundSettings())
        talk.run(0.1)
        talk.sound.close()
    talk.run(0.1)
    assert talk.backend.open_streams == []
    assert closing_threads() == []
    assert talk.sound.microphone == NO_STREAM


def test_a_callback_that_fails_sounds_silence_and_says_so_once():
    talk = Talk()
    talk.run(0.5)

    def broken(*_):
        raise ZeroDivisionError("broken")

    talk.sound._speaker.playout.read_into = broken
    talk.run(3)
    assert talk.messages == [(Happening.FAULT, Side.SPEAKER)]
    assert not talk.speaker_stream.heard[-48_000:].any()


def test_both_sides_are_told_of_beside_each_other_for_a_recording():
    """The speaker's clicks, heard through the air 3 ms later, lie 3 ms apart on the tape."""
    talk = Talk(prepare=hears(MIC, lambda seconds: np.where(np.abs(seconds - 14.003) < 0.001, 0.5, 1e-4)))
    users, agents = [], []
    talk.begin()
    talk.sound.tap = lambda user, agent: (users.append(user.copy()), agents.append(agent.copy()))
    talk.run(14 - talk.clock.now_ns() / NS - 1)
    click = np.zeros(OUT_HZ, np.float32)
    click[: OUT_HZ // 500] = 0.5
    talk.sound.voice.push(click, 14 * NS - 1_000_000)
    talk.run(3)
    user, agent = np.concatenate(users), np.concatenate(agents)
    assert len(user) == len(agent) == talk.sound.counts.heard
    apart = np.flatnonzero(user > 0.2).mean() - np.flatnonzero(agent > 0.2).mean()
    assert apart / IN_HZ == pytest.approx(0.003, abs=0.002)
