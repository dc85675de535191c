"""Recorded human speech with its text: prompts for a telephone exchange, from Debian's packages (CC-BY-SA 3.0).

One speaker, 16 kHz, coded with G.722. The packages are downloaded and unpacked into a cache folder; nothing is
installed, and nothing of them is ours to ship.
"""

import gzip
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from G722 import G722
from numpy.typing import NDArray

from engine.models.weights import open_store
from tests.quality.normalise import normalise

RATE_HZ = 16_000
BITS_PER_S = 64_000
PACKAGES = ("asterisk-core-sounds-en", "asterisk-core-sounds-en-g722")  # the texts, the sounds
SHORTEST_S, LONGEST_S = 1, 10
COUNT = 100


class NoRecordings(Exception):
    """The recordings cannot be had on this machine."""


@dataclass(frozen=True)
class Prompt:
    """A recording and what is said in it."""

    name: str
    text: str
    audio: NDArray[np.float32]  # [samples] at 16 kHz


def first_prompts(count: int = COUNT) -> list[Prompt]:
    """The first prompts by name that hold words and last between 1 and 10 seconds.

    Raises:
        NoRecordings: They cannot be had; the text says why.
    """
    prompts = [prompt for prompt, _ in zip(_prompts(_unpacked()), range(count), strict=False)]
    if len(prompts) < count:
        raise NoRecordings(f"the packages hold {len(prompts)} prompts of 1 to 10 s; needed: {count}")
    return prompts


def _prompts(folder: Path) -> Iterator[Prompt]:
    sounds = {file.stem: file for file in folder.glob("usr/share/asterisk/sounds/*/*.g722")}
    for name, text in sorted(_texts(folder)):
        if name not in sounds or not normalise(text):
            continue
        audio = np.array(G722(RATE_HZ, BITS_PER_S).decode(sounds[name].read_bytes()), np.float32) / 32768
        if SHORTEST_S <= len(audio) / RATE_HZ <= LONGEST_S:
            yield Prompt(name, text, audio)


def _texts(folder: Path) -> Iterator[tuple[str, str]]:
    (file,) = folder.glob("usr/share/doc/*/core-sounds-en.txt*")
    lines = (gzip.open if file.suffix == ".gz" else open)(file, "rt", encoding="utf-8", errors="replace")
    with lines:
        for line in lines:
            if match := re.match(r"([\w-]+):\s+(.*\S)", line):
                yield match.group(1), match.group(2)


def _unpacked() -> Path:
    """The folder into which both packages are unpacked; made whole or not at all."""
    folder = open_store().root / "tests" / "asterisk-core-sounds"
    if folder.is_dir():
        return folder
    if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
        raise NoRecordings("no apt-get here; needed: Debian or Ubuntu, whose packages hold the recordings")
    making = folder.with_suffix(".making")
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(parents=True)
    try:
        _run("apt-get", "download", *PACKAGES, folder=making)
    except NoRecordings:  # a fresh machine has no lists of packages yet
        _run("apt-get", "update", folder=making)
        _run("apt-get", "download", *PACKAGES, folder=making)
    for file in making.glob("*.deb"):
        _run("dpkg", "-x", file.name, ".", folder=making)
        file.unlink()
    making.rename(folder)
    return folder


def _run(*command: str, folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise NoRecordings(f"{' '.join(command)} failed: {reason}")
