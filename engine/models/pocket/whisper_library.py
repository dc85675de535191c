"""Whisper as transformers runs it: its modules and caches on our windows, and its whole `generate` as released.

The one place that knows transformers' Whisper. Imported only where a session asks for these runtimes, because that
import takes seconds. Entered by the engine thread.
"""

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import DynamicCache, EncoderDecoderCache, WhisperFeatureExtractor, WhisperForConditionalGeneration
from transformers.utils import logging

from engine.models.pocket.windows import SAMPLE_RATE_HZ


def load_whisper(folder: Path) -> Any:
    """The library's model in float32, as its authors published it."""
    logging.disable_progress_bar()
    logging.set_verbosity_error()  # it warns of settings that the released model itself brings
    model = WhisperForConditionalGeneration.from_pretrained(folder, dtype=torch.float32, attn_implementation="sdpa")
    return model.eval()


class LibraryEars:
    """transformers' encoder and decoder, its caches concatenated token by token, on windows of any length."""

    def __init__(self, folder: Path) -> None:
        self._model = load_whisper(folder).model
        self._positions = self._model.encoder.embed_positions.weight
        parameters = inspect.signature(self._model.decoder.forward).parameters
        self._cache_name = "cache" if "cache" in parameters else "past_key_values"  # what older transformers call it
        self._encoded = torch.zeros(0)
        self._cache = EncoderDecoderCache(DynamicCache(), DynamicCache())

    def hear(self, mel: Tensor) -> None:
        # The released encoder refuses any window but its own thirty seconds, and adds all its positions: a shorter one
        # is a model with fewer positions, otherwise the same.
        positions = mel.shape[-1] // 2
        encoder = self._model.encoder
        encoder.config.max_source_positions = positions
        encoder.embed_positions = torch.nn.Embedding.from_pretrained(self._positions[:positions])
        self._encoded = encoder(mel).last_hidden_state
        self._cache = EncoderDecoderCache(DynamicCache(), DynamicCache())

    def hidden(self, tokens: Tensor) -> Tensor:
        caches = {self._cache_name: self._cache}
        said = self._model.decoder(tokens, encoder_hidden_states=self._encoded, use_cache=True, **caches)
        hidden: Tensor = said.last_hidden_state
        return hidden


class StockWhisper:
    """transformers' whole path: padded to thirty seconds, then `generate` with the released settings."""

    def __init__(self, folder: Path) -> None:
        self._model = load_whisper(folder)
        self._extractor = WhisperFeatureExtractor()
        self._encoded: Any = None

    @property
    def window_s(self) -> int:
        """Seconds that every utterance is padded to."""
        return int(self._extractor.chunk_length)

    def hear(self, speech: NDArray[np.float32]) -> int:
        """Take in an utterance, float32 `[samples]` at 16 kHz; ticks of the encoder's output."""
        mel = self._extractor(speech, sampling_rate=SAMPLE_RATE_HZ, return_tensors="pt").input_features
        self._encoded = self._model.model.encoder(mel)
        return int(self._encoded.last_hidden_state.shape[1])

    def generate(self) -> list[int]:
        """The tokens of what was heard, without prompt and end."""
        tokens: list[int] = self._model.generate(encoder_outputs=self._encoded)[0].tolist()
        return tokens
