"""The whole way out: on time, without a hole or a click, silent within a block, whatever a driver tells."""

import threading
from dataclasses import replace

import numpy as np
import pytest

from app.audio.resampler import Resampler
from engine.clock import NS
from tests.audio.fake_backend import MIC, SPEAKER
from tests.audio.held import OUT_HZ, Talk, clicks, hears, holes_ms, speak
from tests.fakes import tone


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
