"""The commands as a user gives them: what comes out, where it lands, and how bad requests are refused."""

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import soundfile

from app.__main__ import main
from app.audio.devices import Devices
from app.commands import talk
from engine.errors import NoRoom
from tests.made_up_sessions import conversation, write

QUESTIONS = Path(__file__).parents[2] / "assets" / "questions"
SCHEMA = json.loads((Path(__file__).parents[2] / "engine" / "timing.schema.json").read_text())


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line that a bad request is answered with."""
    assert main(list(arguments)) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert lines[-1].startswith("duplexcadence: ")
    return lines[-1]


@pytest.mark.weights
@pytest.mark.slow
def test_talk_without_a_screen_holds_the_bundled_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    assert main(["talk"]) == 0
    printed = capsys.readouterr().out
    for expected in ("no display here", "What is the capital of France?", "Paris", "┃", "response delay", "reply.wav"):
        assert expected in printed
    (folder,) = (tmp_path / "duplexcadence" / "sessions").iterdir()
    assert {file.name for file in folder.iterdir()} == {"reply.wav", "session.jsonl", "meter.png"}
    assert soundfile.info(folder / "reply.wav").samplerate == 24_000
    lines = [json.loads(line) for line in (folder / "session.jsonl").read_text().splitlines()]
    for line in lines:
        jsonschema.validate(line, SCHEMA)
    assert [line["type"] for line in lines][:: len(lines) - 1] == ["session", "end"]
    assert not any("capital" in json.dumps(line).replace("capital_of_france.wav", "") for line in lines)


@pytest.mark.parametrize(("kind", "name"), [("csv", "s.csv"), ("trace", "s.trace.json"), ("picture", "s.png")])
def test_export_lands_beside_the_log(tmp_path: Path, kind: str, name: str) -> None:
    write(tmp_path / "s.jsonl", conversation(20))
    assert main(["export", str(tmp_path / "s.jsonl"), "--to", kind]) == 0
    assert (tmp_path / name).stat().st_size > 200


def test_compare_sets_two_logs_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "a.jsonl", conversation(20))
    assert main(["compare", str(tmp_path / "a.jsonl"), str(tmp_path / "a.jsonl")]) == 0
    assert "slack" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "nowhere.wav"], "nowhere.wav is not a file"),
        (["run", "x.wav", "--out", "no/such/folder/o.wav"], "a file in a folder that exists"),
        (["run", "x.wav", "--picture", "p.png"], "--picture without --log"),
        (["export", "nowhere.jsonl", "--to", "csv"], "nowhere.jsonl"),
        (["plan", "minicpm"], "did you mean minicpm-o-4.5"),
        (["compare", "nowhere.jsonl", "nowhere.jsonl"], "nowhere.jsonl"),
    ],
)
def test_bad_requests_are_refused_in_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert says in refused(capsys, *arguments)


def test_a_model_that_can_only_be_planned_is_not_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert "only plan it" in refused(capsys, "run", str(QUESTIONS / "capital_of_france.wav"), "--model", "moshi")


@pytest.fixture
def sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where `talk` keeps its sessions; nobody can hear or see here."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(talk, "sessions_path", lambda: tmp_path / "sessions")
    monkeypatch.setattr(talk.PortAudio, "devices", lambda _: Devices())
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "sessions"


def test_a_model_that_can_only_be_planned_is_not_talked_with(
    sessions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["talk", "--model", "moshi"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("duplexcadence: this version cannot run moshi, only plan it")
    assert not sessions.exists()


def test_a_talk_that_fails_leaves_no_folder(sessions: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[str] = []
    monkeypatch.setattr(talk.weights, "fetch", lambda names, progress: fetched.extend(names))

    def fail(*_: object, reply: Path, **__: object) -> int:
        assert reply.parent.parent == sessions
        raise NoRoom("no memory")

    monkeypatch.setattr(talk, "hold_recording", fail)
    assert main(["talk", "--model", "Pocket"]) == 1
    assert tuple(fetched) == talk.weights.open_store().manifest.of_model("pocket")
    assert list(sessions.iterdir()) == []


def test_planning_loads_no_torch() -> None:
    code = "import sys; from app.__main__ import main; main(['plan', 'pocket']); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
