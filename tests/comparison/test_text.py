from pathlib import Path

from engine.comparison import Comparison, compare, text_table
from engine.timing import Record, SessionHeader, read_log
from tests.made_up_sessions import conversation, header, unit, write


def sides(tmp_path: Path, *sessions: tuple[list[Record], SessionHeader | None]) -> Comparison:
    return compare(
        [read_log(write(tmp_path / f"{at}.jsonl", records, head)) for at, (records, head) in enumerate(sessions)]
    )


def lines_of(comparison: Comparison) -> dict[str, str]:
    return {line.split("   ")[0]: line for line in text_table(comparison).splitlines()}


def test_two_sessions_stand_side_by_side(tmp_path: Path) -> None:
    slow = [unit(0), unit(1, "SPEAK", [("words", 800.0)]), unit(2, "SPEAK", [("words", 1100.0)])]
    fast = [unit(0), unit(1, "SPEAK", [("words", 400.0)]), unit(2, "SPEAK", [("words", 550.0)])]
    comparison = sides(tmp_path, (slow, header(runtime="stock")), (fast, None))
    text, lines = text_table(comparison), lines_of(comparison)
    assert lines["words, median"].endswith("2.00x faster")
    assert lines["LISTEN unit, median"].endswith("the same")
    assert lines["runtime"].split()[1:] == ["stock", "cadence"]
    assert lines["overruns"].split()[1:] == ["1", "0"]
    assert "stock: 1 of 3 seconds finished after" in text
    assert "cadence: every second finished before" in text
    assert "beware" not in text
    backwards = lines_of(sides(tmp_path, (fast, None), (slow, None)))
    assert backwards["words, median"].endswith("2.00x slower")


def test_three_sessions_are_each_held_against_the_first(tmp_path: Path) -> None:
    held = [[unit(0, "SPEAK", [("words", ms)])] for ms in (800.0, 400.0, 200.0)]
    lines = lines_of(sides(tmp_path, *((records, None) for records in held)))
    assert lines["words, median"].split()[2:] == "0.80 s 0.40 s 2.00x faster 0.20 s 4.00x faster".split()


def test_next_to_nothing_is_not_told_to_five_figures(tmp_path: Path) -> None:
    a = [unit(0, work=[("words", 532.913), ("voice", 99.0)])]
    b = [unit(0, work=[("words", 0.01), ("voice", 1.0)])]
    lines = lines_of(sides(tmp_path, (a, None), (b, None)))
    assert lines["words, median"].endswith("  over 100 times faster")
    assert lines["voice, median"].endswith("  99.00x faster")
    assert lines_of(sides(tmp_path, (b, None), (a, None)))["words, median"].endswith("  over 100 times slower")


def test_what_spoils_a_comparison_is_said(tmp_path: Path) -> None:
    a = read_log(write(tmp_path / "a.jsonl", conversation(10)))
    b = read_log(write(tmp_path / "b.jsonl", conversation(40), header(model="moshi", device="another\x1b[2J GPU")))
    b.path.write_bytes(b.path.read_bytes()[:-9])
    text = text_table(compare([a, read_log(b.path)]))
    for part in (
        "not the same model: pocket and moshi",
        "not the same device",
        "not the same length",
        "B: the log's last",
    ):
        assert f"beware: {part}" in text
    assert "\x1b" not in text


def test_a_session_without_units_compares_too(tmp_path: Path) -> None:
    text = text_table(sides(tmp_path, ([], None), (list(conversation(10)), None)))
    assert "A: no unit ran" in text
    assert "B: no unit ran" in text_table(sides(tmp_path, (list(conversation(10)), None), ([], None)))
