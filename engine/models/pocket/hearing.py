"""Hearing: an utterance in, its words out.

Speech is heard in windows of whole seconds, so that the shapes that a session will meet are known before it starts.
What runs inside (our layers, or a library's) is handed in as `Ears`; front end, vocabulary product and rules are the
same for both, and so their words are. `StockHearing` is the library left alone. Entered by the engine thread.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from engine.errors import MissingWeights
from engine.models.layers.mel import LogMel
from engine.models.pocket.decoding import Picker, Rules
from engine.models.pocket.guards import clean, cut_loop, is_speech, say_once
from engine.models.pocket.tokenizer_file import open_tokenizer
from engine.models.pocket.whisper import TOKEN_EMBEDDING, Whisper, load_weights
from engine.models.pocket.windows import SAMPLE_RATE_HZ, max_tokens, pieces, window_s


@dataclass(frozen=True)
class Heard:
    """What an utterance was heard as.

    Args:
        text: Its words; empty where there were none.
        tokens: What the decoder said, in order, without prompt and end, whether or not it was taken for speech.
        speech_s: Seconds of audio handed in.
        windows_s: The windows it was heard in, seconds each.
        no_speech: How sure Whisper is that nobody spoke, 0 to 1; None where the library does not tell.
        confidence: The mean log-probability of a token; None where the library does not tell.
    """

    text: str
    tokens: tuple[int, ...] = ()
    speech_s: float = 0.0
    windows_s: tuple[int, ...] = ()
    no_speech: float | None = None
    confidence: float | None = None


class Ears(Protocol):
    """A Whisper: hears a window, then says token after token what was in it."""

    def hear(self, mel: Tensor) -> None:
        """Take in a window, float32 `[1, mels, frames]`, and forget the last one."""
        ...

    def hidden(self, tokens: Tensor) -> Tensor:
        """Take in tokens, int64 `[1, n]`, that follow those before: hidden states `[1, n, width]`."""
        ...


class Vocabulary:
    """The product with the vocabulary, in the sixteen bits of the released weights.

    Its logits differ from float32's by about 1e-3 of a range of 20; float32 reads twice the memory and takes 7.4 ms a
    token on one core where this takes 2.4 (AVX2 and AVX-512 alike, 2026-12-01): more than the rest of the decoder.

    Args:
        embedding: float16 `[tokens, width]`.
    """

    def __init__(self, embedding: Tensor) -> None:
        self._embedding = embedding

    def __call__(self, hidden: Tensor, tokens: int | None = None) -> Tensor:
        """float32 logits of the first `tokens` tokens (all of them by default) for one hidden state `[1, 1, width]`."""
        return functional.linear(hidden.half(), self._embedding[:tokens]).float().view(-1)


class Hearing:
    """Transcribes utterances with whatever ears it was given.

    A piece of at most 28 s takes two steps, each with a clock of its own: `listen`, then `write`.
    """

    def __init__(self, ears: Ears, vocabulary: Vocabulary, rules: Rules, tokenizer: Tokenizer) -> None:
        self._ears, self._vocabulary, self._rules, self._tokenizer = ears, vocabulary, rules, tokenizer
        self._mel, self._picker = LogMel(), Picker(rules)
        self._speech_samples = 0

    def transcribe(self, speech: NDArray[np.float32]) -> Heard:
        """The words of an utterance of any length, float32 `[samples]` at 16 kHz, trimmed to its voice."""
        return _transcribe(self, speech)

    @torch.inference_mode()
    def listen(self, piece: NDArray[np.float32]) -> int:
        """Encode a piece of speech, float32 `[samples]`, at most 28 s of 16 kHz.

        Returns:
            Ticks of the encoder's output, 50 a second of window.
        """
        self._speech_samples = len(piece)
        window = torch.zeros(1, window_s(len(piece)) * SAMPLE_RATE_HZ)
        window[0, : len(piece)] = torch.from_numpy(piece)
        mel = self._mel(window)  # [1, mels, frames]
        self._ears.hear(mel)
        return mel.shape[-1] // 2

    @torch.inference_mode()
    def write(self) -> Heard:
        """The words of the piece listened to last."""
        window = window_s(self._speech_samples)
        hidden = self._ears.hidden(torch.tensor([self._rules.prompt]))  # [1, 2, width]
        no_speech = float(self._vocabulary(hidden[:, :1]).softmax(0)[self._rules.no_speech])
        tokens = list(self._tokens(hidden[:, 1:], max_tokens(window)))
        while (kept := cut_loop(tokens)) is not None:
            tokens = tokens[:kept]
        confidence, speech_s = self._picker.confidence, self._speech_samples / SAMPLE_RATE_HZ
        return Heard(
            say_once(clean(self._tokenizer.decode(tokens)), speech_s) if is_speech(no_speech, confidence) else "",
            tuple(tokens),
            speech_s,
            (window,),
            no_speech,
            confidence,
        )

    def _tokens(self, hidden: Tensor, most: int) -> Iterator[int]:
        said: list[int] = []
        self._picker.start()
        while len(said) < most:
            token = self._picker.pick(self._vocabulary(hidden, self._rules.said))
            if token == self._rules.end:
                return
            said.append(token)
            yield token
            if len(said) == most or cut_loop(said) is not None:
                return
            hidden = self._ears.hidden(torch.tensor([[token]]))


class StockHearing:
    """The library left alone: thirty seconds, whatever was said, then its own `generate`."""

    def __init__(self, folder: Path) -> None:
        from engine.models.pocket.whisper_library import (
            StockWhisper,
        )  # it takes seconds, and only this runtime needs it

        self._whisper = StockWhisper(folder)
        self._tokenizer = open_tokenizer(folder / "tokenizer.json")
        self._speech_samples = 0

    def transcribe(self, speech: NDArray[np.float32]) -> Heard:
        """As `Hearing.transcribe`."""
        return _transcribe(self, speech)

    @torch.inference_mode()
    def listen(self, piece: NDArray[np.float32]) -> int:
        """As `Hearing.listen`, but the window is always the longest."""
        self._speech_samples = len(piece)
        return self._whisper.hear(piece)

    @torch.inference_mode()
    def write(self) -> Heard:
        """As `Hearing.write`, by the library's rules alone."""
        tokens = self._whisper.generate()
        text = self._tokenizer.decode(tokens).strip()
        return Heard(text, tuple(tokens), self._speech_samples / SAMPLE_RATE_HZ, (self._whisper.window_s,))


def load_hearing(folder: Path, runtime: str, written: Tensor, heard: Tensor) -> Hearing | StockHearing:
    """Hearing from a folder of converted weights.

    Args:
        folder: Holds `model.safetensors`, `config.json`, `generation_config.json` and `tokenizer.json`.
        runtime: "cadence", "library" or "stock".
        written: Where `cadence` keeps keys and values of its tokens, float32 `[ticks, layers, 2, heads, dim]`.
        heard: Where it keeps those of the window, laid out the same.

    Raises:
        MissingWeights: The folder lacks a file.
    """
    if not (folder / "model.safetensors").is_file():
        raise MissingWeights(f"no Whisper in {folder.name}", "", "run: duplexcadence models fetch pocket")
    if runtime == "stock":
        return StockHearing(folder)
    weights = load_weights(folder)
    ears: Ears
    if runtime == "library":
        from engine.models.pocket.whisper_library import LibraryEars  # it takes seconds, and only this runtime needs it

        ears = LibraryEars(folder)
    else:
        ears = Whisper(weights, folder, written, heard)
    rules = Rules.read(folder / "generation_config.json")
    return Hearing(ears, Vocabulary(weights[TOKEN_EMBEDDING]), rules, open_tokenizer(folder / "tokenizer.json"))


def _transcribe(hearing: Hearing | StockHearing, speech: NDArray[np.float32]) -> Heard:
    parts = []
    for piece in pieces(speech):
        hearing.listen(piece)
        parts.append(hearing.write())
    return Heard(
        " ".join(part.text for part in parts if part.text),
        tuple(token for part in parts for token in part.tokens),
        len(speech) / SAMPLE_RATE_HZ,
        tuple(window for part in parts for window in part.windows_s),
        max((part.no_speech for part in parts if part.no_speech is not None), default=None),
        min((part.confidence for part in parts if part.confidence is not None), default=None),
    )
