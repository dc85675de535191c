"""The released driver of token2wav, on any device, and what it carries beside what ours carries.

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

from engine.models.token2wav.unit import Token2Wav, VoicePrompt


class ReleasedDriver:
    """The released `Token2wav`, driven as MiniCPM-o drives it: a prompt once, a copy of its caches for every turn."""

    def __init__(self, released: types.SimpleNamespace, flow: Any, vocoder: Any, steps: int) -> None:
        device = flow.encoder_proj.weight.device
        released.driver.torch = _TorchOn(device)
        self.own = object.__new__(released.driver.Token2wav)
        self.own.float16, self.own.n_timesteps, self.own.flow, self.own.hift = False, steps, flow, vocoder
        self.own.mel_cache_len, self.own.source_cache_len = 8, 8 * 480
        self.own.speech_window = torch.from_numpy(np.hamming(2 * self.own.source_cache_len)).to(device)

    def prepare(self, prompt: VoicePrompt) -> None:
        tokens, mel = prompt.tokens, prompt.mel
        lengths = (torch.tensor([part.shape[1]]) for part in (tokens, mel))
        self.own._prepare_prompt = lambda _: (tokens, next(lengths), prompt.speaker, mel, next(lengths))
        with contextlib.redirect_stdout(None):
            self._begin = self.own.set_stream_cache("")
        self._begin = tuple({name: part.clone() for name, part in cache.items()} for cache in self._begin)
        self.reset()

    def reset(self) -> None:
        stream, vocoder = self._begin
        self.own.stream_cache = {name: part.clone() for name, part in stream.items()}
        self.own.hift_cache_dict = {name: part.clone() for name, part in vocoder.items()}

    def __call__(self, tokens: Tensor, *, last: bool = False) -> Tensor:
        return torch.from_numpy(self.own.stream(tokens[0].tolist(), "", last_chunk=last, return_waveform=True))

    @property
    def caches(self) -> Mapping[str, Tensor]:
        return {**self.own.stream_cache, **self.own.hift_cache_dict}


def same_caches(ours: Token2Wav, views: Mapping[str, Tensor], released: ReleasedDriver) -> dict[str, bool]:
    """By released name, whether ours carries what the released caches carry, tick for tick and bit for bit."""
    theirs, layers = released.caches, ours.sizes.flow.encoder.layers
    held, frames, steps = ours.encoder.held, ours.flow.held, views["flow.conv"].shape[1]
    attention = views["flow_encoder.attention"][:held].permute(1, 2, 3, 0, 4)
    up_attention = views["flow_encoder.up_attention"][: 2 * held].permute(1, 2, 3, 0, 4)
    tails = torch.cat((views["flow_encoder.look_ahead_conv"], views["flow_encoder.upsample_conv"]))
    pairs = {
        "conformer_cnn_cache": (tails.permute(1, 2, 0), theirs["conformer_cnn_cache"]),
        "conformer_att_cache, before": (attention, theirs["conformer_att_cache"][:layers, :, :, :held]),
        "conformer_att_cache, after": (up_attention, theirs["conformer_att_cache"][layers:]),
        "estimator_cnn_cache": (views["flow.conv"].permute(1, 2, 3, 4, 0), theirs["estimator_cnn_cache"][:steps]),
        "estimator_att_cache": (
            views["flow.attention"][:frames].permute(1, 2, 3, 4, 0, 5),
            theirs["estimator_att_cache"][:steps],
        ),
    }
    if ours.vocoder.held:
        pairs |= {name: (views[f"vocoder.{name}"].movedim(0, -1), theirs[name]) for name in ("mel", "source", "speech")}
    return {name: torch.equal(*pair) for name, pair in pairs.items()}


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
