from hypothesis import given, settings
from hypothesis import strategies as st

from engine.cadence.voice_spans import VoiceSpan, voice_spans
from engine.timing import AudioRecord, UnitRecord
from tests import made_up_sessions as made_up
from tests.made_up_sessions import SECOND, unit


def spoke(index: int, playout_ms: float, event: str = "SPEAK") -> UnitRecord:
    return unit(index, event, audio=AudioRecord(playout_ms=playout_ms))


def left(index: int, audio_end_ms: float) -> float:
    """What of audio that ends at so many ms is left as unit `index` finishes."""
    return audio_end_ms - unit(index).finish_ns / 1e6


def test_a_units_audio_sounds_from_its_deadline() -> None:
    assert list(voice_spans([spoke(0, 0, "LISTEN"), spoke(1, 600)])) == [
        VoiceSpan(1, unit(1).start_ns, 2 * SECOND, 2_600_000_000)
    ]


def test_an_answer_of_whole_seconds_sounds_without_a_gap() -> None:
    spans = list(voice_spans([spoke(0, 1000), spoke(1, left(1, 3000)), spoke(2, left(2, 4000))]))
    assert spans == [
        VoiceSpan(index, unit(index).start_ns, (index + 1) * SECOND, (index + 2) * SECOND) for index in range(3)
    ]


def test_a_flush_cuts_what_was_queued() -> None:
    flushing = spoke(1, 0, "LISTEN")
    spans = list(voice_spans([spoke(0, 1000), flushing]))
    assert spans == [VoiceSpan(0, unit(0).start_ns, SECOND, flushing.finish_ns)]


@given(st.lists(st.builds(spoke, st.integers(0, 50), st.floats(0, 3000)), max_size=20))
@settings(deadline=None)
def test_spans_of_any_session_are_disjoint_and_in_order(units: list[UnitRecord]) -> None:
    units = sorted(units, key=lambda record: record.index)
    at = 0
    for span in voice_spans(units):
        assert at <= span.start_ns <= span.end_ns
        at = span.end_ns


@given(st.lists(made_up.units, max_size=8))
@settings(deadline=None, max_examples=40)
def test_no_log_is_too_odd_for_it(units: list[UnitRecord]) -> None:
    assert all(span.start_ns <= span.end_ns for span in voice_spans(units))
