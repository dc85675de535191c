"""The released audio encoder of MiniCPM-o: transformers' Whisper attention over a dynamic cache, a second at a time.

The released control flow (`get_audio_embedding_streaming`, `MiniCPMWhisperEncoder`) in words of our own, over the very
tensors that ours runs on. Entered by the engine thread.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from transformers import DynamicCache, WhisperConfig
from transformers.models.whisper.modeling_whisper import WhisperAttention

from engine.models.minicpm_o.sizes import EncoderSizes
from engine.models.pocket.language import cache_argument

_ATTENTION: dict[str, Any] = {"attn_implementation": "sdpa"}


class _Layer(nn.Module):
    """The released layer, which counts itself, so that its attention can keep keys and values."""

    def __init__(self, config: WhisperConfig, index: int) -> None:
        super().__init__()
        width, inner = config.d_model, config.encoder_ffn_dim
        self.self_attn = WhisperAttention(width, config.encoder_attention_heads, config=config, layer_idx=index)
        self.self_attn_layer_norm, self.final_layer_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.fc1, self.fc2 = nn.Linear(width, inner), nn.Linear(inner, width)
        self._cache = cache_argument(self.self_attn)

    def forward(self, x: Tensor, mask: Tensor, cache: DynamicCache) -> Tensor:
        attended = self.self_attn(
            hidden_states=self.self_attn_layer_norm(x), attention_mask=mask, **{self._cache: cache}
        )[0]
        x = x + attended
        found: Tensor = x + self.fc2(nn.functional.gelu(self.fc1(self.final_layer_norm(x))))
        return found


class _Encoder(nn.Module):
    def __init__(self, sizes: EncoderSizes) -> None:
        super().__init__()
        config = WhisperConfig(
            d_model=sizes.width,
            encoder_layers=sizes.layers,
            encoder_attention_heads=sizes.heads,
            encoder_ffn_dim=sizes.inner,
            num_mel_bins=sizes.mels,
            max_source_positions=sizes.positions,
            **_ATTENTION,
        )
        self.conv1 = nn.Conv1d(sizes.mels, sizes.width, 3, padding=1)
        self.conv2 = nn.Conv1d(sizes.width, sizes.width, 3, stride=2, padding=1)
        self.embed_positions = nn.Embedding(sizes.positions, sizes.width)
        self.layers = nn.ModuleList(_Layer(config, index) for index in range(sizes.layers))
        self.layer_norm = nn.LayerNorm(sizes.width)


class _Projection(nn.Module):
    def __init__(self, sizes: EncoderSizes) -> None:
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(sizes.width, sizes.out), nn.Linear(sizes.out, sizes.out)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.linear2(nn.functional.relu(self.linear1(x)))
        return found


class _Parts(nn.Module):
    def __init__(self, sizes: EncoderSizes) -> None:
        super().__init__()
        self.apm, self.audio_projection_layer = _Encoder(sizes), _Projection(sizes)


class ReleasedEncoder:
    """Mel to embeddings, what was heard before it carried.

    Args:
        weights: By released names; held, not copied.
        sizes: Of the same encoder.
    """

    def __init__(self, weights: Mapping[str, Tensor], sizes: EncoderSizes) -> None:
        with torch.device("meta"):
            parts = _Parts(sizes)
        own = {name: each for name, each in weights.items() if name.startswith(("apm.", "audio_projection_layer."))}
        parts.load_state_dict(own, assign=True)
        parts.requires_grad_(False).eval()
        self._apm, self._project = parts.apm, parts.audio_projection_layer
        self._pool, self._sizes = nn.AvgPool1d(sizes.pool, stride=sizes.pool), sizes
        self.begin()

    def begin(self) -> None:
        """A session begins."""
        self.cache: DynamicCache | None = None
        self.resets = 0

    @property
    def held(self) -> int:
        """Positions that keys and values are kept of."""
        return 0 if self.cache is None else int(self.cache.get_seq_length())

    @torch.no_grad()
    def __call__(self, mel: Tensor, before: int, after: int) -> Tensor:
        """One launch.

        Args:
            mel: `[1, mels, frames]`, context among them.
            before: Frames of context before.
            after: Frames of context after.

        Returns:
            `[embeddings, out]`, of the weights' type.
        """
        apm, frames = self._apm, mel.shape[2]
        made = (frames - 1) // 2 + 1
        if self.cache is not None and self.held + made >= self._sizes.positions:
            self.cache, self.resets = None, self.resets + 1
        mel = mel.to(apm.conv1.weight.dtype)
        count = made - (before + 1) // 2 - (after + 1) // 2
        mask = torch.zeros(1, 1, count, self.held + count, dtype=mel.dtype, device=mel.device)
        x = nn.functional.gelu(apm.conv1(mel))
        x = nn.functional.gelu(apm.conv2(x))
        x = x[:, :, (before + 1) // 2 : made - (after + 1) // 2].permute(0, 2, 1)
        past = self.held
        x = x + apm.embed_positions.weight[past : past + x.shape[1]]
        self.cache = self.cache or DynamicCache()
        return self._embedded(x, mask, self.cache, made)

    @torch.no_grad()
    def whole(self, mel: Tensor, chunk: int = 50) -> Tensor:
        """A recording at once (`get_audio_embedding`), `[1, mels, frames]`: `[embeddings, out]`.

        Args:
            mel: All of it.
            chunk: Positions that see one another; each sees all before them too.
        """
        apm, made = self._apm, (mel.shape[2] - 1) // 2 + 1
        mel = mel.to(apm.conv1.weight.dtype)
        x = nn.functional.gelu(apm.conv2(nn.functional.gelu(apm.conv1(mel)))).permute(0, 2, 1)
        x = x + apm.embed_positions.weight[:made]
        seen = torch.zeros(made, made, dtype=torch.bool, device=mel.device)
        for position in range(made):
            seen[position, : min((position // chunk + 1) * chunk, made)] = True
        mask = torch.zeros(1, 1, made, made, dtype=mel.dtype, device=mel.device)
        mask[~seen[None, None]] = float("-inf")
        return self._embedded(x, mask, DynamicCache(), made)

    def _embedded(self, x: Tensor, mask: Tensor, cache: DynamicCache, made: int) -> Tensor:
        layer: Any
        for layer in self._apm.layers:
            x = layer(x, mask, cache)
        x = self._project(self._apm.layer_norm(x))
        embeddings = self._pool(x.transpose(1, 2)).transpose(1, 2)
        found: Tensor = embeddings[0, : (made - self._sizes.pool) // self._sizes.pool + 1]
        return found
