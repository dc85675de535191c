"""The unit protocol: what a second of MiniCPM-o's conversation feeds its language model, and what its tokens mean.

Tokens in, decisions out; no torch, no weights, no time. Follows `DuplexCapability` (`streaming_prefill`,
`streaming_generate`, `finalize_unit`) and `StreamDecoder`'s windows of the released code, audio only. A unit is

    <unit> [ten embeddings of what was heard] token token ... terminator </unit>

where the first token listens, or speaks, and those after it are what is said. A terminator (`listen`, `chunk_eos`,
`chunk_tts_eos`) is not fed when it is drawn but with `</unit>`, once the second's sound is out. What is worth knowing:

- `turn_eos` does not end a unit: it is fed, and conditions speech, and drawing goes on. A turn has ended if it is the
  unit's last token before the terminator; but if `listen` comes after it, the unit listens, nothing of it is spoken,
  and speech decoder and token2wav still hold the turn.
- While a turn has not ended, `listen` is read as `tts_bos`, and the model goes on speaking.
- A forced end of a turn (a barge-in) feeds `turn_eos`, brings token2wav back to its start and then listens; the speech
  decoder keeps what it held, so that the next turn's first unit is to it one in the middle. `Limits.forgets_cut_turns`
  is the one knob that the released code lacks, and off; with it a forced end is an end like any other.
- The twentieth step is not drawn, but taken to be `chunk_eos`; so is a token whose text would make the unit's 28
  characters or more.

Differences: the released code remembers more (all ids and hidden states of a session, for its logs), which is left out;
and it draws `tts_pad` never, though its code still has rules for a unit that did, which are left out as well.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True)
class Marks:
    """Ids of the tokens that the protocol knows, by their names in the released tokenizer."""

    unit: int = 151_683  # <unit>
    unit_end: int = 151_684  # </unit>
    tts_bos: int = 151_703
    listen: int = 151_705
    speak: int = 151_706
    turn_eos: int = 151_717
    chunk_eos: int = 151_718
    chunk_tts_eos: int = 151_721

    @property
    def terminators(self) -> tuple[int, int, int]:
        """What ends a unit."""
        return self.listen, self.chunk_eos, self.chunk_tts_eos


@dataclass(frozen=True)
class Limits:
    """What bounds a unit.

    Args:
        steps: Tokens of a unit, its terminator among them.
        characters: A unit's text is shorter.
        forced_units: So many first units listen, whatever is drawn.
        forgets_cut_turns: A forced end of a turn ends it for the speech decoder too.
    """

    steps: int = 20
    characters: int = 28
    forced_units: int = 0
    forgets_cut_turns: bool = False


@dataclass(frozen=True)
class Draw:
    """Draw a token from the logits at hand, and send it back."""


@dataclass(frozen=True)
class Feed:
    """Feed a token, and hold on to its logits.

    Args:
        token: Its id.
        speaks: What the language model makes of it conditions speech.
    """

    token: int
    speaks: bool


@dataclass(frozen=True)
class Unit:
    """What a unit came to.

    Args:
        closing: Tokens to feed once its sound is out, in one launch.
        listens: It does not speak; what was fed conditions nothing.
        said: The tokens that condition speech, in order; there may be none, and yet it speaks.
        ends_turn: Its speech is the turn's last: what waits is flushed, and all that belongs to the turn forgotten.
        opens_turn: Its speech is the turn's first, as the speech decoder knows it.
        cut: A turn was ended by force before anything else: token2wav forgets it.
        forgets_speech: And so does the speech decoder.
    """

    closing: tuple[int, ...]
    listens: bool
    said: tuple[int, ...] = ()
    ends_turn: bool = False
    opens_turn: bool = False
    cut: bool = False
    forgets_speech: bool = False

    @property
    def speech_may_end(self) -> bool:
        """Fewer than a unit's speech tokens may come."""
        return self.opens_turn or self.ends_turn


class Protocol:
    """A conversation's course.

    Args:
        marks: Ids.
        limits: Of a unit.
        characters: How long a unit's tokens are as text, special ones left out.
    """

    def __init__(self, marks: Marks, limits: Limits, characters: Callable[[Sequence[int]], int]) -> None:
        self._marks, self._limits, self._characters = marks, limits, characters
        self.begin()

    def begin(self) -> None:
        """A session begins."""
        self._units = 0
        self.end_turn()

    def end_turn(self) -> None:
        """The turn at hand is over, and nothing of it is held any more."""
        self.turn_ended = True  # the model may listen
        self.speaking = False  # the speech decoder holds a part of a turn

    def unit(self, *, forced: bool = False) -> Generator[Draw | Feed, int | None, Unit]:
        """One unit, from the logits after what was heard on; yields what to do next.

        Args:
            forced: It must listen, and a turn that has not ended, end.
        """
        marks, limits = self._marks, self._limits
        listens = forced or self._units < limits.forced_units
        self._units += 1
        cut = forced and not self.turn_ended
        forgets_speech = cut and limits.forgets_cut_turns
        if cut:
            yield Feed(marks.turn_eos, speaks=False)
            self.turn_ended = True
            self.speaking = self.speaking and not forgets_speech
        token, said, last_fed = marks.listen, list[int](), None
        for step in range(limits.steps):
            if step == limits.steps - 1:
                token = marks.chunk_eos
                break
            if not listens:
                drawn = yield Draw()
                assert drawn is not None, "a draw is answered by a token"
                token = marks.tts_bos if drawn == marks.listen and not self.turn_ended else drawn
            if token in marks.terminators:
                break
            self.turn_ended = False
            if step and self._characters([*said, token]) >= limits.characters:
                token = marks.chunk_eos
                break
            yield Feed(token, speaks=step > 0)
            last_fed = token
            self.turn_ended = token == marks.turn_eos
            if step:
                said.append(token)
        closing = (token, marks.unit_end)
        if token == marks.listen:
            return Unit(closing, listens=True, cut=cut, forgets_speech=forgets_speech)
        ends, opens = last_fed == marks.turn_eos, not self.speaking
        self.speaking = not ends
        return Unit(closing, False, tuple(said), ends, opens, cut, forgets_speech)


@dataclass(frozen=True)
class Launch:
    """One of token2wav's.

    Args:
        fed: Speech tokens that it is fed, its look-ahead among them.
        last: It is the turn's last, and has no look-ahead.
    """

    fed: int
    last: bool = False


def launches(waiting: int, *, ends_turn: bool, chunk: int = 25, ahead: int = 3, least: int = 5) -> Iterator[Launch]:
    """How token2wav is launched over what waits at a unit's end, in order; each takes what it is not fed ahead.

    Args:
        waiting: Speech tokens, what a turn starts with and this unit's among them.
        ends_turn: Nothing may be left.
        chunk: Tokens that a launch takes at most.
        ahead: Tokens that it looks ahead.
        least: Tokens that it takes at least, unless it is the last.
    """
    while waiting >= ahead + least:
        fed = min(chunk + ahead, waiting)
        yield Launch(fed)
        waiting -= fed - ahead
    if ends_turn and waiting:
        yield Launch(waiting, last=True)


class WindowMode(StrEnum):
    """What happens to the language model's past."""

    OFF = "off"
    BASIC = "basic"
    CONTEXT = "context"


@dataclass(frozen=True)
class WindowLimits:
    """When the past is cut, and to what.

    Args:
        mode: Nothing is cut; by tokens held; or by units, whose text goes on as a note behind the system prompt.
        high: Tokens, basic: over so many, units go.
        low: Until there are at most so many.
        units: Context: over so many, the oldest goes.
        note: Tokens of the note at most, its opening apart; the oldest go.
    """

    mode: WindowMode = WindowMode.OFF
    high: int = 4000
    low: int = 3500
    units: int = 24
    note: int = 500


@dataclass(frozen=True)
class Slide:
    """One cut: units follow on what stays, their keys turned to their new positions.

    Cuts are carried out one by one, as released: a key that is turned twice is rounded twice.

    Args:
        start: The first tick that goes.
        stop: The first that stays after it.
        reread: Tokens read anew from `start` on, before what stays: the note and what follows it. Context only.
    """

    start: int
    stop: int
    reread: tuple[int, ...] = ()

    @property
    def moved(self) -> int:
        """By how many ticks what stays comes earlier; below zero, later."""
        return self.stop - self.start - len(self.reread)


class Window:
    """The language model's past, by lengths.

    Args:
        limits: When it is cut.
        system: Ticks that stay in front; in the mode of notes, without what follows the note.
        opening: The note's opening tokens; context only.
        suffix: Tokens of the system prompt behind the note; context only.
        special: Tokens that no note holds.
    """

    def __init__(
        self,
        limits: WindowLimits,
        system: int,
        opening: Sequence[int] = (),
        suffix: Sequence[int] = (),
        special: frozenset[int] = frozenset(),
    ) -> None:
        assert limits.mode is WindowMode.CONTEXT or not suffix, "a suffix is counted apart where notes come before it"
        self._limits, self._system = limits, system
        self._opening, self._suffix, self._special = tuple(opening), tuple(suffix), special
        self.begin()

    def begin(self) -> None:
        """A session begins."""
        self._note: tuple[int, ...] = ()  # its opening and what was said
        self._units: list[tuple[int, tuple[int, ...]]] = []  # ticks, and what was said

    @property
    def ticks(self) -> int:
        """Held."""
        return self._kept + sum(ticks for ticks, _ in self._units)

    @property
    def _kept(self) -> int:
        return self._system + len(self._note) + len(self._suffix)

    def close(self, ticks: int, unit: Unit) -> list[Slide]:
        """A unit has ended and is held, all of its `ticks` of it: the cuts to carry out, in order."""
        self._units.append((ticks, () if unit.listens else unit.said))
        return list(self._slides())

    def _slides(self) -> Iterator[Slide]:
        limits = self._limits
        if limits.mode is WindowMode.BASIC and self.ticks > limits.high:
            while self._units and self.ticks > limits.low:
                ticks, _ = self._units.pop(0)
                yield Slide(self._kept, self._kept + ticks)
        while limits.mode is WindowMode.CONTEXT and len(self._units) > limits.units:
            yield self._note_down()

    def _note_down(self) -> Slide:
        before = self._kept
        ticks, said = self._units.pop(0)
        if words := tuple(token for token in said if token not in self._special):
            content = (*self._note[len(self._opening) :], *words)
            self._note = (*self._opening, *content[max(0, len(content) - self._limits.note) :])
        if not self._note:
            return Slide(before, before + ticks)
        # Released, the note and what follows are read again at every cut, whether or not they have changed.
        return Slide(self._system, before + ticks, (*self._note, *self._suffix))
