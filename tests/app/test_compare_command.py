"""`compare`: any two to six logs, and one line for what is none."""

from pathlib import Path

import pytest

from app.__main__ import main
from tests.made_up_sessions import conversation, header, write


def test_three_logs_stand_side_by_side_in_words_and_in_a_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runtimes = ("stock", "library", "cadence")
    logs = [str(write(tmp_path / f"{name}.jsonl", conversation(10), header(runtime=name))) for name in runtimes]
    assert main(["compare", *logs, "--picture", str(tmp_path / "p.svg")]) == 0
    said = capsys.readouterr().out
    assert said.startswith("stock kept every second")
    assert "cadence against stock" in said
    assert "the voices of library and cadence, to the bit: not measured" in said
    assert (tmp_path / "p.svg").read_bytes().startswith(b"<?xml")


LINE = b'{"type":"session","schema":2}\n'
UNFIT = {
    "empty": (b"", "is empty"),
    "foreign": (b"\x89PNG\r\n\x1a\n" + bytes(5000), "is no timing log"),
    "later": (LINE, "is of log schema 2; needed: schema 1"),
    "unit first": (b'{"type":"unit","schema":1}\n', "begins with a line of the type 'unit'"),
    "one endless line": (b"{" * (17 << 20), "line 1 is not of log schema 1 (longer than 16 MiB)"),
}


@pytest.mark.parametrize("kind", UNFIT)
def test_what_is_no_log_of_ours_is_refused_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    content, says = UNFIT[kind]
    write(tmp_path / "good.jsonl", conversation(5))
    (tmp_path / "bad.jsonl").write_bytes(content)
    assert main(["compare", str(tmp_path / "good.jsonl"), str(tmp_path / "bad.jsonl")]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert says in said.err
    assert len(said.err.splitlines()) == 1


def test_a_picture_never_takes_a_logs_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = write(tmp_path / "log.svg", conversation(3))
    before = log.read_bytes()
    assert main(["compare", str(log), str(log), "--picture", str(log)]) == 2
    assert "are one file" in capsys.readouterr().err
    assert log.read_bytes() == before
