"""What a fetch tells whoever waits for it. How that looks is the app's business."""

from typing import Protocol


class Progress(Protocol):
    """Told, from the fetching thread, what happens."""

    def say(self, line: str) -> None:
        """One line that stays."""
        ...

    def begin(self, what: str, total_bytes: int | None = None) -> None:
        """A phase starts, of a known size where it has one."""
        ...

    def at(self, done_bytes: int) -> None:
        """The phase has come so far; called several times a second, mostly also where nothing moved."""
        ...

    def end(self) -> None:
        """The phase is over, well or not."""
        ...


class Quiet:
    """A progress that nobody watches."""

    def say(self, line: str) -> None:
        pass

    def begin(self, what: str, total_bytes: int | None = None) -> None:
        pass

    def at(self, done_bytes: int) -> None:
        pass

    def end(self) -> None:
        pass
