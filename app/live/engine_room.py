"""What the engine's thread does for a conversation: from settings to a session that is over, and trying devices.

Work goes on while its ticket is the last one drawn (`standing`). Knows no window. Entered by [engine]; attributes are
read by any thread.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from app.audio.sound import Sound
from app.live.board import Board, WatchedRuntime
from app.live.calm import Calm
from app.live.ears import Ears
from app.live.equipment import OPEN_S, Equipment, Opening, opens_not
from app.live.loading import Loader
from app.live.playback import Playback
from app.live.rehearsal import INPUT_HZ, OUTPUT_HZ, Rehearsal
from app.live.sessions import session_folder
from app.live.settings import Settings
from app.live.snapshot import Phase, Progress, Track
from app.live.standing import Halted, Standing
from app.live.talking import Opened, Talk
from engine.clock import NS, Clock
from engine.errors import CadenceError
from engine.models.registry import Built
from engine.runtime import Runtime

CLOSE_S = 1.0  # that closing devices may take before it goes on without
WAIT_NS = NS // 100


class OpenSession(Protocol):
    """Puts a session together, and closes its log when it ends, however it ends."""

    def __call__(
        self,
        built: Built,
        sound: Sound,
        settings: Settings,
        folder: Path,
        *,
        watch: Callable[[Runtime], Runtime],
        lose: Callable[..., None],
    ) -> AbstractContextManager[Opened]: ...


@dataclass(frozen=True)
class Makes:
    """What the engine makes a conversation of.

    Args:
        clock: The session's.
        sound: The sound for a model's rates: what it hears, what it speaks.
        loader: Models.
        session: Sessions.
        sessions: The folder of all sessions.
        calm: Keeps the interpreter quiet.
    """

    clock: Clock
    sound: Callable[[int, int], Sound]
    loader: Loader
    session: OpenSession
    sessions: Path
    calm: Calm


class EngineRoom:
    """The work, and what is known of it.

    Args:
        makes: What a conversation is made of.
        standing: Where it stands.
        equipment: Its devices.
        ears: When the microphone is heard.

    Attributes:
        board: What the last session has told.
        talk: The session that is talked; None where none is.
        opened: Its log and header.
        rehearsal: The trial of the devices; None where there is none.
        playback: The recording that sounds; None where none does.
    """

    def __init__(self, makes: Makes, standing: Standing, equipment: Equipment, ears: Ears) -> None:
        self._makes, self._standing, self._equipment, self._ears = makes, standing, equipment, ears
        self.board = Board()
        self.talk: Talk | None = None
        self.opened: Opened | None = None
        self.rehearsal: Rehearsal | None = None
        self.playback: Playback | None = None

    def converse(self, settings: Settings, ticket: int) -> None:
        """Make a model ready, open the devices, and talk until the ticket is an old one."""
        publish, check = partial(self._standing.publish, ticket), partial(self._standing.check, ticket)
        self._makes.calm.begin()
        try:
            check()
            built = self._makes.loader.ready(
                settings.model,
                settings.runtime,
                lambda phase, progress: publish(phase=phase, progress=progress),
                check,
            )
            check()
            self._makes.calm.settle()
            publish(phase=Phase.LOADING, progress=Progress("opening the microphone and the speaker"))
            with self._sounding(settings, built.model.input_rate_hz, built.model.output_rate_hz, check) as sound:
                self._hold_session(built, sound, settings, publish, check)
        except Halted:
            pass
        except CadenceError as error:
            publish(phase=Phase.FAILED, progress=None, message=str(error))
        except Exception as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            publish(phase=Phase.FAILED, progress=None, message=f"an error in the program ended it ({reason})")
            raise  # for whoever collects errors; the log is closed
        finally:
            self._makes.calm.end()

    def rehearse(self, settings: Settings, ticket: int) -> None:
        """Try the devices that settings name until the ticket is an old one."""
        publish, check = partial(self._standing.publish, ticket), partial(self._standing.check, ticket)
        try:
            with self._sounding(settings, INPUT_HZ, OUTPUT_HZ, check) as sound:
                self.rehearsal = Rehearsal(sound, self._makes.clock, publish, check)
                self.rehearsal.run()
        except Halted:
            pass
        except CadenceError as error:
            publish(trial=None, message=str(error))
        finally:
            self.rehearsal = None

    def listen(self, track: Track, settings: Settings, ticket: int) -> None:
        """Let a recording sound to its end, or until the ticket is an old one."""
        publish, check = partial(self._standing.publish, ticket), partial(self._standing.check, ticket)
        try:
            with self._sounding(settings, 0, track.rate_hz, check) as sound:
                self.playback = Playback(sound, track, self._makes.clock, check)
                self.playback.run()
            publish(listened=None)
        except Halted:
            pass
        except CadenceError as error:
            publish(listened=None, message=str(error))
        finally:
            self.playback = None

    def _hold_session(
        self,
        built: Built,
        sound: Sound,
        settings: Settings,
        publish: Callable[..., None],
        check: Callable[[], None],
    ) -> None:
        makes, board = self._makes, Board()

        def watch(runtime: Runtime) -> Runtime:
            return WatchedRuntime(runtime, board, makes.clock, check)

        def lose(line: str, **changes: Any) -> None:
            publish(**changes)
            talk.fault(line)

        with (
            session_folder(makes.sessions, self._standing.let_go) as folder,
            makes.session(built, sound, settings, folder, watch=watch, lose=lose) as opened,
        ):
            talk = Talk(opened, sound, board, makes.clock, makes.calm, publish, check)
            self.board, self.talk, self.opened = board, talk, opened
            self._equipment.trouble = talk.trouble
            kept: dict[str, Any] = {"log": opened.log.path, "recording": opened.recording}
            publish(header=opened.header, **kept)
            try:
                talk.run()
            except Halted:
                opened.log.close("stopped")
                raise
            finally:
                self._equipment.trouble = self.talk = self.opened = None

    @contextmanager
    def _sounding(
        self, settings: Settings, input_hz: int, output_hz: int, check: Callable[[], None]
    ) -> Iterator[Sound]:
        """Devices, open for as long as the block lasts."""
        sound = self._makes.sound(input_hz, output_hz)
        self._ears.adopt(sound, settings.listening)
        opening = self._equipment.open(sound, settings.sound)
        try:
            self._await(opening, OPEN_S, check)
            yield sound
        except _TooLong:
            raise opens_not() from None
        finally:
            opening.cancel()  # one that has not begun is not wanted any more
            self._ears.adopt(None, settings.listening)
            with suppress(_TooLong):
                self._await(self._equipment.close(sound), CLOSE_S)

    def _await(self, opening: Opening, most_s: float, check: Callable[[], None] = lambda: None) -> None:
        limit_ns = self._makes.clock.now_ns() + round(most_s * NS)
        while not opening.done():
            check()
            if self._makes.clock.now_ns() >= limit_ns:
                raise _TooLong
            self._makes.clock.sleep_until_ns(self._makes.clock.now_ns() + WAIT_NS)
        opening.result()


class _TooLong(Exception):
    """Devices were not opened or closed in time."""
