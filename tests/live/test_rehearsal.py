"""Devices are tried without a model; the echo test measures the room, whatever is chosen, or says why it cannot."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from app.audio.state import EchoMode, SoundSettings
from app.live.rehearsal import Look, found
from app.live.snapshot import Listening, Phase, Snapshot, Trial
from app.window import sound_advice
from engine.clock import NS
from tests.audio.fake_backend import MIC, SPEAKER
from tests.live.bench import Bench

SILENT = np.zeros_like


def echoing(seconds: np.ndarray) -> np.ndarray:
    """The room: from a third of a second after a test is asked for it is 40 dB louder, for a second."""
    return np.where((seconds > 10.3) & (seconds < 11.3), 0.1, 0.001)


def tried(bench: Bench, **changes: object) -> Trial:
    """What a trial shows, whose test is asked for after three seconds."""
    bench.settings.change(**changes)
    polled: list[Snapshot] = []
    bench.clock.at(3, bench.conversation.play_test)
    bench.clock.at(6.9, lambda: polled.append(bench.snapshot))
    bench.clock.at(7, lambda: bench.conversation.try_sound(False))
    bench.conversation.try_sound(True)
    bench.engine.run()
    assert polled[0].trial is not None
    return polled[0].trial


def test_devices_are_tried_without_a_model(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.backend.of(MIC).wave = echoing
    polled = bench.watch(until_s=8)
    bench.clock.at(3, bench.conversation.play_test)
    bench.clock.at(7, lambda: bench.conversation.try_sound(False))
    bench.conversation.try_sound(True)
    bench.engine.run()
    shown = [(at, snapshot) for at, snapshot in polled if snapshot.trial is not None]
    assert all(snapshot.phase is Phase.IDLE for _, snapshot in shown)
    assert any(snapshot.microphone.rms > 0.05 for _, snapshot in shown)
    assert any(snapshot.speaker.peak > 0.1 for _, snapshot in shown)
    assert any(snapshot.trial.playing for _, snapshot in shown)  # type: ignore[union-attr]
    heard_db = shown[-1][1].trial.heard_db  # type: ignore[union-attr]
    assert heard_db == pytest.approx(40, abs=3)
    assert bench.snapshot.trial is None
    assert bench.loader.loads == 0
    assert not bench.backend.open_streams


def test_a_conversation_that_starts_ends_the_trial(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.clock.at(2, bench.conversation.start)
    bench.clock.at(6, bench.conversation.stop)
    bench.conversation.try_sound(True)
    bench.engine.run()
    assert bench.units()
    assert bench.snapshot.trial is None


def test_devices_that_cannot_be_tried_are_said(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.backend.of(SPEAKER).refuses_rates = frozenset({48_000, 44_100, 16_000, 24_000, 32_000, 96_000, 22_050, 8_000})
    bench.conversation.try_sound(True)
    bench.engine.run()
    assert bench.snapshot.trial is None
    assert SPEAKER.name in bench.snapshot.message
    assert not bench.backend.open_streams


@pytest.mark.parametrize("echo", EchoMode)
@pytest.mark.parametrize("listening", Listening)
@pytest.mark.parametrize("muted", [False, True])
def test_an_echo_is_found_in_every_mode_muted_or_by_a_key(
    tmp_path: Path, echo: EchoMode, listening: Listening, muted: bool
) -> None:
    bench = Bench(tmp_path)
    bench.backend.of(MIC).wave = echoing
    bench.conversation.mute(muted)
    trial = tried(bench, sound=SoundSettings(echo=echo), listening=listening)
    assert trial.heard_db == pytest.approx(40, abs=3)
    advice = sound_advice.echo(trial, echo, False)
    assert "hears the speaker (40 decibels" in advice.text
    assert advice.echo is (EchoMode.CANCELLER if echo is EchoMode.HEADPHONES else None)


@pytest.mark.parametrize(
    ("prepare", "volume", "says"),
    [
        (lambda bench: bench.clock.at(2, lambda: bench.backend.unplug(SPEAKER)), 1.0, "a device was lost"),
        (lambda bench: bench.clock.at(3.5, lambda: bench.backend.unplug(SPEAKER)), 1.0, "a device was lost"),
        (lambda bench: bench.clock.at(3.5, lambda: bench.backend.unplug(MIC)), 1.0, "a device was lost"),
        (lambda bench: None, 0.0, "its volume is at zero"),
        (lambda bench: setattr(bench.backend.of(MIC), "wave", SILENT), 1.0, "nothing but zeros"),
    ],
)
def test_where_nothing_sounded_or_nothing_could_be_heard_it_says_so_and_advises_nothing(
    tmp_path: Path, prepare: Callable[[Bench], object], volume: float, says: str
) -> None:
    bench = Bench(tmp_path)
    prepare(bench)
    trial = tried(bench, sound=SoundSettings(volume=volume))
    assert trial.heard_db is None
    assert says in trial.untold
    advice = sound_advice.echo(trial, EchoMode.HEADPHONES, False)
    assert says in advice.text
    assert advice.echo is None


def test_a_room_too_loud_for_the_test_is_said_and_a_quiet_one_is_told() -> None:
    def heard(room: float, test: float) -> sound_advice.Advice:
        looks = [Look(second * NS, room if second < 5 else test, 0.1, True) for second in range(10)]
        return sound_advice.echo(found(looks, 5 * NS), EchoMode.HEADPHONES, False)

    assert heard(0.001, 0.001).echo is EchoMode.HEADPHONES
    assert heard(0.1, 0.1).echo is None
    assert "too loud here" in heard(0.1, 0.1).text
    assert heard(0.1, 0.3).echo is EchoMode.CANCELLER


def test_a_test_without_a_look_before_or_after_tells_nothing() -> None:
    look = Look(5 * NS, 0.1, 0.1, True)
    for looks in ([], [look], [Look(4 * NS, 0.1, 0.1, True)]):
        assert found(looks, 5 * NS).untold
