"""A conversation without a window or a sound card: a recording in, the reply's WAV and the timing log out.

Feeds the session chunk by chunk on its clock. The reply is what a listener would have heard, silence and gaps included,
on a time axis that starts with the session (the arrival of the first chunk). Entered by one thread.
"""

import gc
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from app.audio_file import ReplyFile, SpeechFile
from engine.chunk import Chunk, Chunker
from engine.clock import NS, Clock
from engine.playout import Playout
from engine.session import Session, Unit

# A recording ends, the answer may not have: how many more seconds of silence are fed at most.
PATIENCE_UNITS = 30


class FileSpeaker:
    """Plays the playout into a file, as far as the clock has come.

    Args:
        playout: What the session fills.
        file: Takes the samples; None plays unheard.
    """

    def __init__(self, playout: Playout, file: ReplyFile | None) -> None:
        self._playout, self._file = playout, file
        self._rate_hz = playout.rate_hz
        self._origin_ns: int | None = None
        self._played = 0

    def begin(self, origin_ns: int) -> None:
        """The file's first sample sounds at `origin_ns`."""
        self._origin_ns = origin_ns

    def advance(self, now_ns: int) -> None:
        assert self._origin_ns is not None, "begin first"
        count = (now_ns - self._origin_ns) * self._rate_hz // NS - self._played
        if count <= 0:
            return
        samples = self._playout.read(self._origin_ns + self._played * NS // self._rate_hz, count)
        self._played += count
        if self._file is not None:
            self._file.write(samples)


def hold(
    session: Session,
    recording: SpeechFile,
    speaker: FileSpeaker,
    clock: Clock,
    *,
    on_unit: Callable[[Unit], None],
) -> None:
    """Run the whole recording through the session, and on until the answer has been heard.

    Args:
        session: Fresh, its model prepared.
        recording: The user's side.
        speaker: Plays the agent's side.
        clock: The session's own.
        on_unit: Told of every unit as it is done.
    """
    chunks = _chunks(recording, session)
    first = next(chunks)
    gc.collect()
    gc.freeze()  # what was loaded stays: a collection in a unit need not walk it
    origin_ns = clock.now_ns()
    session.begin(origin_ns)
    speaker.begin(origin_ns)
    quiet_units = 0
    chunk: Chunk | None = first
    while chunk is not None:
        clock.sleep_until_ns(session.arrival_ns(chunk.index))
        unit = session.run_unit(chunk)
        on_unit(unit)
        index = chunk.index + 1
        chunk = next(chunks, None)
        if chunk is None and not session.idle and quiet_units < PATIENCE_UNITS:
            quiet_units += 1
            chunk = _silence(session, index)
        end_ns = session.arrival_ns(index)
    clock.sleep_until_ns(end_ns)
    speaker.advance(end_ns)


def _chunks(recording: SpeechFile, session: Session) -> Iterator[Chunk]:
    rate_hz = session.model.input_rate_hz
    chunker = Chunker(int(rate_hz / session.model.plan.cadence))
    for block in recording.blocks():
        chunker.write(block)
        while (chunk := chunker.take()) is not None:
            yield chunk
    rest = chunker.rest()
    if len(rest.samples):
        whole = np.zeros(int(rate_hz / session.model.plan.cadence), np.float32)
        whole[: len(rest.samples)] = rest.samples
        yield Chunk(rest.index, rest.start_sample, whole)


def _silence(session: Session, index: int) -> Chunk:
    samples = int(session.model.input_rate_hz / session.model.plan.cadence)
    return Chunk(index, index * samples, np.zeros(samples, np.float32))


def session_folder(data: Path, name: str) -> Path:
    """A fresh folder for one session's files, under the user's data."""
    folder = data / "sessions" / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder
