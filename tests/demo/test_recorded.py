"""Sessions that ship: found, described, heard for what they are; a wrong description is refused in a line."""

import io
from pathlib import Path

import numpy as np
import pytest
import soundfile

from app.__main__ import main
from app.commands import demo
from app.demo import recorded
from app.demo.files import FIGURES, PAGE, PNG, TABLE, UNITS
from app.demo.recorded import find_recorded, recorded_report, recorded_sets
from engine.errors import AskedWrongly, BadLog
from tests.demo.made_up import head, records
from tests.fakes import tone
from tests.made_up_sessions import write

ABOUT = """
schema = 1
title = "A model that never ran"
held = "Eight seconds, scripted."
machine = "a made-up GPU"
made = "2026-12-07"
commands = ["duplexcadence run made-up.wav"]
weights = "random"
licence = "Apache-2.0"

[[session]]
name = "released"
what = "The released code as it comes."
log = "stock.jsonl"

[[session]]
name = "ours"
what = "This engine."
log = "cadence.jsonl"
change = "Everything."

[speech]
files = ["track.wav"]
source = "a tone"
licence = "nobody's"
"""


@pytest.fixture
def sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as assets/sessions is, with one set in it."""
    folder = tmp_path / "sessions" / "made-up"
    folder.mkdir(parents=True)
    (folder / "about.toml").write_text(ABOUT)
    for runtime in ("stock", "cadence"):
        write(folder / f"{runtime}.jsonl", records(runtime), head(runtime, realtime=True))
    soundfile.write(tmp_path / "track.wav", tone(30.0), 24_000)
    return tmp_path / "sessions"


def test_a_set_is_found_with_what_it_says_of_itself(sessions: Path) -> None:
    (found,) = recorded_sets(sessions)
    assert (found.name, found.about.weights, len(found.logs())) == ("made-up", "random", 2)
    assert find_recorded("made-up", sessions) == found
    with pytest.raises(AskedWrongly, match="no recorded set 'other'; needed: one of made-up"):
        find_recorded("other", sessions)
    assert recorded_sets(sessions / "none") == []


def test_where_weights_are_random_a_track_is_cut_by_the_gaps_and_the_page_says_so(sessions: Path) -> None:
    report = recorded_report(find_recorded("made-up", sessions), "again", root=sessions.parent)
    released, ours = report.shown
    assert released.session.gaps[0].ms == pytest.approx(released.session.figures.gap_ms)
    for shown in (released, ours):
        assert shown.sound is not None
        assert "a speech track (a tone, nobody's)" in shown.sound.words
        assert "The model spoke none of its words." in shown.sound.words
        samples, _ = soundfile.read(io.BytesIO(shown.sound.flac), dtype="float32")
        for stretch in shown.session.stretches:
            first, last = (round(ns * 24e-6) for ns in (stretch.start_ns, stretch.end_ns))
            heard = samples[first + 300 : last - 300]
            assert (not heard.any()) if stretch.gap else np.abs(heard).max() > 0.4
    assert report.changes == ("Everything.",)


@pytest.mark.slow
def test_the_command_shows_a_set_and_lists_all(
    sessions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(recorded.find_recorded, "__defaults__", (sessions,))
    monkeypatch.setattr(recorded.recorded_sets, "__defaults__", (sessions,))
    monkeypatch.setitem(recorded.recorded_report.__kwdefaults__, "root", tmp_path)
    monkeypatch.setattr(demo.weights, "fetch", lambda *_, **__: pytest.fail("nothing need be fetched"))
    assert main(["demo", "--list"]) == 0
    assert capsys.readouterr().out == "made-up  A model that never ran; a made-up GPU; random weights\n"
    assert main(["demo", "--recorded", "made-up", "--out", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out.startswith("released was late in 2 of 5 seconds")
    for name in (PAGE, PNG, UNITS, FIGURES, TABLE):
        assert (tmp_path / "out" / name).stat().st_size > 500
    page = (tmp_path / "out" / PAGE).read_text("utf-8")
    assert "The weights of these sessions are random" in page
    assert "duplexcadence demo --recorded made-up" in page
    assert main(["demo", "--recorded", "other"]) == 2


@pytest.mark.parametrize(
    ("wrong", "right", "says"),
    [
        ("schema = 1", "schema = 2", r"made-up cannot be read \(Invalid enum value 2"),
        ('title = "A model', 'titel = "A model', "titel"),
        ("schema = 1", "schema = ", "made-up cannot be read"),
        ('weights = "random"', 'weights = "released"', "has released weights and a speech track"),
        (
            'log = "stock.jsonl"',
            'log = "stock.jsonl"\nsound = "s.wav"',
            "released of the recorded set made-up has a sound",
        ),
    ],
)
def test_a_wrong_description_is_refused(sessions: Path, wrong: str, right: str, says: str) -> None:
    (sessions / "made-up" / "about.toml").write_text(ABOUT.replace(wrong, right, 1))
    with pytest.raises(AskedWrongly, match=says):
        recorded_sets(sessions)


def test_a_log_that_is_not_there_is_named(sessions: Path) -> None:
    (sessions / "made-up" / "stock.jsonl").unlink()
    with pytest.raises(BadLog, match=r"stock\.jsonl cannot be opened"):
        find_recorded("made-up", sessions).logs()


def test_every_set_that_ships_can_be_shown() -> None:
    for found in recorded_sets():
        report = recorded_report(found, "again")
        assert all(shown.sound is not None for shown in report.shown)
        assert all(shown.session.figures.units for shown in report.shown)
