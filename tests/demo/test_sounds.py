"""What is heard is what was said, when it was heard; a stand-in is silent where the voice was."""

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile

from app.demo.conversation import ASKED, QUESTIONS, RATE_HZ, write_conversation
from app.demo.sounds import both_sides, cut_speech
from engine.comparison import Measured, measured
from engine.comparison.sounding import Heard
from engine.timing import read_log
from tests.demo.made_up import head, records
from tests.fakes import tone
from tests.made_up_sessions import write


def test_the_conversation_is_the_questions_when_they_are_asked(tmp_path: Path) -> None:
    write_conversation(tmp_path / "c.wav")
    whole, rate_hz = soundfile.read(tmp_path / "c.wav", dtype="int16")
    assert rate_hz == RATE_HZ
    for name, start_s in ASKED:
        question, _ = soundfile.read(QUESTIONS / name, dtype="int16")
        start = round(start_s * RATE_HZ)
        np.testing.assert_array_equal(whole[start : start + len(question)], question)
    assert not list(tmp_path.glob(".*"))


def test_both_sides_sound_when_they_did_and_no_sample_of_the_reply_is_lost(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "asked.wav", 0.2 * tone(1.0, 16_000), 16_000)
    said = np.concatenate([np.zeros(24_000, np.float32), 0.5 * tone(1.0)])
    soundfile.write(tmp_path / "said.wav", said, 24_000)
    written, _ = soundfile.read(tmp_path / "said.wav", dtype="int16")
    heard, rate_hz = soundfile.read(
        io.BytesIO(both_sides(tmp_path / "asked.wav", tmp_path / "said.wav", 1.0)), dtype="int16"
    )
    assert rate_hz == 24_000
    assert len(heard) == 3 * 24_000
    assert np.abs(heard[:23_000]).max() > 3000
    assert not heard[24_100:48_000].any()
    np.testing.assert_array_equal(heard[48_000:], written[24_000:])


def session(tmp_path: Path, runtime: str) -> Measured:
    return measured(read_log(write(tmp_path / "s.jsonl", records(runtime), head(runtime, realtime=True))), runtime)


def test_a_speech_track_is_cut_by_the_gaps_that_were_logged(tmp_path: Path) -> None:
    track = np.full(24_000 * 3, 0.5, np.float32) * np.linspace(0.5, 1.0, 24_000 * 3, dtype=np.float32)
    late = session(tmp_path, "stock")
    (gap,) = late.gaps
    heard = cut_speech(track, late)
    begin, end = (round(ns * 24e-6) for ns in (gap.start_ns, gap.end_ns))
    assert not heard[begin : end - 1].any()
    voice = heard[end:]
    assert len(voice) == pytest.approx(48_000, abs=30)
    np.testing.assert_array_equal(voice[300:24_000], track[300:24_000])
    ours = session(tmp_path, "cadence")
    assert ours.gaps == ()
    assert len(heard) - len(cut_speech(track, ours)) == pytest.approx((end - begin), abs=30)


def test_a_short_track_begins_anew(tmp_path: Path) -> None:
    heard = cut_speech(0.5 * np.ones(5_000, np.float32), session(tmp_path, "cadence"))
    first = round(session(tmp_path, "cadence").stretches[0].start_ns * 24e-6)
    assert heard[first + 300 : first + 40_000].min() == 0.5


def test_after_a_gap_the_track_goes_on_where_it_was(tmp_path: Path) -> None:
    track = np.linspace(0.1, 0.9, 48_000, dtype=np.float32)
    ns = 1_000_000_000
    twice = (Heard(0, ns), Heard(ns, 3 * ns, gap=True), Heard(3 * ns, 4 * ns))
    heard = cut_speech(track, replace(session(tmp_path, "cadence"), stretches=twice))
    np.testing.assert_array_equal(heard[300:23_700], track[300:23_700])
    assert not heard[24_000:72_000].any()
    np.testing.assert_array_equal(heard[72_300:95_700], track[24_300:47_700])
