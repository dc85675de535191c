"""MiniCPM-o as a session's model: seconds of sound in, seconds of sound out, and what was said as text.

What it is driven by, ours or the released code, is a `Conversation`; everything a person notices is here, and the same
for both. What was heard this model does not tell. The user's voice is told by its level alone, and only for figures:
whether to listen or to speak the model decides by itself, each second. Entered by the engine thread.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from engine.chunk import Chunk
from engine.models.minicpm_o.mel import StreamedMel
from engine.models.minicpm_o.model import MiniCPMO
from engine.models.minicpm_o.speech_decoder import UNIT_TOKENS
from engine.models.minicpm_o.timelines import CONDITION_TOKENS, FIRST_CHUNK, INPUT_HZ
from engine.plan import Plan
from engine.step import AUDIBLE_LEVEL, Event, Outcome, Said, SoFar, Step, UnitSteps

OUTPUT_HZ = 24_000
PATIENCE_UNITS = 5  # of quiet on both sides, after which nobody is being heard out
NAME = "minicpm-o-4.5"


@dataclass(frozen=True)
class Told:
    """What a second came to.

    Args:
        event: LISTEN, SPEAK, or FLUSH where a turn ended.
        said: Tokens that were spoken in it.
        ends: Its speech is the turn's last.
        cut: A turn was ended by force before anything else.
        sound: At 24 kHz, float32 `[samples]`.
    """

    event: Event
    said: tuple[int, ...]
    ends: bool
    cut: bool
    sound: NDArray[np.float32]


class Conversation(Protocol):
    """What decides and speaks."""

    def prepare(self) -> None:
        """Get ready for sessions; the system prompt is read."""
        ...

    def begin(self) -> None:
        """A session begins."""
        ...

    def unit(self, samples: NDArray[np.float32], *, forced: bool) -> Generator[Step, Any, Told]:
        """One second: `samples` `[16560]` where it is the session's first, later `[16000]`.

        Args:
            samples: At 16 kHz.
            forced: The model listens, and a turn at hand ends.
        """
        ...

    def drop_unit(self) -> None:
        """A stage has raised: the unit at hand was never heard, and the turn is over."""
        ...


@dataclass
class _Turn:
    """A turn at hand: what each unit said, and the samples that it put out. `ticks`: the speech decoder's, at most."""

    units: list[tuple[tuple[int, ...], int]]
    ticks: int = 0


class Talking:
    """Implements `engine.step.Model`.

    Args:
        conversation: Ours, or the released code's.
        plan: Of all stages.
        words: Tokens as text.
        longest_turn: Ticks that the speech decoder can hold.
    """

    name = NAME
    input_rate_hz, output_rate_hz = INPUT_HZ, OUTPUT_HZ

    def __init__(
        self, conversation: Conversation, plan: Plan, words: Callable[[Sequence[int]], str], longest_turn: int
    ) -> None:
        self.plan = plan
        self._conversation, self._words, self._longest = conversation, words, longest_turn
        self._forget()

    def prepare(self) -> None:
        self._conversation.prepare()

    def begin(self) -> None:
        self._conversation.begin()
        self._forget()

    def _forget(self) -> None:
        self._turn: _Turn | None = None
        self._first = True
        self._quiet_units = 0
        self._last_loud: int | None = None  # session sample, of a turn of the user's that is not answered yet

    @property
    def idle(self) -> bool:
        return self._turn is None and self._quiet_units >= PATIENCE_UNITS

    @property
    def awaited_since(self) -> int | None:
        return None  # it may have heard that nobody does

    def end_turn(self) -> None:
        self._conversation.drop_unit()
        self._turn = None

    def unit(self, chunk: Chunk, so_far: SoFar) -> UnitSteps:
        samples = chunk.samples
        if self._first:  # where the first chunk was dropped, and as released, silence comes before
            samples = np.pad(samples, (max(0, FIRST_CHUNK - len(samples)), 0))
        self._first = False
        loud = np.flatnonzero(np.abs(chunk.samples) >= AUDIBLE_LEVEL)
        if len(loud):
            self._last_loud = chunk.start_sample + int(loud[-1])
        # A turn that the speech decoder cannot hold is cut short as if the user had.
        most = CONDITION_TOKENS + UNIT_TOKENS
        full = self._turn is not None and self._turn.ticks + most > self._longest
        told = yield from self._conversation.unit(samples, forced=so_far.interrupted or full)
        self._quiet_units = 0 if len(loud) or told.event is not Event.LISTEN else self._quiet_units + 1
        if told.cut:
            return self._cut(so_far.unplayed_samples)
        if told.event is Event.LISTEN:
            return Outcome(Event.LISTEN)
        return self._spoken(told)

    def _spoken(self, told: Told) -> Outcome:
        sound = told.sound
        if len(sound) and not told.ends:  # as released: a second that is not full begins with silence
            sound = np.pad(sound, (max(0, OUTPUT_HZ - len(sound)), 0))
        begins, self._last_loud = self._last_loud if self._turn is None else None, None
        turn = self._turn = self._turn or _Turn([])
        turn.units.append((told.said, len(sound)))
        turn.ticks += CONDITION_TOKENS + UNIT_TOKENS
        if not told.ends:
            return Outcome(Event.SPEAK, sound, last_voiced_sample=begins)
        self._turn = None
        lines = self._lines([said for said, _ in turn.units], "said")
        return Outcome(Event.FLUSH, sound, lines, last_voiced_sample=begins)

    def _cut(self, unplayed_samples: int) -> Outcome:
        """A turn was cut short: what of it had begun to sound, and what was left unsaid."""
        units, self._turn = self._turn.units if self._turn else [], None
        unsaid = len(units)
        while unsaid and units[unsaid - 1][1] <= unplayed_samples:
            unsaid -= 1
            unplayed_samples -= units[unsaid][1]
        lines = (
            *self._lines([said for said, _ in units[:unsaid]], "said"),
            *self._lines([said for said, _ in units[unsaid:]], "unsaid"),
        )
        return Outcome(Event.FLUSH, transcript=lines, flush=True, forgets=True)

    def _lines(self, said: Sequence[tuple[int, ...]], kind: str) -> tuple[Said, ...]:
        text = self._words([token for unit in said for token in unit]).strip()
        return (Said("agent", text, kind, "model"),) if text else ()


class OurConversation:
    """See `Conversation`.

    Args:
        mel: Samples to what the encoder is fed.
        course: A unit's, with a protocol that forgets a cut turn whole: a session gives its memory back.
        begins: Called where chance begins anew.
        prepare: Captures what there is to capture, and lets the course read its system prompt.
        device: Where the mel goes.
    """

    def __init__(
        self,
        mel: StreamedMel,
        course: MiniCPMO,
        begins: Callable[[], None],
        prepare: Callable[[MiniCPMO], None],
        device: torch.device,
    ) -> None:
        self._mel, self._course, self._begins, self._prepare = mel, course, begins, prepare
        self._device = device

    def prepare(self) -> None:
        self._prepare(self._course)

    def begin(self) -> None:
        self._mel.begin()
        self._begins()
        self._course.begin_again()

    def unit(self, samples: NDArray[np.float32], *, forced: bool) -> Generator[Step, Any, Told]:
        mel = yield self._mel.step(torch.from_numpy(samples))
        spoken = yield from self._course.unit(mel.to(self._device), forced=forced)
        unit = spoken.unit
        return Told(spoken.event, unit.said, unit.ends_turn, unit.cut, spoken.sound.cpu().numpy())

    def drop_unit(self) -> None:
        self._course.drop_unit()
