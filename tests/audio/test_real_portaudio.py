"""Real PortAudio on a virtual sound card: every sample is counted, tones come through, a killed server is survived."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.virtual_card import CARD_RATE_HZ, MICROPHONE, SPEAKER, VirtualCard

ROOT = Path(__file__).parents[2]
PATIENCE_S = 30

pytestmark = pytest.mark.audio


class OnCard:
    """`tests.audio.on_card`, running."""

    def __init__(self, card: VirtualCard, *arguments: object) -> None:
        self.folder = card.folder
        command = [sys.executable, "-m", "tests.audio.on_card", str(card.folder), *map(str, arguments)]
        self._process = subprocess.Popen(
            command, env=card.environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def wait_for(self, name: str) -> None:
        end = time.monotonic() + PATIENCE_S
        while not (self.folder / name).exists():
            assert self._process.poll() is None, self._process.communicate()[1]
            assert time.monotonic() < end, f"no {name}"
            time.sleep(0.01)

    def told(self) -> dict[str, Any]:
        out, err = self._process.communicate(timeout=PATIENCE_S)
        assert self._process.returncode == 0, err
        return json.loads(out)

    @property
    def both(self) -> tuple[np.ndarray, np.ndarray]:
        user, agent = np.load(self.folder / "both.npy")
        return user, agent


def tone(seconds: float, hz: float, rate_hz: int, level: float = 0.3) -> np.ndarray:
    return (level * np.sin(2 * np.pi * hz * np.arange(round(seconds * rate_hz)) / rate_hz)).astype(np.float32)


def levels(samples: np.ndarray, hz: float, rate_hz: int, every_s: float = 0.05) -> np.ndarray:
    """Level of a tone in every stretch of the samples."""
    size = round(every_s * rate_hz)
    stretches = samples[: len(samples) // size * size].reshape(-1, size)
    turning = np.exp(-2j * np.pi * hz * np.arange(size) / rate_hz)
    return 2 * np.abs(stretches @ turning) / size


def longest(loud: np.ndarray) -> int:
    """The longest run of true."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], loud.astype(int), [0]])))
    return int(np.max(edges[1::2] - edges[::2], initial=0))


def accounted(told: dict[str, Any], in_hz: int) -> dict[str, int]:
    counts, microphone = told["counts"], told["states"][0]
    placed, unplaced, unread = (counts[f"{name}_frames"] for name in ("placed", "unplaced", "unread"))
    waiting = counts["captured_frames"] - placed - unplaced - unread
    assert 0 <= waiting <= 0.1 * microphone["rate_hz"]  # what came since the last pump
    came = placed * in_hz / microphone["rate_hz"] + counts["filled"] - counts["skipped"]
    assert counts["heard"] == pytest.approx(came, abs=0.035 * in_hz + 2e-3 * counts["heard"])
    return dict(counts)


@pytest.mark.parametrize(("in_hz", "out_hz"), [(16_000, 24_000), (24_000, 48_000), (48_000, 16_000)])
def test_both_ways_at_once_every_sample_is_counted_and_tones_come_through(
    card: VirtualCard, in_hz: int, out_hz: int
) -> None:
    with card.recording() as recording:
        running = OnCard(card, 5, "--rates", in_hz, out_hz)
        running.wait_for("ready")
        said = card.speak(tone(3, 440, CARD_RATE_HZ), CARD_RATE_HZ)
        told = running.told()
        heard = recording.samples
    said.wait()
    counts = accounted(told, in_hz)
    assert counts["unread_frames"] == counts["filled"] == counts["skipped"] == 0
    assert counts["overflows"] == counts["underflows"] == 0
    assert [state["device"] for state in told["states"]] == [MICROPHONE, SPEAKER]
    assert told["chunks"] >= 4
    assert max(told["late_ms"]) <= 20  # chunks are there when they are said to be
    # The user's tone, on the session's clock: three seconds without a hole, at its level and at its pitch.
    user, agent = running.both
    assert len(user) == counts["heard"]
    by_level = levels(user, 440, in_hz)
    assert longest(by_level > 0.28) >= 3 / 0.05 - 4
    # The agent's: two seconds that join, at the speaker and on the canceller's tape.
    assert longest(levels(heard, 1000, CARD_RATE_HZ) > 0.28) >= 2 / 0.05 - 3
    assert longest(levels(agent, 1000, in_hz) > 0.28) >= 2 / 0.05 - 3
    assert told["voice"]["played"] == told["voice"]["pushed"] == 2 * out_hz
    assert told["voice"]["underflows"] == 0


def test_a_flush_is_silent_within_a_block_and_the_card_sounds_no_more_than_callbacks_were_given(
    card: VirtualCard,
) -> None:
    with card.recording() as recording:
        told = OnCard(card, 5, "--flush").told()
        heard = recording.samples
    assert told["left_s"] > 2
    # A block that was being filled, and in the next one the fade; measured: 9.8 to 9.9 ms, the fade alone.
    assert 0 < told["loud_after_ms"] <= 30
    assert told["voice"]["flushed"] == round(told["left_s"] * 24_000)
    loud_s = 0.005 * np.count_nonzero(levels(heard, 2000, CARD_RATE_HZ, every_s=0.005) > 0.15)
    assert 0.5 < loud_s < told["loud_s"] + 0.01


def test_a_killed_server_is_said_and_after_a_rescan_the_sound_goes_on(card: VirtualCard) -> None:
    running = OnCard(card, 3.5, "--rescan")
    running.wait_for("ready")
    said = card.speak(tone(20, 440, CARD_RATE_HZ), CARD_RATE_HZ)
    time.sleep(2.5)
    card.kill()
    killed = time.monotonic()
    running.wait_for("lost")
    assert time.monotonic() - killed < 1
    said.wait()
    card.start()
    (card.folder / "again").touch()
    said = card.speak(tone(3, 440, CARD_RATE_HZ), CARD_RATE_HZ)
    told = running.told()
    said.wait()
    accounted(told, 16_000)
    kinds = [event.split(":")[0] for event in told["events"] if "zeros" not in event]
    assert kinds == ["lost", "lost", "returned"]
    assert told["rescan_s"] < 5
    assert told["counts"]["filled"] > 0
    user, _ = running.both
    loud = levels(user, 440, 16_000) > 0.28
    quiet = np.flatnonzero(~loud)
    assert loud[: quiet[-1]].any()
    assert longest(loud[len(loud) // 2 :]) >= 1 / 0.05  # after it came back
    assert len(user) == told["counts"]["heard"]


def test_ten_starts_and_stops_leave_no_thread_and_no_growing_memory(card: VirtualCard) -> None:
    told = OnCard(card, 0.1, "--starts", 10).told()
    assert told["threads"] == [1] * 10
    assert max(told["close_s"]) < 2
    assert told["rss"][-1] - told["rss"][2] < 4e6
