"""MiniCPM-o's whole unit as released: what we are compared with from what was heard to sound, and never weakened.

The control flow of the released `DuplexCapability` (`streaming_prefill`, `streaming_generate`, `finalize_unit`), audio
only, in words of our own: which feed follows which, what is read of the device and when, what is kept and for how long.
Under it the released parts: transformers' stacks with their dynamic caches, and the released token2wav. Chance comes
from outside, and so does what becomes of a drawn token, since random weights decide nothing sensible.

Left out: the mel, the tokenizer, logs. Sound stays float32, as ours does. Entered by the engine thread.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from engine.models.minicpm_o.protocol import Limits, Marks
from engine.models.token2wav.timelines import CHUNK_TOKENS, LOOK_AHEAD_TOKENS
from engine.models.token2wav.unit import SILENT_TOKEN
from engine.stock.driver import ReleasedDriver
from engine.stock.hearing import ReleasedEncoder
from engine.stock.language import ReleasedLanguage
from engine.stock.speaking import MOST, Meaning, ReleasedSpeechDecoder

LEAST = 5  # tokens, beside the look-ahead, that token2wav is launched with before a turn ends
CONTEXT = 2  # mel frames after a chunk and, but for the session's first, before it


@dataclass(frozen=True)
class ReleasedParts:
    """What a unit runs through.

    Args:
        encoder: Mel to embeddings.
        language: Embeddings and tokens to logits.
        speech: Tokens and what they mean to speech tokens.
        token2wav: Speech tokens to sound; prepared with a voice.
    """

    encoder: ReleasedEncoder
    language: ReleasedLanguage
    speech: ReleasedSpeechDecoder
    token2wav: ReleasedDriver


@dataclass(frozen=True)
class Given:
    """What a unit is given from outside.

    Args:
        decide: What becomes of a drawn token.
        text: A text token's chance, `[2, tokens]`; None takes the likeliest.
        speech: A unit's, `[26, speech tokens]`; None takes the likeliest.
        seed: Of the vocoder's noise, for the next launch.
    """

    decide: Callable[[int], int]
    text: Callable[[], Tensor | None]
    speech: Callable[[], Tensor | None]
    seed: Callable[[], int]


@dataclass
class ReleasedUnit:
    """What a unit came to.

    Args:
        listens: It did not speak.
        ended: A turn ended in it.
        said: Tokens that conditioned speech.
        drawn: Every token that was drawn, as it was before anything became of it.
        spoken: Speech tokens, on the host.
        sounds: A float32 `[1, samples]` for each launch, on the host.
    """

    listens: bool = True
    ended: bool = False
    said: list[int] = field(default_factory=list)
    drawn: list[int] = field(default_factory=list)
    spoken: list[int] = field(default_factory=list)
    sounds: list[Tensor] = field(default_factory=list)

    @property
    def sound(self) -> Tensor:
        """All of it: float32 `[samples]`, on the host."""
        return torch.cat([each[0] for each in self.sounds]) if self.sounds else torch.zeros(0)


class ReleasedConversation:
    """A conversation, unit by unit: `prefill`, `generate`, `finalize`, in this order.

    Args:
        parts: Over the same weights as ours.
        marks: Ids of the protocol's tokens.
        limits: Of a unit.
        characters: How long tokens are as text, special ones left out.
        given: From outside.
    """

    def __init__(
        self,
        parts: ReleasedParts,
        marks: Marks,
        limits: Limits,
        characters: Callable[[list[int]], int],
        given: Given,
    ) -> None:
        assert not limits.forgets_cut_turns, "the released code has no such knob"
        self.parts, self._marks, self._limits, self._characters = parts, marks, limits, characters
        self._given = given

    @torch.no_grad()
    def begin(self, system: Sequence[Tensor], past: Sequence[Tensor] = ()) -> None:
        """A session begins, with a system prompt in pieces `[n, width]` and units that came before, read again."""
        parts = self.parts
        parts.encoder.begin()
        parts.language.begin()
        parts.speech.begin()
        parts.token2wav.reset()
        self._waiting = [SILENT_TOKEN] * LOOK_AHEAD_TOKENS
        self._units, self._asked = 0, 0
        self._turn_ended = True
        self._meant: list[list[tuple[int, Tensor, bool]]] = []  # of every unit: the released code drops none
        for x in system:
            if len(x):
                parts.language.feed(x)
        parts.language.preserved = parts.language.held
        for x in past:
            parts.language.begin_unit()
            parts.language.feed(x)
            parts.language.end_unit()
        self._logits: Tensor | None = None
        self._terminator = 0

    @torch.no_grad()
    def prefill(self, mel: Tensor) -> None:
        """Hear a second: mel `[1, mels, frames]`, context among them."""
        language = self.parts.language
        language.begin_unit()
        language.feed(language.embedded([self._marks.unit]))
        heard = self.parts.encoder(mel, CONTEXT if self._units else 0, CONTEXT)
        asked = language.feed(heard, asked=True)
        assert asked is not None
        self._logits, self._units = asked[0], self._units + 1

    @torch.no_grad()
    def generate(self, *, forced: bool = False) -> ReleasedUnit:
        """Listen or speak.

        Args:
            forced: The user has cut in: a turn that has not ended, ends, and the model listens.
        """
        language, marks, unit = self.parts.language, self._marks, ReleasedUnit()
        listens = self._asked < self._limits.forced_units or forced
        self._asked += 1
        logits = self._logits
        assert logits is not None, "`prefill` comes first"
        if forced and not self._turn_ended:
            fed = language.feed(language.embedded([marks.turn_eos]), asked=True)
            assert fed is not None
            logits, self._turn_ended, unit.ended = fed[0], True, True
            self.parts.token2wav.reset()
            self._waiting = [SILENT_TOKEN] * LOOK_AHEAD_TOKENS
        meant: list[tuple[int, Tensor, bool]] = []
        ends = False
        unit.listens = False
        for step in range(self._limits.steps):
            if step == self._limits.steps - 1:
                self._terminator = marks.chunk_eos
                break
            token = self._drawn(logits, unit, listens=listens)
            if token.item() == marks.listen and not self._turn_ended and not listens:
                token = torch.tensor([marks.tts_bos], device=logits.device)
            unit.listens = token.item() == marks.listen
            if token.item() in marks.terminators:
                self._terminator = int(token.item())
                break
            self._turn_ended = False
            if step and self._characters([*unit.said, int(token.item())]) >= self._limits.characters:
                self._terminator = marks.chunk_eos
                break
            fed = language.feed(language.embedded([int(token.item())]), asked=True)
            assert fed is not None
            logits, hidden = fed
            ends = token.item() == marks.turn_eos
            if ends:
                self._turn_ended = True
            if step:
                meant.append((int(token.item()), hidden, ends))
                unit.said.append(int(token.item()))
        self._meant.append([] if unit.listens else meant)
        if not unit.listens:
            unit.ended |= ends
            self._speak(unit, [(token, hidden) for token, hidden, _ in meant], ends=ends)
        return unit

    def _drawn(self, logits: Tensor, unit: ReleasedUnit, *, listens: bool) -> Tensor:
        if listens:
            return torch.tensor([self._marks.listen], device=logits.device)
        drawn = int(self.parts.language.decode(logits, self._given.text()).item())
        unit.drawn.append(drawn)
        return torch.tensor([self._given.decide(drawn)], device=logits.device)

    def _speak(self, unit: ReleasedUnit, meant: list[Meaning], *, ends: bool) -> None:
        speech, token2wav = self.parts.speech, self.parts.token2wav
        condition = speech.condition(meant)
        least = 0 if ends or speech.start == 0 else MOST
        spoken = speech(condition, self._given.speech(), least=least, ends_turn=ends)
        unit.spoken = torch.reshape(spoken, (-1,)).tolist()
        self._waiting += unit.spoken
        while len(self._waiting) >= LOOK_AHEAD_TOKENS + LEAST:
            fed = min(CHUNK_TOKENS + LOOK_AHEAD_TOKENS, len(self._waiting))
            unit.sounds.append(self._sound(self._waiting[:fed], last=False))
            self._waiting = self._waiting[fed - LOOK_AHEAD_TOKENS :]
        if ends and self._waiting:
            unit.sounds.append(self._sound(self._waiting, last=True))
        if ends:
            token2wav.reset()
            self._waiting = [SILENT_TOKEN] * LOOK_AHEAD_TOKENS

    def _sound(self, tokens: list[int], *, last: bool) -> Tensor:
        torch.manual_seed(self._given.seed())
        return self.parts.token2wav(torch.tensor([tokens]), last=last)

    @torch.no_grad()
    def finalize(self) -> None:
        """Feed what ended the unit, and drop what no window holds; after the sound is out."""
        language = self.parts.language
        language.feed(language.embedded([self._terminator, self._marks.unit_end]))
        language.end_unit()
