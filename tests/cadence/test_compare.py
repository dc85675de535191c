from pathlib import Path

from engine.cadence import compare
from engine.timing import read_log
from tests.made_up_sessions import conversation, header, unit, write


def test_two_sessions_stand_side_by_side(tmp_path: Path) -> None:
    slow = [unit(0), unit(1, "SPEAK", [("words", 800.0)]), unit(2, "SPEAK", [("words", 1100.0)])]
    fast = [unit(0), unit(1, "SPEAK", [("words", 400.0)]), unit(2, "SPEAK", [("words", 550.0)])]
    a = read_log(write(tmp_path / "a.jsonl", slow, header(runtime="stock")))
    b = read_log(write(tmp_path / "b.jsonl", fast))
    text = compare(a, b)
    lines = {line.split("   ")[0]: line for line in text.splitlines()}
    assert lines["words, median"].endswith("2.00x faster")
    assert lines["LISTEN unit, median"].endswith("the same")
    assert lines["runtime"].split()[1:] == ["stock", "cadence"]
    assert lines["overruns"].split()[1:] == ["1", "0"]
    assert "A: 1 of 3 seconds finished after" in text
    assert "B: every second finished before" in text
    assert "beware" not in text
    backwards = {line.split("   ")[0]: line for line in compare(b, a).splitlines()}
    assert backwards["words, median"].endswith("2.00x slower")


def test_next_to_nothing_is_not_told_to_five_figures(tmp_path: Path) -> None:
    a = read_log(write(tmp_path / "a.jsonl", [unit(0, work=[("words", 532.913), ("voice", 99.0)])]))
    b = read_log(write(tmp_path / "b.jsonl", [unit(0, work=[("words", 0.01), ("voice", 1.0)])]))
    lines = {line.split("   ")[0]: line for line in compare(a, b).splitlines()}
    assert lines["words, median"].endswith("  over 100 times faster")
    assert lines["voice, median"].endswith("  99.00x faster")
    backwards = {line.split("   ")[0]: line for line in compare(b, a).splitlines()}
    assert backwards["words, median"].endswith("  over 100 times slower")


def test_what_spoils_a_comparison_is_said(tmp_path: Path) -> None:
    a = read_log(write(tmp_path / "a.jsonl", conversation(10)))
    b = read_log(write(tmp_path / "b.jsonl", conversation(40), header(model="moshi", device="another\x1b[2J GPU")))
    b.path.write_bytes(b.path.read_bytes()[:-9])
    text = compare(a, read_log(b.path))
    for part in (
        "not the same model: pocket and moshi",
        "not the same device",
        "not the same length",
        "B: the log's last",
    ):
        assert f"beware: {part}" in text
    assert "\x1b" not in text


def test_a_session_without_units_compares_too(tmp_path: Path) -> None:
    a = read_log(write(tmp_path / "a.jsonl", []))
    b = read_log(write(tmp_path / "b.jsonl", conversation(10)))
    assert "A: no unit ran" in compare(a, b)
    assert "B: no unit ran" in compare(b, a)
