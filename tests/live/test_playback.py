"""A recording is listened to as it was, silence included, without a microphone, until it ends or is stopped."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from app.live.snapshot import Phase, Track
from engine.clock import NS
from engine.errors import BadAudio
from tests.audio.fake_backend import SPEAKER
from tests.live.bench import Bench

RATE_HZ = 24_000


def tone(seconds: float) -> NDArray[np.float32]:
    return (0.3 * np.sin(2 * np.pi * 440 * np.arange(round(seconds * RATE_HZ)) / RATE_HZ)).astype(np.float32)


SPEECH = np.concatenate([tone(1.0), np.zeros(round(0.8 * RATE_HZ), np.float32), tone(1.2)])  # a gap in the middle


def track(name: str = "stock", from_s: float = -1.0) -> Track:
    return Track(name, RATE_HZ, -NS, round(from_s * NS), lambda: iter(np.array_split(SPEECH, 5)))


def loud(bench: Bench) -> NDArray[np.bool_]:
    """What sounded, tenth by tenth of a second, from the first that was not silent to the last."""
    sounded = bench.sounded[: len(bench.sounded) // 4800 * 4800].reshape(-1, 4800)
    heard = np.abs(sounded).max(axis=1) > 0.1
    return np.trim_zeros(heard)


def test_it_sounds_once_with_its_gap_and_no_microphone_is_opened(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    polled = bench.watch(until_s=8)
    bench.conversation.listen(track())
    assert bench.snapshot.listened is not None
    bench.engine.run()
    heard = loud(bench)
    assert 29 <= len(heard) <= 32
    assert not heard[11:17].any()
    assert heard[:10].all()
    assert [stream.hears for stream in bench.backend.streams] == [False]
    assert not bench.backend.open_streams
    assert bench.snapshot.listened is None
    at_ns = [seen.listened.at_ns for _, seen in polled if seen.listened and seen.listened.at_ns is not None]
    assert at_ns == sorted(at_ns)
    assert at_ns[0] == pytest.approx(-NS, abs=NS // 5)
    assert at_ns[-1] == pytest.approx(2 * NS, abs=NS // 10)
    assert all(seen.phase is Phase.IDLE for _, seen in polled)


def test_from_a_later_second_it_is_shorter(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.conversation.listen(track(from_s=0.8))
    bench.engine.run()
    assert 11 <= len(loud(bench)) <= 13


@pytest.mark.parametrize("ended_by", ["stop", "another", "a conversation"])
def test_one_at_a_time(tmp_path: Path, ended_by: str) -> None:
    bench = Bench(tmp_path)
    ends = {
        "stop": lambda: bench.conversation.listen(None),
        "another": lambda: bench.conversation.listen(track("ours")),
        "a conversation": bench.conversation.start,
    }[ended_by]
    names: list[str] = []
    bench.clock.at(1.2, ends)
    bench.clock.at(1.5, lambda: names.append(bench.snapshot.listened.name if bench.snapshot.listened else ""))
    bench.clock.at(9, bench.conversation.stop)
    bench.conversation.listen(track())
    bench.engine.run()
    bench.clock.advance_s(10 - bench.clock.seconds if bench.clock.seconds < 10 else 0)
    assert names == ["ours" if ended_by == "another" else ""]
    assert len(bench.logs) == (ended_by == "a conversation")
    assert not bench.backend.open_streams


def test_while_one_talks_nothing_is_listened_to(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.clock.at(3, lambda: bench.conversation.listen(track()))
    talked = bench.talk(5)
    assert talked.phase is Phase.TALKING
    assert talked.listened is None


def damaged() -> Iterator[NDArray[np.float32]]:
    yield tone(0.5)
    raise BadAudio("reply.wav is damaged after 1 s", "a whole file")


@pytest.mark.parametrize("why", ["damaged", "refused"])
def test_what_cannot_be_heard_is_said(tmp_path: Path, why: str) -> None:
    bench = Bench(tmp_path)
    if why == "refused":
        bench.backend.of(SPEAKER).refuses_rates = frozenset(range(8_000, 96_001))
    bench.conversation.listen(Track("stock", RATE_HZ, 0, 0, damaged))
    bench.engine.run()
    assert bench.snapshot.listened is None
    assert ("damaged" if why == "damaged" else SPEAKER.name) in bench.snapshot.message
    assert not bench.backend.open_streams
