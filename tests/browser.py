"""A real browser, headless, driven through its debugging pipe: Debian's Chromium. Skipped aloud where there is none.

Where CI runs, a missing browser is a failure.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--mute-audio",
    "--disable-background-networking", "--disable-component-update", "--autoplay-policy=no-user-gesture-required",
    "--remote-debugging-pipe", "about:blank",
)  # fmt: skip


class Page:
    """One page of it.

    Attributes:
        requests: The addresses that the page asked for, in order.
        complaints: What the browser had to say against it.
    """

    def __init__(self, asking: int, telling: int) -> None:
        self._asking, self._telling = asking, telling
        self._rest, self._number, self._session = b"", 0, ""
        self.requests: list[str] = []
        self.complaints: list[str] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call the browser, and hear all that it tells meanwhile."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._asking, json.dumps(message).encode() + b"\0")
        while (told := self._next()).get("id") != self._number:
            self._note(told)
        assert "error" not in told, told
        result: dict[str, Any] = told["result"]
        return result

    def open(self, path: Path) -> None:
        """Open a file, and wait until it is there with all that is in it."""
        self.ask("Page.navigate", url=path.as_uri())
        self.run(
            "document.readyState === 'complete' || new Promise(done => addEventListener('load', () => done(true)))"
        )

    def run(self, code: str) -> Any:
        """The value of an expression in the page; a promise is waited for."""
        found = self.ask("Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True, userGesture=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = os.read(self._telling, 1 << 16)
            assert more, "the browser has gone"
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\0")
        told: dict[str, Any] = json.loads(line)
        return told

    def _note(self, told: dict[str, Any]) -> None:
        match told.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(told["params"]["request"]["url"])
            case "Runtime.exceptionThrown" | "Log.entryAdded":
                self.complaints.append(json.dumps(told["params"]))


@contextmanager
def opened(profile: Path) -> Iterator[Page]:
    """A browser with one page, closed when the block ends.

    Args:
        profile: A folder for what it keeps.
    """
    program = next((found for name in NAMES if (found := shutil.which(name))), None)
    if program is None:
        said = "no Chromium here: apt-get install chromium"
        pytest.fail(said, pytrace=False) if os.environ.get("CI") else pytest.skip(said)
    theirs_in, asking = os.pipe()
    telling, theirs_out = os.pipe()

    browser = subprocess.Popen(
        # The browser reads from 3 and writes to 4.
        [
            "bash",
            "-c",
            f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}',
            "bash",
            program,
            f"--user-data-dir={profile}",
            *OPTIONS,
        ],
        pass_fds=(theirs_in, theirs_out),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs_in)
    os.close(theirs_out)
    try:
        yield Page(asking, telling)
    finally:
        browser.kill()
        browser.wait()
        os.close(asking)
        os.close(telling)
