"""The devices of a conversation: looked for, opened, exchanged and closed by one thread, which a driver may hold up.

Every other thread only asks for it. Knows no session. Operations are done by [control] in the order in which they were
asked for, so that the library is never started over beneath an open stream.
"""

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress

from app.audio.backend import Backend
from app.audio.devices import Devices
from app.audio.sound import Sound
from app.audio.state import SoundSettings
from app.live.worker import Worker
from engine.errors import CadenceError

Opening = Future[None]

OPEN_S = 10.0  # that opening devices may take: a wireless headset changes its ways in two or three


def opens_not() -> CadenceError:
    """What is said where it takes longer."""
    return CadenceError(
        f"the sound driver has not opened its devices within {OPEN_S:g} s",
        "",
        "connect them anew or choose others; where that does not help, end the program and start it anew",
    )


class Equipment:
    """Devices, and what is open of them.

    Args:
        backend: The sound library.
        control: The thread.
        say: Takes one line for the user; an empty one takes back what was said.

    Attributes:
        devices: What there is, as of the last look.
        sound: What is open; None where nothing is.
        trouble: Told in place of `say` while a session talks.
    """

    def __init__(self, backend: Backend, control: Worker, say: Callable[[str], None]) -> None:
        self._backend, self._control, self._say = backend, control, say
        self._asked = SoundSettings()  # [control] what `sound` was last asked for
        self.devices = Devices()
        self.sound: Sound | None = None
        self.trouble: Callable[[str], None] | None = None

    def look(self) -> None:
        """See what there is; the library is started by it."""
        self._control.post(self._look)

    def open(self, sound: Sound, settings: SoundSettings) -> Opening:
        """Open what settings name; what fails is the result's. Cancelled before it begins, it opens nothing."""

        def do() -> None:
            self.sound, self._asked = sound, settings
            sound.open(settings)
            self._look()

        return self._control.call(do)

    def close(self, sound: Sound) -> Opening:
        """Close what was opened; of a driver that hangs the user is told."""

        def do() -> None:
            line = sound.close()
            if self.sound is sound:
                self.sound = None
            if line:
                self._say(line)

        return self._control.call(do)

    def apply(self, settings: SoundSettings) -> None:
        """Bring what is open to what settings name now."""
        self._control.post(lambda: self._apply(settings))

    def rescan(self) -> None:
        """Let the library look again, and open what is there now."""
        self._control.post(lambda: self._try(self._rescan))

    def _look(self) -> None:
        with suppress(CadenceError):  # who wants to talk is told then
            self.devices = self._backend.devices()

    def _apply(self, now: SoundSettings) -> None:
        before, sound = self._asked, self.sound
        if sound is None:
            return
        self._asked = now
        sound.set_volume(now.volume)
        if before.echo is not now.echo:
            sound.set_echo(now.echo)
        chosen = [(each.microphone, each.speaker, each.output_latency_s) for each in (before, now)]
        if chosen[0] != chosen[1]:
            self._try(lambda: sound.open(now))
            self._look()

    def _rescan(self) -> None:
        if self.sound is not None:
            self.devices = self.sound.rescan(self._asked)
        else:
            self._backend.start_over()
            self.devices = self._backend.devices()

    def _try(self, do: Callable[[], None]) -> None:
        """What fails pauses a session that talks, or is said until it works."""
        try:
            do()
        except CadenceError as error:
            (self.trouble or self._say)(str(error))
        else:
            self._say("")
