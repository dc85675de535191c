"""`demo`: all of it into a folder, whatever goes wrong said in a line, and what was held kept."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.__main__ import main
from app.commands import demo
from app.demo.course import Progress
from app.demo.files import FIGURES, PAGE, PNG, SVG, TABLE, UNITS
from tests.demo.made_up import made_demo


@pytest.fixture(autouse=True)
def fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is fetched and nothing held: a demo that never ran stands for one that did."""
    monkeypatch.setattr(demo.weights, "fetch", lambda *_, **__: None)


def held(monkeypatch: pytest.MonkeyPatch, then: Callable[[], None] = lambda: None) -> None:
    def hold_all(
        model: str, runtimes: Any, recording: Path, folder: Path, rounds: int, *, progress: Any, done: Any
    ) -> None:
        assert recording.is_file()
        for each in made_demo(folder, rounds):
            progress(Progress(each.runtime, 0, 3, 0, 0, 0.0))
            progress(Progress(each.runtime, 0, 3, 1, 0, 9.0))
            progress(Progress(each.runtime, 0, 3, 1, 2, 9.0))
            progress(Progress(each.runtime, 0, 3, 1, 7, 9.0))
            progress(Progress(each.runtime, 0, 3, 2, 7, 9.0))
            done(each)
            then()

    monkeypatch.setattr(demo, "hold_all", hold_all)


@pytest.mark.slow
def test_a_demo_leaves_all_its_files_and_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    held(monkeypatch)
    assert main(["demo", "--out", str(tmp_path / "new" / "demo"), "--rounds", "2"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("stock was late in 2 of 5 seconds")
    for name in (PAGE, SVG, PNG, UNITS, FIGURES, TABLE):
        assert (tmp_path / "new" / "demo" / name).stat().st_size > 500
        assert str(tmp_path / "new" / "demo" / name) in said.out
    told = said.err.splitlines()
    assert told[:4] == [
        "stock (1 of 3): loading",
        "stock (1 of 3): in real time",
        "stock (1 of 3): in real time, 7 seconds",
        "stock (1 of 3): round 2 of 2, as fast as it goes",
    ]
    page = (tmp_path / "new" / "demo" / PAGE).read_text("utf-8")
    assert "duplexcadence demo --rounds 2" in page
    assert str(tmp_path) not in page


def test_a_demo_that_is_stopped_keeps_what_was_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    (tmp_path / PAGE).write_text("an older demo's")
    held(monkeypatch, then=stop)
    assert main(["demo", "--out", str(tmp_path)]) == 130
    said = capsys.readouterr().err.splitlines()
    assert said[-2].startswith(f"kept: {tmp_path / 'stock.wav'}, {tmp_path / 'stock-1.jsonl'}")
    assert said[-1] == "duplexcadence: stopped"
    assert not (tmp_path / PAGE).exists()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--runtimes", "stock"], "two or more of cadence, library, stock, each once"),
        (["--runtimes", "stock,stock"], "each once"),
        (["--runtimes", "stock,theirs"], "two or more of"),
        (["--rounds", "0"], "1 to 20"),
        (["--model", "moshi"], "only plan it"),
        (["--out", "file"], "cannot be written"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], options: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("")
    assert main(["demo", *options]) in (1, 2)
    said = capsys.readouterr().err
    assert says in said
    assert len(said.splitlines()) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]
