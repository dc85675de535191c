"""A session as it is talked: what the microphone hears goes to the model second by second, until somebody stops it.

Pauses where a device is lost and goes on where it is back; what happens to the sound is in the log. Knows no window and
opens no device. Entered by [engine]; `trouble` by [control].
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.audio.sound import Sound
from app.audio.state import Happening, Side, SoundEvent
from app.live.board import Board
from app.live.calm import Calm
from app.live.equipment import OPEN_S, opens_not
from app.live.growth import Growth
from app.live.snapshot import Phase
from engine.chunk import Chunk
from engine.clock import NS, Clock
from engine.session import Session
from engine.timing import Device, Fault, LogWriter, SessionHeader

ROUND_NS = NS // 100  # between two looks at the microphone
MOST_QUEUED = 8  # chunks that a late engine may let wait


@dataclass(frozen=True)
class Opened:
    """A session that can be talked: its log is open, its devices are too.

    Args:
        session: Fresh.
        log: Takes its lines.
        header: The log's first.
        recording: The file that both sides are recorded to; None where they are not.
    """

    session: Session
    log: LogWriter
    header: SessionHeader
    recording: Path | None = None


class Talk:
    """One session's talk.

    Args:
        opened: The session.
        sound: Open.
        board: Told of what happens.
        clock: The session's.
        calm: Lets garbage be collected between units.
        publish: Takes fields of the snapshot that change.
        check: Raises where the session is to end.
    """

    def __init__(
        self,
        opened: Opened,
        sound: Sound,
        board: Board,
        clock: Clock,
        calm: Calm,
        publish: Callable[..., None],
        check: Callable[[], None],
    ) -> None:
        self.session, self._log = opened.session, opened.log
        self._sound, self._board, self._clock, self._calm = sound, board, clock, calm
        self._publish, self._check = publish, check
        self.origin_ns: int | None = None  # when the first chunk arrived
        self._hears = self._paused = self._returned = False
        self._there_ns = clock.now_ns()  # when both devices were seen last
        self._troubles: deque[str] = deque()
        self._growth = Growth()

    def trouble(self, message: str) -> None:
        """Devices were asked for and could not be had [control]: the session pauses."""
        self._troubles.append(message)

    def fault(self, message: str, at_ns: int | None = None) -> None:
        """Something went wrong, now or at another moment, and the session goes on."""
        at_ns = self._clock.now_ns() if at_ns is None else at_ns
        fault = Fault(index=None, at_ns=self._at(at_ns), stage=None, message=message)
        self._write(fault)
        self._board.fault(fault)

    def run(self) -> None:
        """Talk until `check` raises."""
        model = self.session.model
        self._sound.begin(int(model.input_rate_hz / model.plan.cadence), max_queued=MOST_QUEUED)
        while True:
            self._check()
            self._sound.pump()
            self._hear_of_devices()
            if not self._hears and not self._paused and self._sound.counts.heard:
                self._hears = True  # not before: a microphone's clock takes half a second to be known
                self._publish(phase=Phase.TALKING, progress=None)
            if self._paused:
                self._sound.skip()
            elif chunk := self._sound.take():
                self._unit(chunk)
                continue
            self._clock.sleep_until_ns(self._clock.now_ns() + ROUND_NS)

    def _unit(self, chunk: Chunk) -> None:
        session, board = self.session, self._board
        if self.origin_ns is None:
            self.origin_ns = self._sound.arrival_ns(chunk) - session.arrival_ns(chunk.index)
            session.begin(self.origin_ns)
        if self._returned:
            self._returned = False
            session.resume(chunk.start_sample)
        self._clock.sleep_until_ns(session.arrival_ns(chunk.index))
        board.begin(*self._span(chunk.index), self._clock.now_ns() - self.origin_ns)
        unit = session.run_unit(chunk)
        board.take(unit)
        board.wait_for(*self._span(session.next_index))
        if board.told.figures and (message := self._growth.grown(board.told.figures)):
            self.fault(message)
        self._calm.collect()

    def _span(self, index: int) -> tuple[int, int, int]:
        """A unit's number, arrival and deadline, in the session's time."""
        assert self.origin_ns is not None, "a unit has begun"
        arrival_ns, deadline_ns = (self.session.arrival_ns(number) - self.origin_ns for number in (index, index + 1))
        return index, arrival_ns, deadline_ns

    def _hear_of_devices(self) -> None:
        for event in self._sound.events():
            match event.kind:
                case Happening.LOST:
                    self._note(event)
                    self._pause(event.message)
                case Happening.FAULT:
                    self.fault(_about(event), event.at_ns)
                case Happening.WARNING | Happening.RETURNED:
                    self._note(event)
        while self._troubles:
            message = self._troubles.popleft()
            self._write(Device(at_ns=self._at(self._clock.now_ns()), name="sound", message=message))
            self._pause(message)
        now_ns = self._clock.now_ns()
        if self._is_there():
            self._there_ns = now_ns
            if self._paused:
                self._go_on()
        elif not self._paused and now_ns - self._there_ns > OPEN_S * NS:
            self.trouble(str(opens_not()))

    def _pause(self, message: str) -> None:
        if not self._paused:
            self._paused = True
            self.session.interrupt()  # whatever was being said is not heard any more
            self._board.rest()
        self._publish(phase=Phase.PAUSED, message=message)

    def _go_on(self) -> None:
        self._paused, self._returned = False, True
        self._sound.skip()
        self._publish(phase=Phase.TALKING, message="")

    def _is_there(self) -> bool:
        return all(stream.device and not stream.lost for stream in (self._sound.microphone, self._sound.speaker))

    def _note(self, event: SoundEvent) -> None:
        stream = self._sound.speaker if event.side is Side.SPEAKER else self._sound.microphone
        name = stream.device if event.side and stream.device else str(event.side or "sound")
        self._write(Device(at_ns=self._at(event.at_ns), name=name, message=event.message))

    def _write(self, record: Any) -> None:
        self._log.write(record)

    def _at(self, at_ns: int) -> int:
        return at_ns - (self.origin_ns if self.origin_ns is not None else at_ns)


def _about(event: SoundEvent) -> str:
    return f"{event.side}: {event.message}" if event.side else event.message
