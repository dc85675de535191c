"""`talk`: a window where there is a display, lines where asked and there is sound, the bundled question else."""

import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import app.window
from app.__main__ import main
from app.audio.devices import Devices, Direction
from app.audio.state import EchoMode, SoundSettings
from app.commands import talk
from app.live.settings import SettingsFile
from app.live.snapshot import Line, Listening, Phase, Progress, Snapshot, StreamState
from app.stopping import Stopped
from app.talk_lines import SAY_EVERY_S, TalkLines
from engine.cadence import MeterStyle, measure
from engine.errors import CadenceError
from engine.timing import Fault, UnitRecord
from tests.audio.fake_backend import MIC, SPEAKER
from tests.made_up_sessions import conversation, header, unit

THERE = Devices(
    ("ALSA",), (MIC, SPEAKER), (("", Direction.INPUT, MIC), ("", Direction.OUTPUT, SPEAKER)), platform="linux"
)


# --- which of the three ----------------------------------------------------------------------------------------------


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """A machine with or without devices and a display; tells which way `talk` went."""
    went: list[str] = []
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr(talk.sys, "platform", "linux")
    monkeypatch.setattr(talk, "in_lines", lambda conversation: (went.append("lines"), 0)[1])
    monkeypatch.setattr(talk, "hold_recording", lambda *_, **__: (went.append("question"), 0)[1])
    monkeypatch.setattr(talk, "sessions_path", lambda: tmp_path / "sessions")
    monkeypatch.setattr(talk.weights, "fetch", lambda *_, **__: None)
    monkeypatch.setattr("app.wiring.live", lambda settings, **options: (went.append(str(options)), settings)[1])
    window = SimpleNamespace(run=lambda conversation, settings, sessions: (went.append("window"), 0)[1])
    monkeypatch.setattr(app.window, "main", window, raising=False)

    def make(devices: Devices | CadenceError, display: str = "") -> list[str]:
        def found(_: object) -> Devices:
            if isinstance(devices, CadenceError):
                raise devices
            return devices

        monkeypatch.setattr(talk.PortAudio, "devices", found)
        for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
            monkeypatch.delenv(name, raising=False)
        if display:
            monkeypatch.setenv("DISPLAY", display)
        return went

    return make


@pytest.mark.parametrize("devices", [THERE, Devices(), CadenceError("no PortAudio library")])
def test_with_a_display_the_window_opens_and_says_itself_what_it_lacks(
    machine: Callable[..., list[str]], devices: Devices | CadenceError
) -> None:
    went = machine(devices, ":0")
    assert main([]) == 0
    assert went[-1] == "window"


def test_without_a_display_the_question_is_held_and_the_way_to_talk_is_said(
    machine: Callable[..., list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    went = machine(THERE)
    assert main(["talk"]) == 0
    assert went == ["question"]
    said = capsys.readouterr().out
    assert "no display here" in said
    assert "talk --no-window" in said
    assert main(["talk", "--no-window"]) == 0
    assert went[-1] == "lines"


@pytest.mark.parametrize(
    ("devices", "says"),
    [
        (Devices(), ("no microphone here", "no speaker here")),
        (replace(THERE, all=(SPEAKER,), defaults=THERE.defaults[1:]), ("no microphone here",)),
        (CadenceError("no PortAudio library"), ("no PortAudio library",)),
    ],
)
@pytest.mark.parametrize(("display", "options"), [("", []), ("", ["--no-window"]), (":0", ["--no-window"])])
def test_without_devices_the_question_is_held_and_why_is_said(
    machine: Callable[..., list[str]],
    capsys: pytest.CaptureFixture[str],
    devices: Devices | CadenceError,
    says: tuple[str, ...],
    display: str,
    options: list[str],
) -> None:
    went = machine(devices, display)
    assert main(["talk", *options]) == 0
    assert went == ["question"]
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "display" not in line][: len(says)] == list(says)
    assert "--no-window" not in " ".join(lines)


def test_options_hold_for_this_time_alone(machine: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    machine(THERE, ":0")
    seen: list[object] = []
    monkeypatch.setattr("app.wiring.live", lambda settings, **options: seen.append((settings.settings, options)))
    assert main(["talk", "--runtime", "library", "--record", "--words", "somewhere"]) == 0
    ((settings, options),) = seen  # type: ignore[misc]
    assert (settings.runtime, settings.record, settings.log_transcript, settings.model) == (
        "library",
        True,
        False,
        "pocket",
    )
    assert options == {"words": Path("somewhere")}
    assert not talk.settings_path().exists()


@pytest.mark.parametrize("listening", Listening)
def test_in_a_terminal_the_microphone_is_heard_whatever_key_the_window_wants_and_that_is_said(
    machine: Callable[..., list[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    listening: Listening,
) -> None:
    machine(THERE)
    SettingsFile(talk.settings_path()).change(listening=listening)
    seen: list[Listening] = []
    monkeypatch.setattr("app.wiring.live", lambda settings: seen.append(settings.settings.listening))
    assert main(["talk", "--no-window"]) == 0
    assert seen == [Listening.OPEN]
    assert ("the microphone is always heard here" in capsys.readouterr().err) is (listening is not Listening.OPEN)
    assert SettingsFile(talk.settings_path()).settings.listening is listening


def test_what_the_window_has_set_silent_is_said_in_a_terminal(
    machine: Callable[..., list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    machine(THERE)
    SettingsFile(talk.settings_path()).change(sound=SoundSettings(echo=EchoMode.HALF_DUPLEX, volume=0))
    assert main(["talk", "--no-window"]) == 0
    said = capsys.readouterr().err
    assert "closed while the agent speaks" in said
    assert "volume is at zero" in said


@pytest.mark.parametrize("model", ["nope", "moshi"])
def test_a_model_in_the_settings_that_cannot_be_had_is_no_reason_not_to_open_and_one_asked_for_is(
    machine: Callable[..., list[str]], model: str
) -> None:
    went = machine(THERE, ":0")
    talk.settings_path().parent.mkdir(parents=True, exist_ok=True)
    talk.settings_path().write_text(f'{{"first_start_done": true, "model": "{model}"}}')
    assert main([]) == 0
    assert went[-1] == "window"
    assert main(["talk", "--model", model]) == 2


# --- lines -----------------------------------------------------------------------------------------------------------


class Said:
    """What was said, and told, of a conversation."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.told: list[str] = []
        self.now_s = 0.0
        self.lines = TalkLines(self.said.append, self.told.append, MeterStyle(ascii=True), lambda: self.now_s)

    def show(self, snapshot: Snapshot) -> tuple[list[str], list[str]]:
        """What this snapshot adds: said, told."""
        self.said.clear()
        self.told.clear()
        self.lines.show(snapshot)
        return list(self.said), list(self.told)


def test_a_wait_is_told_once_and_then_every_few_seconds() -> None:
    said = Said()
    fetching = Snapshot(phase=Phase.FETCHING, progress=Progress("words from PyPI", 0.25, "3.0 MB/s"))
    assert said.show(fetching) == ([], ["words from PyPI"])
    assert said.show(fetching) == ([], [])
    said.now_s += SAY_EVERY_S
    assert said.show(fetching) == ([], ["words from PyPI, 25%, 3.0 MB/s"])
    assert said.show(replace(fetching, progress=Progress("loading"))) == ([], ["loading"])


def test_a_session_is_told_unit_by_unit_with_what_was_said_beneath() -> None:
    said = Said()
    units = tuple(record for record in conversation(30) if isinstance(record, UnitRecord))
    talking = Snapshot(
        phase=Phase.TALKING,
        header=header(),
        microphone=StreamState(device="Desk microphone", rate_hz=48_000),
        speaker=StreamState(device="Desk speaker", rate_hz=44_100),
        log=Path("a"),
    )
    assert said.show(talking)[1] == [
        "talking; Ctrl-C stops",
        "microphone: Desk microphone at 48000 Hz, the model hears 16000 Hz; "
        "speaker: Desk speaker at 44100 Hz, the model speaks 24000 Hz",
    ]
    heard: list[str] = []
    for count in (1, 1, 3, 7, len(units)):
        lines = tuple(Line(number, number, "user", "heard", f"words {number}") for number in range(0, min(count, 5)))
        heard += said.show(replace(talking, units=units[:count], figures=measure(units[:count]), lines=lines))[0]
    assert len(heard) == len(units) + 5
    assert "words 0" in heard[1]
    assert "you" in heard[1]
    rows = [line for line in heard if "words" not in line.split("you")[-1] or "|" in line]
    assert [int(row.split()[0]) for row in rows if "|" in row] == [record.index for record in units]


def test_faults_and_messages_are_told_once_each() -> None:
    said = Said()
    record, faults = unit(0), [Fault(index=None, at_ns=0, stage=None, message=f"fault {n}") for n in range(3)]
    snapshot = Snapshot(
        phase=Phase.TALKING,
        units=(record,),
        faults=tuple(faults[:1]),
        figures=measure([record, faults[0]]),
        message="hm",
    )
    assert said.show(snapshot)[1] == ["talking; Ctrl-C stops", "hm", "fault: fault 0"]
    assert said.show(snapshot)[1] == []
    more = replace(snapshot, faults=tuple(faults), figures=measure([record, *faults]))
    assert said.show(more)[1] == ["fault: fault 1", "fault: fault 2"]
    paused = replace(more, phase=Phase.PAUSED, message="the microphone is gone")
    assert said.show(paused)[1] == [
        "paused; devices are looked for again every few seconds",
        "the microphone is gone",
    ]


def test_what_is_open_is_told_with_both_rates_once_and_again_where_it_has_changed() -> None:
    said = Said()
    opened = Snapshot(
        phase=Phase.LOADING,
        microphone=StreamState(device="Headset", rate_hz=16_000),
        speaker=StreamState(device="Headset", rate_hz=16_000),
    )
    assert said.show(opened)[1] == []  # the model's rates are not known yet
    talking = replace(opened, header=header())
    (told,) = said.show(talking)[1]
    assert told.count("16000 Hz") == 3
    assert said.show(replace(talking, units=(unit(0),)))[1] == []
    assert said.show(replace(talking, speaker=StreamState()))[1] == []  # as it is exchanged
    (told,) = said.show(replace(talking, speaker=StreamState(device="Headset", rate_hz=48_000)))[1]
    assert "speaker: Headset at 48000 Hz" in told


def test_another_session_begins_anew() -> None:
    said = Said()
    first = Snapshot(phase=Phase.TALKING, units=(unit(0), unit(1)), figures=measure([unit(0), unit(1)]), log=Path("a"))
    assert len(said.show(first)[0]) == 2
    again = replace(first, units=(unit(0),), figures=measure([unit(0)]), log=Path("b"))
    assert len(said.show(again)[0]) == 1
    said.said.clear()
    said.lines.conclude()
    assert said.said[-1].endswith(" b")


def test_a_recording_that_came_to_an_end_is_named_all_the_same_and_anothers_is_not() -> None:
    said = Said()
    first = Snapshot(phase=Phase.TALKING, log=Path("a"), recording=Path("a.wav"))
    said.show(first)
    said.show(replace(first, recording=None))
    said.said.clear()
    said.lines.conclude()
    assert said.said[-1].endswith(" a.wav")
    said.show(replace(first, log=Path("b"), recording=None))
    said.lines.conclude()
    assert said.said[-1].endswith(" b")


# --- the loop --------------------------------------------------------------------------------------------------------


class Conversation:
    """Goes through what it was told to, a look at a time."""

    def __init__(self, *looks: Snapshot | BaseException) -> None:
        self._looks, self._last = list(looks), Snapshot()
        self.did: list[str] = []

    def snapshot(self) -> Snapshot:
        if self._looks and "close" not in self.did:
            look = self._looks.pop(0)
            if isinstance(look, BaseException):
                raise look
            self._last = look
        return self._last

    def __getattr__(self, command: str) -> Callable[[], None]:
        return lambda: self.did.append(command)


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time passes at once."""
    now_s = [0.0]
    monkeypatch.setattr(time, "sleep", lambda seconds: now_s.__setitem__(0, now_s[0] + seconds))
    monkeypatch.setattr(time, "monotonic", lambda: now_s[0])


@pytest.mark.usefixtures("hurry")
def test_ctrl_c_ends_a_talk_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    talked = Snapshot(phase=Phase.TALKING, units=(unit(0),), figures=measure([unit(0)]), log=Path("s.jsonl"))
    held = Conversation(talked, talked, KeyboardInterrupt())
    assert talk.in_lines(held) == 0  # type: ignore[arg-type]
    assert held.did == ["start", "close"]
    assert "every second finished" in capsys.readouterr().out


@pytest.mark.usefixtures("hurry")
def test_being_told_to_end_ends_it_in_order_and_is_handed_on() -> None:
    held = Conversation(Snapshot(phase=Phase.TALKING), Stopped(signal.SIGTERM))
    with pytest.raises(Stopped):
        talk.in_lines(held)  # type: ignore[arg-type]
    assert held.did == ["start", "close"]


@pytest.mark.usefixtures("hurry")
def test_a_talk_that_cannot_go_on_says_why_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    held = Conversation(Snapshot(phase=Phase.LOADING), Snapshot(phase=Phase.FAILED, message="no weights here"))
    assert talk.in_lines(held) == 1  # type: ignore[arg-type]
    assert "no weights here" in capsys.readouterr().err
    assert held.did == ["start", "close"]


@pytest.mark.usefixtures("hurry")
def test_lost_devices_are_looked_for_every_few_seconds() -> None:
    paused = Snapshot(phase=Phase.PAUSED, message="gone")
    held = Conversation(*[paused] * 120, KeyboardInterrupt())
    talk.in_lines(held)  # type: ignore[arg-type]
    assert held.did.count("rescan") == 2
