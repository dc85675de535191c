"""A sound card made of nothing: a PulseAudio of its own with a microphone to speak into and a speaker to listen to.

Real PortAudio lists both, through ALSA's plugin, once a process's environment names this daemon: so the program under
test runs in a process of its own, with `VirtualCard.environment`. Everything is in one folder and ends by its id.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

CARD_RATE_HZ = 48_000
MICROPHONE, SPEAKER = "vmic", "vspk"
NEEDED = ("pulseaudio", "pactl", "paplay", "parec")
START_S = 15.0  # a daemon's start on a machine that is busy with other tests

# Without `norewinds` a stream that both hears and sounds delivers a tenth of its audio.
MODULES = (
    "module-native-protocol-unix auth-anonymous=1 socket={socket}",
    f"module-null-sink sink_name=into_microphone rate={CARD_RATE_HZ} channels=2 norewinds=1",
    f"module-null-sink sink_name={SPEAKER} rate={CARD_RATE_HZ} channels=2 norewinds=1",
    f"module-remap-source source_name={MICROPHONE} master=into_microphone.monitor channels=1 channel_map=mono"
    " master_channel_map=front-left remix=no",
)
PCM = 'pcm.{name} {{ type pulse device {device} hint {{ show on description "{name}" }} }}\n'


class VirtualCard:
    """The daemon, and both ends of its two cables.

    Args:
        folder: Its own; short, since a socket's path is.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._socket = folder / "native"
        self._daemon: subprocess.Popen[bytes] | None = None
        (folder / "asoundrc").write_text(
            PCM.format(name=MICROPHONE, device=MICROPHONE)
            + PCM.format(name=SPEAKER, device=SPEAKER)
            + "pcm.!default { type pulse }\nctl.!default { type pulse }\n"
        )
        (folder / ".asoundrc").symlink_to(folder / "asoundrc")

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs to find this card and no other."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PULSE_", "ALSA_"))}
        return {
            **kept,
            "HOME": str(self.folder),
            "XDG_RUNTIME_DIR": str(self.folder),
            "XDG_CONFIG_HOME": str(self.folder),
            "PULSE_RUNTIME_PATH": str(self.folder),
            "PULSE_SERVER": f"unix:{self._socket}",
        }

    def start(self) -> Self:
        """Start the daemon, and wait until it answers."""
        log = (self.folder / "pulseaudio.log").open("ab")
        arguments = ["--daemonize=no", "-n", "--use-pid-file=no", "--exit-idle-time=-1", "--disallow-exit=no"]
        arguments += ["--log-target=stderr", "--log-level=notice"]
        arguments += [f"--load={module.format(socket=self._socket)}" for module in MODULES]
        with log:
            self._daemon = subprocess.Popen(
                ["pulseaudio", *arguments], env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        end = time.monotonic() + START_S
        while MICROPHONE not in self._pactl("list", "short", "sources"):
            if self._daemon.poll() is not None or time.monotonic() > end:
                said = (self.folder / "pulseaudio.log").read_text(errors="replace").strip().splitlines()[-3:]
                self.kill()
                raise RuntimeError(f"pulseaudio does not start: {' / '.join(said)}")
            time.sleep(0.05)
        self._pactl("set-default-sink", SPEAKER)
        self._pactl("set-default-source", MICROPHONE)
        return self

    def kill(self) -> None:
        """End the daemon at once, as a pulled plug would."""
        if self._daemon is not None:
            self._daemon.kill()
            self._daemon.wait()
            self._daemon = None
        with suppress(FileNotFoundError):
            self._socket.unlink()

    def play(self, wav: Path) -> "subprocess.Popen[bytes]":
        """Speak a WAV file into the microphone; wait for the process to wait until it has been said."""
        return subprocess.Popen(["paplay", "--device=into_microphone", str(wav)], env=self.environment)

    def speak(self, samples: NDArray[np.float32], rate_hz: int) -> "subprocess.Popen[bytes]":
        """Speak samples into the microphone."""
        wav = self.folder / f"said_{time.monotonic_ns()}.wav"
        soundfile.write(wav, samples, rate_hz, subtype="FLOAT")
        return self.play(wav)

    @contextmanager
    def recording(self, rate_hz: int = CARD_RATE_HZ, source: str = f"{SPEAKER}.monitor") -> Iterator["Recording"]:
        """Listen to the speaker while the block runs; read the samples afterwards."""
        raw = self.folder / f"heard_{time.monotonic_ns()}.raw"
        arguments = [f"--device={source}", "--format=float32le", f"--rate={rate_hz}", "--channels=1", "--raw"]
        with raw.open("wb") as file:
            recorder = subprocess.Popen(
                ["parec", *arguments, "--latency-msec=20"], env=self.environment, stdout=file, stderr=subprocess.DEVNULL
            )
        try:
            yield Recording(raw, rate_hz)
        finally:
            recorder.terminate()
            recorder.wait()

    def _pactl(self, *arguments: str) -> str:
        done = subprocess.run(["pactl", *arguments], env=self.environment, capture_output=True, text=True, check=False)
        return done.stdout


class Recording:
    """What the speaker has sounded so far.

    Args:
        raw: float32 mono.
        rate_hz: Samples a second.
    """

    def __init__(self, raw: Path, rate_hz: int) -> None:
        self._raw, self.rate_hz = raw, rate_hz

    @property
    def samples(self) -> NDArray[np.float32]:
        whole = self._raw.stat().st_size // 4
        return np.fromfile(self._raw, np.float32, whole)


@contextmanager
def virtual_card(folder: Path) -> Iterator[VirtualCard]:
    """A card that runs; skipped aloud where none can be had, a failure where CI runs."""
    lacking = [program for program in NEEDED if shutil.which(program) is None]
    reason, card = f"no {', '.join(lacking)} here", VirtualCard(folder)
    if not lacking:
        try:
            card.start()
            reason = ""
        except RuntimeError as error:
            reason = str(error)
    if reason:
        if os.environ.get("CI"):
            pytest.fail(f"CI runs tests marked `audio`, but {reason}", pytrace=False)
        pytest.skip(f"no virtual sound card: {reason}")
    try:
        yield card
    finally:
        card.kill()
