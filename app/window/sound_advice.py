"""What a test of the microphone, the speaker and the echo means, and what to do about it. Pure; any thread."""

from dataclasses import dataclass

from app.audio.state import EchoMode, StreamState
from app.window import words
from app.window.level_meter import decibels

_SOON = 60  # looks at the microphone, 50 ms apart, before silence means something


@dataclass(frozen=True)
class Advice:
    """A finding.

    Args:
        text: What was found, and what to do; empty where nothing is known yet.
        good: Whether all is well.
        echo: The echo mode that is recommended; None where it does not matter.
    """

    text: str = ""
    good: bool = False
    echo: EchoMode | None = None


class MicrophoneTrial:
    """What a microphone has delivered since the trial began."""

    def __init__(self) -> None:
        self._looks, self._highest, self._clipped = 0, 0.0, False

    def see(self, stream: StreamState) -> Advice:
        """Take another look."""
        if stream.lost:
            return Advice("The microphone is gone. Connect it, and look for devices again.")
        if not stream.device:
            return Advice()
        self._looks += 1
        self._highest = max(self._highest, stream.peak)
        self._clipped = self._clipped or stream.clipped
        if self._clipped:
            return Advice("Too loud: the sound is cut off at the top. Turn the microphone down, or move away.")
        if self._highest == 0 and self._looks >= _SOON:
            return Advice("Nothing at all is heard. Is the microphone muted, or is this program not permitted to hear?")
        if decibels(self._highest) > words.QUIET_DB:
            return Advice("You are heard.", good=True)
        if self._looks >= _SOON:
            return Advice("Very quiet so far. Say something; if that changes nothing, turn the microphone up.")
        return Advice("Say something.")


def echo(heard_db: float | None, screen_reader: bool) -> Advice:
    """What the test sound in the microphone means.

    Args:
        heard_db: By how much it was louder there while it sounded; None where that is not known.
        screen_reader: Whether one runs, which would be heard as the user.
    """
    if heard_db is None:
        return Advice()
    if heard_db < words.ECHO_DB:
        return Advice("The microphone does not hear the speaker. Headphones mode is right.", True, EchoMode.HEADPHONES)
    found = f"The microphone hears the speaker ({heard_db:.0f} decibels louder while it sounds). "
    if screen_reader:
        return Advice(f"{found}Wear headphones, or hold a key to talk.", echo=EchoMode.HALF_DUPLEX)
    return Advice(f"{found}Wear headphones, or let one of the other two modes help.", echo=EchoMode.CANCELLER)


SCREEN_READER = (
    "A screen reader is running. What it says would reach the microphone and be answered: "
    "wear headphones, or hold a key to talk."
)
