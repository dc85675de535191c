"""What the model hears: the microphone's samples, kept to the session's clock, cleaned, and cut into chunks.

From the tape each block is placed on the session's grid, freed of the agent's echo, silenced while the microphone is
closed, and written to the chunks. Where the microphone is gone silence stands for it, so that the grid goes on. Every
sample is counted. Knows no backend and no model. Entered by [engine]; `gate` is set by any thread.
"""

from collections.abc import Callable

import numpy as np

from app.audio.capture import Microphone
from app.audio.echo import Canceller
from app.audio.gate import Gate
from app.audio.grid import Grid
from app.audio.opening import BLOCK_S
from app.audio.reference import Reference
from app.audio.resampler import hold_ns
from app.audio.speaker import Speaker
from app.audio.state import EchoMode, SoundCounts
from app.audio.steady import Steady
from app.audio.tape import Block
from app.audio.voice import Voice
from app.audio.watchdog import LEAST_NS
from engine.chunk import Chunk, Chunker
from engine.clock import NS, Clock
from engine.ring import Samples

Tap = Callable[[Samples, Samples], None]
"""Told of both sides of a stretch of time: what the model hears, and what the speaker sounded; float32 [samples]."""

ROOM_NS = 250_000_000  # how long a room goes on sounding after the speaker, for half-duplex
SLACK_NS = 20_000_000  # for the thread that pumps: a round of it


class Hearing:
    """The way from a microphone to chunks.

    Args:
        rate_hz: That the model hears.
        clock: The session's.
        voice: What half-duplex asks whether the agent sounds.
    """

    def __init__(self, rate_hz: int, clock: Clock, voice: Voice) -> None:
        self.rate_hz, self._clock, self._voice = rate_hz, clock, voice
        self.gate = Gate()
        self.tap: Tap | None = None
        self._echo: tuple[EchoMode, Canceller | None] = (EchoMode.HEADPHONES, None)  # [any] replaced whole
        self._canceller: Canceller | None = None  # [engine] what the last samples went through
        self._microphone: Microphone | None = None
        self._chunker: Chunker | None = None
        self._grid: Grid | None = None
        self._steady: Steady | None = None
        self._reference: Reference | None = None
        self._wait_ns = 0  # from when a sample is in hand until a chunk that ends with it can be taken
        self._counts = SoundCounts()  # of microphones that have been exchanged, and of this room
        self._before = SoundCounts()  # the microphone's, before the session

    def begin(self, chunk_samples: int, first_chunk_samples: int | None, max_queued: int) -> None:
        """A session begins with the next sample."""
        self._chunker = Chunker(chunk_samples, first_chunk_samples, max_queued)
        self._grid = self._steady = self._reference = None
        self._counts, self._before = SoundCounts(), _of(self._microphone)

    def pump(self, microphone: Microphone | None, speaker: Speaker | None, *, lost: bool) -> int:
        """Take in what was heard.

        Args:
            microphone: That hears now.
            speaker: That sounds now.
            lost: Whether the microphone is known to be gone.

        Returns:
            For how long samples were found missing, in nanoseconds.
        """
        if microphone is not self._microphone:
            self._exchange(microphone)
        if self._reference and microphone:
            self._reference.feed(speaker, microphone.lag_ns)
        elif speaker:
            for _ in speaker.tape.blocks():
                pass  # its clock's line is still to be drawn
        missing_ns = 0
        if microphone is not None:
            line = microphone.tape.line
            for block in microphone.tape.blocks():
                missing_ns += abs(block.step_ns)
                if self._chunker is None or not line.settled:
                    self._counts += SoundCounts(unplaced_frames=len(block.samples))
                    continue
                if self._grid is None:
                    self._lay_grid(microphone, block.position)
                self._place(microphone, block, line.time_ns(block.position))
                self._counts += SoundCounts(placed_frames=len(block.samples))
            if lost:
                microphone.tape.forget_clock()
        self._stand_in(microphone, lost=lost)
        return missing_ns

    def set_echo(self, mode: EchoMode) -> None:
        """Change what keeps the agent from hearing itself [any]; a canceller at work goes on with what it knows.

        Raises:
            CadenceError: There is no canceller.
        """
        if mode is not self.echo:
            self._echo = (mode, Canceller(self.rate_hz) if mode is EchoMode.CANCELLER else None)

    @property
    def echo(self) -> EchoMode:
        """What keeps the agent from hearing itself [any]."""
        return self._echo[0]

    def take(self) -> Chunk | None:
        """The oldest whole chunk, or None."""
        return self._chunker.take() if self._chunker else None

    def arrival_ns(self, chunk: Chunk) -> int:
        """When a chunk can be taken, by the session's clock."""
        assert self._grid is not None, "there is no chunk without a grid"
        return self._grid.time_ns(chunk.start_sample + len(chunk.samples)) + self._wait_ns

    @property
    def counts(self) -> SoundCounts:
        """Where every sample went; what the speaker counts is not in it."""
        return self._counts + _of(self._microphone) + _placed(self._steady) - self._before

    def _lay_grid(self, microphone: Microphone, position: int) -> None:
        line = microphone.tape.line
        self._grid = Grid(round(line.time_ns(position)), self.rate_hz)
        self._reference = Reference(self._grid)
        self._steady = Steady(microphone.rate_hz, self.rate_hz)
        held_ns = hold_ns(microphone.rate_hz, self.rate_hz)
        self._wait_ns = round(BLOCK_S * NS) + line.worst_ns + held_ns + SLACK_NS

    def _exchange(self, microphone: Microphone | None) -> None:
        """Go on with another microphone; the grid stays."""
        steady = self._steady
        if steady is not None:
            start = steady.position
            self._hand_on(steady.finish(), start, self._microphone)
        self._counts = self.counts - SoundCounts(heard=steady.position if steady else 0)
        self._before = _of(microphone)
        self._microphone = microphone
        if steady is not None:
            rate_hz = microphone.rate_hz if microphone else self.rate_hz
            self._steady = Steady(rate_hz, self.rate_hz, position=steady.position)

    def _place(self, microphone: Microphone, block: Block, in_hand_ns: float) -> None:
        assert self._grid is not None, "laid before"
        assert self._steady is not None, "with the grid"
        at = self._grid.position(in_hand_ns)
        self._fill(int(at) - self.rate_hz, microphone)  # an hour's hole is not one block
        start = self._steady.position
        drift = microphone.tape.line.drift
        self._hand_on(self._steady.place(block.samples, at, drift, afresh=block.step_ns != 0), start, microphone)

    def _stand_in(self, microphone: Microphone | None, *, lost: bool) -> None:
        """Silence where nothing comes that could be placed: chunks are there when they are said to be all the same."""
        if self._grid is None:
            return
        if lost:
            behind_ns = LEAST_NS  # so far that a microphone that comes back of itself finds its place free
        elif microphone is None or not microphone.tape.line.settled:
            behind_ns = self._wait_ns - SLACK_NS
        else:
            return
        self._fill(int(self._grid.position(self._clock.now_ns() - behind_ns)), microphone)

    def _fill(self, position: int, microphone: Microphone | None) -> None:
        assert self._steady is not None, "with the grid"
        while (start := self._steady.position) < position:
            self._hand_on(self._steady.fill_to(min(position, start + self.rate_hz)), start, microphone)

    def _hand_on(self, samples: Samples, start: int, microphone: Microphone | None) -> None:
        """Samples of the session, in order and without a break."""
        if not len(samples) or self._grid is None or self._reference is None or self._chunker is None:
            return
        sounded = self._reference.take(start, len(samples))
        mode, canceller = self._echo
        if canceller is not self._canceller:
            held = self._canceller.delay if self._canceller else 0
            self._counts += SoundCounts(left_in_canceller=held)
            self._canceller = canceller
        if canceller is not None:
            samples = canceller.process(samples, sounded)
        in_air_ns = self._grid.time_ns(start) - (microphone.lag_ns if microphone else 0)
        closed = self.gate.apply(samples, in_air_ns, self.rate_hz)
        if mode is EchoMode.HALF_DUPLEX:
            end_ns = in_air_ns + len(samples) * NS // self.rate_hz
            if self._voice.sounding(in_air_ns - ROOM_NS, end_ns):
                samples, closed = np.zeros_like(samples), len(samples)
        if closed:
            self._counts += SoundCounts(closed=closed)
        self._chunker.write(samples)
        if self.tap is not None:
            self.tap(samples, sounded)


def _of(microphone: Microphone | None) -> SoundCounts:
    if microphone is None:
        return SoundCounts()
    tape = microphone.tape
    return SoundCounts(
        captured_frames=tape.written_frames,
        unread_frames=tape.unread_frames,
        not_finite=tape.not_finite,
        overflows=microphone.flags,
    )


def _placed(steady: Steady | None) -> SoundCounts:
    if steady is None:
        return SoundCounts()
    return SoundCounts(heard=steady.position, filled=steady.filled, skipped=steady.skipped)
