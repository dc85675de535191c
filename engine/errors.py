"""The errors a user can meet, each one line: what came, what was needed, what to do.

Knows nothing of any stage or device. Asserts are for our own invariants; these are for everyone else's.
"""


class CadenceError(Exception):
    """Something failed that its reader can mend.

    Args:
        came: What was received or happened ("clip.wav holds 0 samples").
        needed: What would have been right ("at least 0.1 s of audio"); may be empty.
        remedy: What the reader can do about it ("record it again"); may be empty.
    """

    exit_code = 1

    def __init__(self, came: str, needed: str = "", remedy: str = "") -> None:
        self.came, self.needed, self.remedy = came, needed, remedy
        parts = [came, f"needed: {needed}" if needed else "", remedy]
        super().__init__("; ".join(part for part in parts if part))


class AskedWrongly(CadenceError):
    """The command, argument or file that was named cannot be used: the asker must ask otherwise."""

    exit_code = 2


class BadAudio(AskedWrongly):
    """An audio file that cannot be read or holds nothing to hear."""


class BadLog(AskedWrongly):
    """A timing log that cannot be read."""


class MissingPart(CadenceError):
    """An optional part of the program, or a device that it would drive, is not on this machine."""


class MissingWeights(CadenceError):
    """Weights that a model needs are not on this machine."""


class BadWeights(CadenceError):
    """Weights are there, but corrupt, of another hash, or of another shape."""


class NoRoom(CadenceError):
    """A disk, a folder or a memory cannot hold what must go there."""


class UnboundedState(CadenceError):
    """A timeline's state would grow without a bound: the session must declare one."""
