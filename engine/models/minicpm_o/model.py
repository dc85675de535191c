"""MiniCPM-o's unit as a whole: what was heard to the language model, its tokens to speech, speech to sound.

The story of `DuplexCapability`'s `streaming_prefill`, `streaming_generate` and `finalize_unit`, in steps that a runtime
executes, over states handed in. Chance is handed in as well, and so is what becomes of a drawn token: nothing, or what
a script says, since random weights decide nothing sensible.

Differences from the released code: sound is float32 as token2wav makes it, where that rounds to sixteen bits; and a
unit with less than a second of it is not filled up with silence in front, which is for whoever talks (`talking`). Not
here yet: the window that keeps notes. Entered by the engine thread.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from engine.models.minicpm_o.audio_encoder import STAGE as AUDIO_ENCODER
from engine.models.minicpm_o.audio_encoder import AudioEncoder
from engine.models.minicpm_o.language import CLOSE, DECODE, PREFILL, LanguageModel
from engine.models.minicpm_o.protocol import Draw, Feed, Marks, Protocol, Unit, Window, launches
from engine.models.minicpm_o.sampling import TextSampler
from engine.models.minicpm_o.speech_decoder import CONDITION, SpeechDecoder
from engine.models.minicpm_o.speech_decoder import STAGE as TTS
from engine.models.token2wav.timelines import LOOK_AHEAD_TOKENS
from engine.models.token2wav.unit import SILENT_TOKEN, Token2Wav
from engine.step import Event, Step

DRAW = "llm_draw"


@dataclass(frozen=True)
class Parts:
    """What a unit runs through, each over its own state.

    Args:
        encoder: Mel to embeddings.
        language: Embeddings and tokens to logits.
        sampler: Logits to tokens.
        speech: Tokens and what they mean to speech tokens.
        token2wav: Speech tokens to sound; prepared with a voice.
    """

    encoder: AudioEncoder
    language: LanguageModel
    sampler: TextSampler
    speech: SpeechDecoder
    token2wav: Token2Wav

    @property
    def beside(self) -> tuple[Tensor, ...]:
        """What steps write beside the arena's states: put back after a rehearsal."""
        return *self.language.beside, *self.sampler.beside, *self.speech.beside

    def rehearse(self, stage: str, shape: tuple[int, ...], *, last: bool, chance: bool) -> Step:
        """The step of a stage that runs from graphs of exact shapes, with room for its inputs.

        Args:
            stage: Which.
            shape: As its step has it.
            last: Of token2wav's launch without look-ahead.
            chance: Whether tokens are drawn by chance.
        """
        if stage == AUDIO_ENCODER:
            return self.encoder.rehearse(shape)
        if stage == DRAW:
            return self.drawing(self.sampler.room(chance=chance))
        if stage in (CONDITION, TTS):
            return self.speech.rehearse(stage, shape, chance=chance)
        return self.token2wav.rehearse(stage, shape, last=last)

    def drawing(self, given: tuple[Tensor, ...]) -> Step:
        """The step that draws a text token by logits `[tokens]` and, where it is given, chance `[2, tokens]`."""
        return Step(DRAW, (len(given),), 1, self.sampler, given, captures=True)


@dataclass(frozen=True)
class Chance:
    """What a unit leaves to others.

    Args:
        text: The next text token's; see `TextSampler`.
        decide: What becomes of a drawn token.
        speech: The next unit's for the speech decoder; see `SpeechDecoder.steps`.
        sound: The vocoder's noise for so many frames; see `Token2Wav.steps`.
    """

    text: Callable[[], Tensor | None]
    decide: Callable[[int], int]
    speech: Callable[[], Tensor | None]
    sound: Callable[[int], Tensor]


@dataclass(frozen=True)
class Spoken:
    """What a unit came to.

    Args:
        event: LISTEN, SPEAK, or FLUSH where a turn ended.
        unit: As the protocol tells it.
        fed: Tokens that the language model was fed one by one.
        tokens: Speech tokens, int64 `[up to 25]`, on the device.
        sound: At 24 kHz, float32 `[samples]`, on the device; at a turn's end more than a second of it.
    """

    event: Event
    unit: Unit
    fed: int
    tokens: Tensor
    sound: Tensor


class MiniCPMO:
    """A conversation, unit by unit.

    Args:
        parts: Prepared.
        marks: Ids of the protocol's tokens.
        protocol: A unit's course.
        window: The language model's past.
        chance: What is left to others.
    """

    def __init__(self, parts: Parts, marks: Marks, protocol: Protocol, window: Window, chance: Chance) -> None:
        self._parts, self._marks, self._protocol, self._window, self._chance = parts, marks, protocol, window, chance
        device = parts.language.device
        self._silence = torch.full((LOOK_AHEAD_TOKENS,), SILENT_TOKEN, device=device)  # a turn starts with it
        self._waiting = self._silence
        self._unit = parts.language.embedded([marks.unit])
        self._before = 0, 0, True  # of the language model and of the encoder, held as the unit at hand began

    def begin(self, system: Sequence[Tensor], past: Sequence[Tensor] = ()) -> Generator[Step, Any, None]:
        """A session begins.

        Args:
            system: A system prompt's embeddings, each piece `[n, width]` read at once; as many as the window tells of.
            past: Units that came before, each read again as embeddings `[n, width]`.
        """
        self._begin(0)
        for x in (*system, *past):
            if len(x):
                yield self._parts.language.step(PREFILL, x, asked=False)
        for x in past:
            cuts = self._window.close(len(x), Unit((), listens=True))
            assert not cuts, "what came before fits into the window"
        assert self._parts.language.held == self._window.ticks, "the window protects the system prompt"

    def begin_again(self) -> None:
        """A session begins, with the system prompt that an earlier one has read: no window has touched it."""
        self._window.begin()
        self._begin(self._window.ticks)

    def _begin(self, held: int) -> None:
        parts = self._parts
        parts.encoder.begin()
        parts.language.begin(held)
        parts.sampler.begin()
        parts.speech.begin()
        self._protocol.begin()
        self._window.begin()
        self._forget_sound()

    def drop_unit(self) -> None:
        """A stage has raised: the unit at hand was never heard, and the turn is over."""
        parts = self._parts
        held, heard, first = self._before
        parts.language.begin(held)
        parts.encoder.held, parts.encoder.first = heard, first
        parts.speech.begin()
        self._protocol.end_turn()
        self._forget_sound()

    def unit(self, mel: Tensor, *, forced: bool = False) -> Generator[Step, Any, Spoken]:
        """One second.

        Args:
            mel: `[1, mels, frames]`, as many as the encoder's next launch is fed.
            forced: The user has cut in: the model listens, and a turn at hand ends.
        """
        language, encoder, before = self._parts.language, self._parts.encoder, self._parts.language.held
        self._before = before, encoder.held, encoder.first
        heard = yield encoder.step(mel)
        yield language.step(PREFILL, self._unit, asked=False)
        logits, _ = yield language.step(PREFILL, heard, asked=True)
        thinks = language.held
        unit, meanings = yield from self._think(logits, forced=forced)
        fed = language.held - thinks
        if unit.cut:
            self._forget_sound()
        if unit.forgets_speech:
            self._parts.speech.begin()
        tokens, sound = self._silence[:0], self._silence.new_empty(0, dtype=torch.float32)
        if not unit.listens:
            tokens, sound = yield from self._speak(unit, meanings)
        yield language.step(CLOSE, language.embedded(unit.closing), asked=False)
        for cut in self._window.close(language.held - before, unit):
            language.slide(cut)
        ended = unit.cut or unit.ends_turn
        return Spoken(Event.FLUSH if ended else Event.LISTEN if unit.listens else Event.SPEAK, unit, fed, tokens, sound)

    def _think(self, logits: Tensor, *, forced: bool) -> Generator[Step, Any, tuple[Unit, list[Tensor]]]:
        """Draw and feed until the unit ends; what it came to, and what its spoken tokens mean, each `[1, width]`."""
        language, meanings, answer = self._parts.language, list[Tensor](), None
        course: Generator[Draw | Feed, int | None, Unit] = self._protocol.unit(forced=forced)
        while True:
            try:
                asked = course.send(answer)
            except StopIteration as done:
                return done.value, meanings
            if isinstance(asked, Draw):
                chance = self._chance.text()
                given = (logits,) if chance is None else (logits, chance)
                drawn: Tensor = yield self._parts.drawing(given)
                answer = self._chance.decide(int(drawn))  # the one read of the device that a token takes
            else:
                answer = None
                logits, meaning = yield language.step(DECODE, language.embedded([asked.token]), asked=True)
                if asked.speaks:
                    meanings.append(meaning)

    def _speak(self, unit: Unit, meanings: list[Tensor]) -> Generator[Step, Any, tuple[Tensor, Tensor]]:
        """A unit's speech tokens, and its sound, `[samples]`."""
        speech, token2wav, width = self._parts.speech, self._parts.token2wav, self._unit.shape[1]
        texts = torch.tensor(unit.said, dtype=torch.int64, device=self._unit.device)
        meant = torch.cat(meanings) if meanings else self._unit.new_empty(0, width)
        spoken = yield from speech.steps(texts, meant, self._chance.speech(), may_end=unit.speech_may_end)
        self._waiting = torch.cat((self._waiting, spoken))
        sounds = [self._silence.new_empty(0, dtype=torch.float32)]
        for launch in launches(len(self._waiting), ends_turn=unit.ends_turn):
            tokens = self._waiting[None, : launch.fed]
            noise = self._chance.sound(token2wav.frames(launch.fed, last=launch.last))
            sound = yield from token2wav.steps(tokens, noise, last=launch.last)
            sounds.append(sound[0].clone())  # a graph's result is written over by its next launch
            self._waiting = self._waiting[launch.fed - (0 if launch.last else LOOK_AHEAD_TOKENS) :]
        if unit.ends_turn:
            speech.begin()
            self._forget_sound()
        return spoken, torch.cat(sounds)

    def _forget_sound(self) -> None:
        self._parts.token2wav.reset()
        self._waiting = self._silence
