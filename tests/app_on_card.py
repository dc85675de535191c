"""The real app as a process of its own on a virtual sound card, in folders of its own; what it says, as it says it."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from app.live.sessions import LOG, RECORDING, PastSession, Sessions
from app.live.settings import SettingsFile
from engine.models import weights
from tests.virtual_card import VirtualCard

ROOT = Path(__file__).parents[1]
PATIENCE_S = 60.0


class AppOnCard:
    """`python -m app talk`, running; ended by `end`, or as the block ends.

    Args:
        card: It hears and sounds there.
        arguments: Of `talk`.
        module: What is run in place of the app alone.
        environment: More of it.
    """

    def __init__(
        self,
        card: VirtualCard,
        *arguments: str,
        module: Sequence[str] = ("app", "talk"),
        environment: dict[str, str] | None = None,
    ) -> None:
        self._data = card.folder / "data"
        SettingsFile(card.folder / "duplexcadence" / "settings.json").change(first_start_done=True)
        more = {"XDG_DATA_HOME": str(self._data), "DUPLEXCADENCE_CACHE": str(weights.open_store().root)}
        self.began_s = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-m", *module, *arguments],
            env={**card.environment, **more, **(environment or {})},
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[tuple[float, str]] = []  # seconds since the start, and what was said
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> "AppOnCard":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join()
        if self.process.stdout is not None:
            self.process.stdout.close()

    def wait_for(self, text: str, within_s: float = PATIENCE_S, after: int = 0) -> float:
        """Wait until a line holds `text`; returns when that was, in seconds since the start.

        Args:
            text: What is waited for.
            within_s: How long.
            after: How many lines do not count.
        """
        end = time.monotonic() + within_s
        while True:
            for at_s, line in list(self.lines)[after:]:
                if text in line:
                    return at_s
            ended = self.process.poll() is not None and not self._reader.is_alive()
            assert not ended, f"it ended without saying '{text}':\n{self.said}"
            assert time.monotonic() < end, f"it did not say '{text}' within {within_s:g} s:\n{self.said}"
            time.sleep(0.02)

    def end(self, number: int = signal.SIGINT, within_s: float = 10.0) -> int:
        """Tell it to end, and wait until it has; returns its exit code."""
        if self.process.poll() is None:
            os.kill(self.process.pid, number)
        code = self.process.wait(within_s)
        self._reader.join()
        return code

    @property
    def said(self) -> str:
        """All lines."""
        return "\n".join(f"{at_s:6.2f} {line}" for at_s, line in list(self.lines))

    @property
    def sessions(self) -> list[PastSession]:
        """What it left, as its own list tells it; the newest first."""
        return Sessions(self._data / "duplexcadence" / "sessions").list()

    @property
    def log(self) -> Path:
        """The newest session's log."""
        return self.sessions[0].folder / LOG

    @property
    def recording(self) -> Path:
        """Both sides of the newest session."""
        return self.sessions[0].folder / RECORDING

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append((time.monotonic() - self.began_s, line.rstrip("\n")))
