"""A conversation without a window or a sound card: a recording in, the reply's WAV and the timing log out.

Feeds the session chunk by chunk on its clock. The reply is what a listener would have heard, silence and gaps included,
on a time axis that starts with the session (the arrival of the first chunk). Entered by one thread.
"""

import gc
from collections.abc import Callable, Iterator
from itertools import chain

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
) -> bool:
    """Run the whole recording through the session, and on until the answer has been heard.

    Args:
        session: Fresh, its model prepared.
        recording: The user's side.
        speaker: Plays the agent's side.
        clock: The session's own.
        on_unit: Told of every unit as it is done.

    Returns:
        Whether the answer was heard to its end; False where patience ended first.
    """
    chunks = _chunks(recording, session)
    first = next(chunks)
    gc.collect()
    gc.freeze()  # what was loaded stays: a collection in a unit need not walk it
    try:
        origin_ns = clock.now_ns()
        session.begin(origin_ns)
        speaker.begin(origin_ns)
        for chunk in chain([first], chunks, _silence(session)):
            clock.sleep_until_ns(session.arrival_ns(chunk.index))
            on_unit(session.run_unit(chunk))
        end_ns = session.arrival_ns(session.next_index)
        clock.sleep_until_ns(end_ns)
        speaker.advance(end_ns)
    finally:
        gc.unfreeze()
    return session.idle


def _chunks(recording: SpeechFile, session: Session) -> Iterator[Chunk]:
    chunker = Chunker(_chunk_samples(session))
    for block in recording.blocks():
        chunker.write(block)
        while (chunk := chunker.take()) is not None:
            yield chunk
    rest = chunker.rest()
    if len(rest.samples):
        whole = np.zeros(_chunk_samples(session), np.float32)
        whole[: len(rest.samples)] = rest.samples
        yield Chunk(rest.index, rest.start_sample, whole)


def _silence(session: Session) -> Iterator[Chunk]:
    """Seconds of silence, for as long as the session is not done, within reason."""
    samples = np.zeros(_chunk_samples(session), np.float32)
    for _ in range(PATIENCE_UNITS):
        if session.idle:
            return
        yield Chunk(session.next_index, session.next_index * len(samples), samples)


def _chunk_samples(session: Session) -> int:
    return int(session.model.input_rate_hz / session.model.plan.cadence)
