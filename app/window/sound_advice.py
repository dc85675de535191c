"""What a test of the microphone, the speaker and the echo means, and what to do about it. Pure; any thread."""

from dataclasses import dataclass

from app.audio.state import EchoMode, StreamState
from app.live.snapshot import Trial
from app.window import words
from app.window.level_meter import decibels

_SOON = 60  # looks at the microphone, 50 ms apart, before silence means something


@dataclass(frozen=True)
class Advice:
    """A finding.

    Args:
        text: What was found, and what to do; empty where nothing is known yet.
        echo: The echo mode that is recommended; None where it does not matter.
    """

    text: str = ""
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
            return Advice("You are heard.")
        if self._looks >= _SOON:
            return Advice("Very quiet so far. Say something; if that changes nothing, turn the microphone up.")
        return Advice("Say something.")


def echo(trial: Trial, mode: EchoMode, screen_reader: bool) -> Advice:
    """What the test sound in the microphone means.

    Args:
        trial: What the test has shown.
        mode: What keeps the agent from hearing itself now.
        screen_reader: Whether one runs, which would be heard as the user.
    """
    if trial.untold:
        return Advice(f"The test tells nothing: {trial.untold}.")
    if trial.heard_db is None:
        return Advice()
    if trial.heard_db < words.ECHO_DB:
        if trial.room_db > words.QUIET_DB:
            return Advice("The test tells nothing: it is too loud here. Be still while it sounds, and play it again.")
        return Advice("The microphone does not hear the speaker. Headphones mode is right.", EchoMode.HEADPHONES)
    found = f"The microphone hears the speaker ({trial.heard_db:.0f} decibels louder while it sounds). "
    if mode is not EchoMode.HEADPHONES:
        return Advice(f"{found}{HELPS[mode]}")
    if screen_reader:
        return Advice(f"{found}Wear headphones, or hold a key to talk.", EchoMode.HALF_DUPLEX)
    return Advice(f"{found}Wear headphones, or let one of the other two modes help.", EchoMode.CANCELLER)


HELPS = {
    EchoMode.CANCELLER: "The echo canceller, which is chosen, takes it out of what the model hears.",
    EchoMode.HALF_DUPLEX: "Taking turns, which is chosen, keeps it from being answered.",
}

SCREEN_READER = (
    "A screen reader is running. What it says would reach the microphone and be answered: "
    "wear headphones, or hold a key to talk."
)
