"""No command writes over what it reads, two files in one place, or where it cannot; it says so before any work."""

import os
from pathlib import Path

import pytest

from app.__main__ import main
from engine.models import registry
from tests.made_up_sessions import conversation, write


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """What lies in the working folder; nothing is loaded."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry.ModelEntry, "build", lambda *_, **__: pytest.fail("it was loaded"))
    Path("q.wav").write_bytes(b"the recording")
    Path("link.wav").symlink_to("q.wav")
    Path("hard.wav").hardlink_to("q.wav")
    Path("folder").mkdir()
    for name in ("log.csv", "x.trace.json", "x.jsonl"):
        write(tmp_path / name, conversation(3))
    return contents()


def contents() -> dict[str, bytes]:
    return {name: Path(name).read_bytes() for name in sorted(os.listdir()) if Path(name).is_file()}


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("run q.wav --out q.wav", "--out q.wav and the recording are one file"),
        ("run q.wav --out ./folder/../q.wav", "and the recording are one file"),
        ("run q.wav --out link.wav", "and the recording are one file"),
        ("run q.wav --log hard.wav", "and the recording are one file"),
        ("run q.wav --out s.x --log s.x", "--log s.x and --out are one file"),
        ("run q.wav --log p.png --picture p.png", "--picture p.png and --log are one file"),
        ("export log.csv --to csv", "--out log.csv and the log are one file"),
        ("export x.trace.json --to trace --out x.trace.json", "and the log are one file"),
        (f"run q.wav --out {os.devnull}", "it is no file"),
        (f"run q.wav --log {os.devnull}", "it is no file"),
        ("run q.wav --out folder", "it is no file"),
        ("run q.wav --log none/l.jsonl", "a file in a folder that exists"),
        ("run q.wav --log l.jsonl --picture p.jpg", "a name that ends in"),
        ("export x.jsonl --to picture --out p.jpg", "a name that ends in"),
        ("export / --to csv", "is no log"),
        ("export . --to csv", "is no log"),
    ],
)
def test_it_is_refused(files: dict[str, bytes], capsys: pytest.CaptureFixture[str], command: str, says: str) -> None:
    assert main(command.split()) == 2
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1
    assert contents() == files
    assert not Path(os.devnull).is_file()


def test_nothing_is_no_log(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "", "--to", "csv"]) == 2
    assert "is no log" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--out", "--log"])
@pytest.mark.parametrize("name", ["n" * 300, "/proc/sys/r"])
def test_a_folder_that_takes_no_such_file_is_said_first(
    files: dict[str, bytes], capsys: pytest.CaptureFixture[str], option: str, name: str
) -> None:
    if not Path(name).parent.exists():
        pytest.skip("this system has no such folder")
    assert main(["run", "q.wav", option, name]) == 1
    said = capsys.readouterr().err
    assert f"{option} {name} cannot be written" in said
    assert said.count("\n") == 1
    assert contents() == files


@pytest.mark.slow
def test_an_ending_may_be_in_capitals() -> None:
    assert main(["export", "x.jsonl", "--to", "picture", "--out", "P.SVG"]) == 0
    assert b"<svg" in Path("P.SVG").read_bytes()
