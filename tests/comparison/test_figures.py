"""Figures of a comparison are those of the logs, to the last digit; equality is measured, or said not to be."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.comparison import Measured, compare, equality, felt, headline, measured, steps
from engine.comparison.session import MOST_STRETCHES, _longest
from engine.comparison.sounding import Heard, heard
from engine.errors import AskedWrongly, BadLog
from engine.timing import AudioRecord, Record, UnitRecord, read_log
from tests import made_up_sessions as made_up
from tests.made_up_sessions import SECOND, conversation, header, unit, write

MS = 1_000_000


def session(tmp_path: Path, name: str, records: list[Record]) -> Measured:
    return measured(read_log(write(tmp_path / f"{name}.jsonl", records, header(runtime=name))), name)


def answer(work_ms: float, *, voice: bytes = b"one", index: int = 1) -> UnitRecord:
    """A unit that begins an answer of a second."""
    done = unit(index, "SPEAK", [("words", work_ms)], response_delay_ms=700.0 + work_ms, voice=voice)
    late_ms = max(0.0, -done.slack_ms)
    audio = AudioRecord(playout_ms=1000.0, gap_ms=late_ms, underflows=int(late_ms > 0))
    return unit(index, "SPEAK", [("words", work_ms)], response_delay_ms=700.0 + work_ms, voice=voice, audio=audio)


def test_figures_are_the_logs_own(tmp_path: Path) -> None:
    paths = [
        write(tmp_path / f"{speed}.jsonl", conversation(60, seed=5, overruns=True, speed=speed)) for speed in (1.7, 1.0)
    ]
    comparison = compare([read_log(path) for path in paths])
    for number, path in enumerate(paths):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        units, end = [line for line in lines if line["type"] == "unit"], lines[-1]
        speak = [(each["finish_ns"] - each["start_ns"]) / 1e6 for each in units if each["event"] == "SPEAK"]
        delays = sorted(each["response_delay_ms"] for each in units if "response_delay_ms" in each)
        found = {figure.key: figure.values[number] for figure in comparison.figures}
        assert found["units"] == end["units"]
        assert found["overruns"] == end["overruns"]
        assert found["gap_ms"] == pytest.approx(end["gap_ms"], rel=1e-15)
        assert found["slack_least_ms"] == end["least_slack_ms"]
        assert found["speak_mean_ms"] == pytest.approx(sum(speak) / len(speak), rel=1e-15)
        assert found["speak_over_cadence"] == pytest.approx(sum(speak) / len(speak) / 1000 - 1, rel=1e-12)
        assert found["response_delay_median_ms"] == delays[(len(delays) - 1) // 2]
        assert found["peak_rss_bytes"] == max(each["memory"]["rss"] for each in units)
    assert comparison.figure("overruns").values[0] > 0


def test_bits_are_equal_only_where_every_hash_is(tmp_path: Path) -> None:
    one = session(tmp_path, "stock", [unit(0), answer(500), answer(200, voice=b"two", index=2)])
    same = session(tmp_path, "library", [answer(300), unit(2), answer(100, voice=b"two", index=3)])
    other = session(tmp_path, "cadence", [answer(300), answer(100, voice=b"2", index=2), answer(9, index=3)])
    assert equality(one, same).equal is True
    assert equality(one, same).words == "equal, all of 2 units of speech"
    assert equality(one, other).words == "not equal: 1 of 3 units of speech are the same"


def test_equality_that_nobody_measured_is_not_claimed(tmp_path: Path) -> None:
    hashed = session(tmp_path, "a", [answer(500)])
    without = session(tmp_path, "b", [unit(1, "SPEAK", [("words", 500.0)], response_delay_ms=1200.0)])
    silent = session(tmp_path, "c", [unit(0)])
    assert equality(hashed, without).equal is None
    assert equality(hashed, without).words == "not measured: the log of b holds no hash of its voice"
    assert equality(silent, silent).words == "not measured: neither spoke"
    assert equality(hashed, silent).equal is False


def test_a_late_answers_gap_lies_between_its_deadline_and_its_finish(tmp_path: Path) -> None:
    late = answer(2500.0)
    found = session(tmp_path, "stock", [unit(0), late])
    assert [(gap.start_ns, gap.end_ns) for gap in found.gaps] == [(2 * SECOND, late.finish_ns)]
    assert found.gaps[0].ms == pytest.approx(found.figures.gap_ms)
    assert found.stretches[1] == Heard(late.finish_ns, late.finish_ns + SECOND)
    assert found.answers[0].sounds_at_ns == late.finish_ns


def test_seconds_that_follow_on_are_one_stretch() -> None:
    queued = [1000.0, 1000.0 + 1000 - unit(1).finish_ns / MS + 1000, 0.0]
    units = [unit(at, "SPEAK", audio=AudioRecord(playout_ms=ms)) for at, ms in enumerate(queued[:2])]
    assert list(heard(units)) == [Heard(SECOND, 3 * SECOND)]


@pytest.mark.slow
@given(st.lists(made_up.units, max_size=8))
@settings(deadline=None, max_examples=60)
def test_stretches_of_any_session_are_disjoint_and_in_order(units: list[UnitRecord]) -> None:
    stretches = list(heard(units))
    for stretch in stretches:
        assert stretch.start_ns <= stretch.end_ns
    for one, other in pairwise(stretches):
        assert one.end_ns <= other.start_ns


def test_a_long_conversation_keeps_its_gaps_and_its_longest_stretches() -> None:
    many = [Heard(at * SECOND, at * SECOND + (at % 50) * MS, gap=at % 100 == 1) for at in range(10 * MOST_STRETCHES)]
    kept = _longest(many)
    assert len(kept) == MOST_STRETCHES
    assert [stretch for stretch in kept if stretch.gap] == [stretch for stretch in many if stretch.gap]
    assert kept == sorted(kept, key=lambda stretch: stretch.start_ns)


def test_the_headline_says_who_was_late_and_what_was_heard(tmp_path: Path) -> None:
    stock = session(tmp_path, "stock", [unit(0), answer(2500.0)])
    ours = session(tmp_path, "cadence", [unit(0), answer(500.0)])
    comparison = compare([read_log(tmp_path / "stock.jsonl"), read_log(tmp_path / "cadence.jsonl")], ("stock", "ours"))
    assert headline(comparison) == (
        "stock was late in 1 of 2 seconds, by up to 1.50 s, and 1.50 s of silence is heard where speech was due; "
        "ours kept every second, 0.50 s to spare at least; the heaviest second of a turn takes 2.50 s and 0.50 s"
    )
    assert felt(stock).startswith("1 of 2 seconds late, the latest by 1.50 s, 1.50 s of silence")
    assert felt(ours) == "no second late, least slack 0.50 s, no gap heard, an answer after 1.20 s"


def test_each_step_says_what_it_gains_and_whether_bits_are_equal(tmp_path: Path) -> None:
    for name, ms, voice in (("stock", 2000.0, b"a"), ("library", 500.0, b"b"), ("cadence", 400.0, b"b")):
        session(tmp_path, name, [unit(0), answer(ms, voice=voice)])
    names = ("stock", "library", "cadence")
    first, second = steps(compare([read_log(tmp_path / f"{name}.jsonl") for name in names], names))
    assert first.gains[0].key == "heaviest_mean_ms"
    assert (first.gains[0].texts, first.gains[0].against[1]) == (("2.00 s", "0.50 s"), "4.00x faster")
    assert (first.bits.equal, second.bits.equal) == (False, True)
    assert (second.before, second.after) == ("library", "cadence")
    assert second.gains[0].against[1] == "1.25x faster"


def test_one_log_or_seven_are_no_comparison(tmp_path: Path) -> None:
    log = read_log(write(tmp_path / "a.jsonl", conversation(3)))
    for count in (1, 7):
        with pytest.raises(AskedWrongly, match="two to 6"):
            compare([log] * count)


def test_whoever_waits_may_call_it_off(tmp_path: Path) -> None:
    log = read_log(write(tmp_path / "a.jsonl", conversation(3)))

    def tick() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare([log, log], tick=tick)


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", conversation(5))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:3], b'{"type":"unit"}\n', *lines[3:]]))
    with pytest.raises(BadLog, match=r"a\.jsonl line 4 is not of log schema 1"):
        compare([read_log(path)] * 2)


@given(st.lists(made_up.records, max_size=6), st.lists(made_up.records, max_size=6))
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_two_logs_can_be_compared(tmp_path: Path, one: list[Record], other: list[Record]) -> None:
    logs = [read_log(write(tmp_path / f"{name}.jsonl", records)) for name, records in (("a", one), ("b", other))]
    comparison = compare(logs)
    assert headline(comparison)
    assert len(steps(comparison)) == 1
    for figure in comparison.figures:
        assert len(figure.values) == len(figure.texts) == len(figure.against) == 2


def test_a_turns_heaviest_unit_counts_wherever_in_the_turn_it_fell(tmp_path: Path) -> None:
    thought_ahead = [unit(0, work=[("words", 900.0)]), unit(1, "SPEAK", [("voice", 100.0)]), unit(2, "FLUSH")]
    late = [unit(3), unit(4, "SPEAK", [("words", 300.0)]), unit(5, "SPEAK", [("words", 400.0)])]
    unanswered = [unit(6, "FLUSH"), unit(7, work=[("words", 999.0)]), unit(8, "FLUSH")]
    found = session(tmp_path, "a", [*thought_ahead, *late, *unanswered])
    assert found.heaviest_ms is not None
    assert (found.heaviest_ms.count, round(found.heaviest_ms.mean)) == (2, 651)
