"""The released driver of token2wav, on any device.

The driver (`Token2wav`) puts its tensors on "cuda" by name; its module is given a torch that knows better. What it
would take from a recording through ONNX networks is handed to it. All else is its own: slicing, trimming, fading.
"""

import contextlib
import types
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from engine.models.token2wav.unit import VoicePrompt


class ReleasedDriver:
    """The released `Token2wav`, driven as MiniCPM-o drives it: a prompt once, a copy of its caches for every turn.

    Args:
        released: As `package.import_released` gives it; its driver then works on the modules' device.
        flow: The released flow.
        vocoder: The released vocoder.
        steps: Of the solver.
    """

    def __init__(self, released: types.SimpleNamespace, flow: Any, vocoder: Any, steps: int) -> None:
        device = flow.encoder_proj.weight.device
        released.driver.torch = _TorchOn(device)
        self.own = object.__new__(released.driver.Token2wav)
        self.own.float16, self.own.n_timesteps, self.own.flow, self.own.hift = False, steps, flow, vocoder
        self.own.mel_cache_len, self.own.source_cache_len = 8, 8 * 480
        self.own.speech_window = torch.from_numpy(np.hamming(2 * self.own.source_cache_len)).to(device)

    def prepare(self, prompt: VoicePrompt) -> None:
        """Take in the voice, and begin the first turn."""
        tokens, mel = prompt.tokens, prompt.mel
        lengths = (torch.tensor([part.shape[1]]) for part in (tokens, mel))
        self.own._prepare_prompt = lambda _: (tokens, next(lengths), prompt.speaker, mel, next(lengths))
        with contextlib.redirect_stdout(None):
            self._begin = self.own.set_stream_cache("")
        self._begin = tuple({name: part.clone() for name, part in cache.items()} for cache in self._begin)
        self.reset()

    def reset(self) -> None:
        """Begin a new turn."""
        stream, vocoder = self._begin
        self.own.stream_cache = {name: part.clone() for name, part in stream.items()}
        self.own.hift_cache_dict = {name: part.clone() for name, part in vocoder.items()}

    def __call__(self, tokens: Tensor, *, last: bool = False) -> Tensor:
        """Sound of tokens `[1, n]`, on the host, float32 `[1, samples]`; `reset` must follow the last ones."""
        return torch.from_numpy(self.own.stream(tokens[0].tolist(), "", last_chunk=last, return_waveform=True))

    @property
    def caches(self) -> Mapping[str, Tensor]:
        """What is carried, by released name."""
        return {**self.own.stream_cache, **self.own.hift_cache_dict}

    def carry(self, caches: Mapping[str, Tensor]) -> None:
        """Go on from other caches, under the same names."""
        self.own.stream_cache = {name: caches[name] for name in self.own.stream_cache}
        self.own.hift_cache_dict = {name: caches[name] for name in self.own.hift_cache_dict}

    @property
    def state_bytes(self) -> int:
        """Bytes of all that it holds beside weights: buffers, caches, and the copy that every turn begins with."""
        buffers = [
            each
            for name, each in self.own.flow.named_buffers()
            if name.endswith(("att_cache_buffer", "cnn_cache_buffer"))
        ]
        held = [*buffers, *self.caches.values(), *(part for cache in self._begin for part in cache.values())]
        storages = {part.untyped_storage().data_ptr(): part.untyped_storage().nbytes() for part in held}
        return sum(storages.values())


class _TorchOn:
    """torch, but that "cuda" means the device at hand, and casting nothing is not warned of."""

    amp = types.SimpleNamespace(autocast=lambda *_, **__: contextlib.nullcontext())

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)

    def tensor(self, data: Any, device: str = "", **options: Any) -> Tensor:
        return torch.tensor(data, device=self._device, **options)

    def zeros(self, *shape: int, device: str = "", **options: Any) -> Tensor:
        return torch.zeros(*shape, device=self._device, **options)
