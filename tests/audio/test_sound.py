"""The whole way, on devices that drift, refuse, vanish, lie and hang, with time moved by hand."""

import threading
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.audio.devices import AudioDevice, DeviceChoice
from app.audio.resampler import Resampler
from app.audio.sound import Sound
from app.audio.state import NO_STREAM, EchoMode, Happening, Side, SoundSettings
from engine.clock import NS
from engine.errors import CadenceError
from tests.audio.fake_backend import MIC, SPEAKER, FakeBackend, World
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


# --- hearing ---------------------------------------------------------------------------------------------------------


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


def accounted(talk):
    """Asserts the two laws of SoundCounts."""
    counts, microphone = talk.sound.counts, talk.sound.microphone
    assert counts.placed_frames + counts.unplaced_frames + counts.unread_frames == counts.captured_frames
    came = counts.placed_frames * IN_HZ / microphone.rate_hz + counts.filled - counts.skipped
    assert counts.heard == pytest.approx(came, abs=0.035 * IN_HZ + 1e-3 * counts.heard)
    return counts


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


# --- mute, hold, half-duplex -----------------------------------------------------------------------------------------


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


# --- sounding --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate_hz", [16_000, 24_000, 44_100, 48_000])
def test_a_push_by_its_deadline_sounds_at_its_time_and_whole(rate_hz):
    speaker = replace(SPEAKER, rate_hz=rate_hz)
    talk = Talk(MIC, speaker)
    talk.run(2)
    said = tone(3.0, OUT_HZ)
    start_ns = talk.clock.now_ns() + 100_000_000 + talk.sound.voice.lead_ns  # each unit has 0.1 s of slack
    for second in range(3):
        part = said[second * OUT_HZ : (second + 1) * OUT_HZ]
        talk.sound.voice.push(part, start_ns + second * NS)
        talk.run(1)
    talk.run(1.5)
    counts = talk.sound.voice.counts
    assert (counts.pushed, counts.played, counts.underflows, counts.gap_ms) == (3 * OUT_HZ, 3 * OUT_HZ, 0, 0)
    assert talk.sound.voice.unplayed_samples == 0
    stream = talk.speaker_stream
    heard = stream.heard[:, 0]
    assert np.array_equal(stream.heard[:, 0], stream.heard[:, 1])
    loud = np.flatnonzero(np.abs(heard) > 0.25)
    assert stream.true_ns(loud[0]) == pytest.approx(start_ns, abs=2e6)
    assert (loud[-1] - loud[0]) / rate_hz == pytest.approx(3, abs=0.02)
    inner = heard[loud[0] + rate_hz // 10 : loud[0] + rate_hz * 29 // 10]
    # A pure tone through all seams: what is left beside 440 Hz is nothing.
    at = np.arange(len(inner)) / rate_hz
    basis = np.stack([np.sin(2 * np.pi * 440 * at), np.cos(2 * np.pi * 440 * at)], axis=1)
    rest = inner - basis @ np.linalg.lstsq(basis, inner, rcond=None)[0]
    assert np.abs(rest).max() < 0.01


@pytest.mark.parametrize("drift_ppm", [-200, 0, 200])
def test_a_long_speech_stays_at_its_time_on_a_drifting_speaker(drift_ppm):
    talk = Talk(prepare=hears(SPEAKER, clicks, drift=drift_ppm * 1e-6))
    talk.run(5)
    start_ns = talk.clock.now_ns() + talk.sound.voice.lead_ns
    ticking = np.zeros(OUT_HZ, np.float32)
    ticking[: OUT_HZ // 500] = 0.5
    for second in range(40):
        talk.sound.voice.push(ticking, start_ns + second * NS)
        talk.run(1)
    stream = talk.speaker_stream
    loud = np.flatnonzero(stream.heard[:, 0] > 0.2)
    firsts = loud[np.flatnonzero(np.diff(loud, prepend=-10_000) > 1000)]
    off_ms = [(stream.true_ns(frame) - start_ns) / 1e6 - 1000 * second for second, frame in enumerate(firsts)]
    assert len(off_ms) == 40
    assert np.abs(off_ms).max() < 2  # uncorrected it would be 8
    assert talk.sound.voice.counts.underflows == 0
    assert talk.sound.speaker.drift_ppm == pytest.approx(drift_ppm, abs=15)


def test_a_flush_is_silent_within_a_block_and_counts_what_was_left():
    talk = Talk()
    talk.run(2)
    voice = talk.sound.voice
    voice.push(tone(2.0, OUT_HZ), talk.clock.now_ns() + voice.lead_ns)
    talk.run(1)
    flushed_ns = talk.clock.now_ns()
    left = voice.flush(flushed_ns)
    assert left == voice.counts.flushed > 0
    assert voice.unplayed_samples == 0
    assert voice.counts.played + left == 2 * OUT_HZ
    talk.run(1)
    stream = talk.speaker_stream
    loud = np.flatnonzero(np.abs(stream.heard[:, 0]) > 0.01)
    asked_ns = stream.true_ns(loud[-1]) - stream.latency_s * NS  # when the callback was asked for it
    assert asked_ns - flushed_ns <= 0.03 * NS  # the next block, and in it the fade
    after_start = np.diff(stream.heard[:, 0])[np.flatnonzero(stream.heard[:, 0])[0] + 480 :]
    assert np.abs(after_start).max() < 0.035  # of a tone of 440 Hz at 0.5: no click
    voice.push(tone(0.5, OUT_HZ), talk.clock.now_ns() + voice.lead_ns)
    talk.run(2)
    assert voice.counts.played == 2 * OUT_HZ - left + OUT_HZ // 2


def test_what_is_not_a_number_sounds_as_silence():
    talk = Talk()
    talk.run(1)
    said = tone(0.5, OUT_HZ)
    said[100:110] = np.nan
    talk.sound.voice.push(said, talk.clock.now_ns() + talk.sound.voice.lead_ns)
    talk.run(2)
    assert np.isfinite(talk.speaker_stream.heard).all()
    assert talk.sound.voice.counts.not_finite == 10


def test_volume_turns_what_sounds_down_without_a_click():
    talk = Talk()
    talk.run(1)
    talk.sound.voice.push(tone(3.0, OUT_HZ), talk.clock.now_ns() + talk.sound.voice.lead_ns)
    talk.run(1.5)
    talk.sound.set_volume(0.5)
    talk.run(3)
    heard = talk.speaker_stream.heard[:, 0]
    assert np.abs(heard[66_000:72_000]).max() == pytest.approx(0.5, abs=0.01)
    assert np.abs(heard[122_000:160_000]).max() == pytest.approx(0.25, abs=0.01)
    assert np.abs(np.diff(heard))[66_000:160_000].max() < 0.5 * 2 * np.pi * 440 / 48_000 * 1.2


def test_a_driver_that_tells_no_times_still_sounds_within_its_latency():
    talk = Talk(prepare=hears(SPEAKER, clicks, tells_times=False))
    talk.run(2)
    start_ns = talk.clock.now_ns() + talk.sound.voice.lead_ns
    talk.sound.voice.push(tone(1.0, OUT_HZ), start_ns)
    talk.run(2)
    stream = talk.speaker_stream
    loud = np.flatnonzero(np.abs(stream.heard[:, 0]) > 0.25)
    assert abs(stream.true_ns(loud[0]) - start_ns) < stream.latency_s * NS
    assert talk.sound.voice.counts.underflows == 0


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


@pytest.mark.parametrize("more_ms", [3, 30, 600])
def test_a_block_that_is_told_to_lie_further_off_leaves_no_hole_in_speech_and_delays_nothing_after_it(more_ms):
    talk, told = Talk(prepare=lambda backend: None), []
    talk.backend.of(SPEAKER).tells_more_ms = lambda at_s: told.append(at_s) or more_ms if at_s > 11 and not told else 0
    talk.run(2)
    lead_ns, began_s = talk.sound.voice.lead_ns, talk.clock.now_ns() / NS
    speak(talk, 4)
    assert told
    assert talk.sound.voice.lead_ns == lead_ns
    talk.run(3)
    assert holes_ms(talk, began_s) == []
    assert talk.sound.voice.lead_ns == lead_ns
    assert talk.sound.voice.counts.underflows == 0


def test_a_block_that_is_told_to_lie_elsewhere_lets_nothing_sound_before_its_time():
    talk, told = Talk(), []
    talk.backend.of(SPEAKER).tells_more_ms = lambda at_s: told.append(at_s) or 600 if at_s > 9.2 and not told else 0
    talk.run(2)
    due_ns = talk.clock.now_ns() + NS
    talk.sound.voice.push(tone(1.0, OUT_HZ), due_ns)
    talk.run(3)
    assert told
    stream = talk.speaker_stream
    loud = np.flatnonzero(np.abs(stream.heard[:, 0]) > 0.25)
    assert stream.true_ns(loud[0]) == pytest.approx(due_ns, abs=2e6)
    assert (loud[-1] - loud[0]) / stream.rate_hz == pytest.approx(1, abs=0.02)


def test_a_driver_that_moves_off_for_good_or_for_a_while_moves_the_lead_between_utterances():
    """It tells 30 ms more from the eleventh second to the twentieth: nothing of that is a hole in what is said."""
    talk = Talk()
    talk.backend.of(SPEAKER).tells_more_ms = lambda at_s: 30 if 11 < at_s < 20 else 0
    talk.run(2)
    lead_ns, began_s = talk.sound.voice.lead_ns, talk.clock.now_ns() / NS
    speak(talk, 5)
    assert talk.sound.voice.lead_ns == lead_ns
    talk.run(3)
    assert talk.sound.voice.lead_ns == pytest.approx(lead_ns + 30e6, abs=1e6)
    speak(talk, 5)  # across the way back
    talk.run(3)
    assert len(holes_ms(talk, began_s)) == 1  # between the two
    assert talk.sound.voice.counts.underflows == 0
    talk.run(30)
    assert talk.sound.voice.lead_ns == lead_ns


def test_a_flush_does_not_wait_for_a_resampler_and_what_that_was_at_does_not_sound(monkeypatch):
    """It comes from another thread while the engine is in the midst of a push."""
    talk = Talk()
    talk.run(2)
    voice, flushed, real = talk.sound.voice, [], Resampler.process
    voice.push(tone(1.0, OUT_HZ), talk.clock.now_ns() + voice.lead_ns)

    def process(resampler, samples, correction=0.0):
        if not flushed:
            flusher = threading.Thread(target=lambda: flushed.append(voice.flush(talk.clock.now_ns())))
            flusher.start()
            flusher.join(5)
            assert flushed, "it waited"
        return real(resampler, samples, correction)

    with monkeypatch.context() as patch:
        patch.setattr(Resampler, "process", process)
        voice.push(tone(1.0, OUT_HZ), talk.clock.now_ns() + voice.lead_ns + NS)
    assert flushed == [2 * OUT_HZ]
    assert voice.unplayed_samples == 0
    talk.run(3)
    assert not talk.speaker_stream.heard.any()
    assert (voice.counts.pushed, voice.counts.played, voice.counts.flushed) == (2 * OUT_HZ, 0, 2 * OUT_HZ)
    speak(talk, 2)
    talk.run(1)
    assert voice.counts.played == 2 * OUT_HZ


@pytest.mark.parametrize("seed", range(3))
def test_flushes_from_another_thread_at_any_moment_leave_the_counts_whole(seed):
    talk, rng, done = Talk(), np.random.default_rng(seed), threading.Event()
    talk.run(2)
    voice, left = talk.sound.voice, []

    def flush_on():
        while not done.is_set():
            left.append(voice.flush(talk.clock.now_ns()))

    flusher = threading.Thread(target=flush_on)
    flusher.start()
    pushed = 0
    for _ in range(60):
        part = tone(float(rng.uniform(0.01, 0.5)), OUT_HZ)
        pushed += len(part)
        voice.push(part, talk.clock.now_ns() + voice.lead_ns)
        talk.run(0.05)
    done.set()
    flusher.join()
    talk.run(2)
    counts = voice.counts
    assert (counts.pushed, counts.dropped) == (pushed, 0)
    assert counts.flushed == sum(left)
    assert counts.played == counts.pushed - counts.flushed >= 0


# --- devices come and go ---------------------------------------------------------------------------------------------


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


def closing_threads():
    return [thread for thread in threading.enumerate() if thread.name == "sound closing"]


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
