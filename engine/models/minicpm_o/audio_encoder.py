"""The stage `audio_encoder`: mel frames to language-model embeddings, a second at a time, past keys and values carried.

Follows `MiniCPMWhisperEncoder` and `get_audio_embedding_streaming` of the released code over transformers' Whisper
attention (5.x, sdpa), operation by operation in the weights' own type. Each position sees all that came before it and
the whole of its own launch. What differs: keys and values lie time-major, `[ticks, layers, key|value, heads, dim]`, at
addresses that never move, and are written in place. float16 is not for it: there the released layer clamps.

The released code is written for transformers 4.51, whose attention scales the products and not the query. With a head
of 64, as released, the scale is a power of two and both are the same bits.

Nothing is read back: a launch is decided by its frames, fewer where it is the session's first, and by what is held.
Entered by the engine thread.
"""

from functools import partial

import torch
from torch import Tensor
from torch.nn import functional

from engine.models.layers.named import Linear, Named, Norm
from engine.models.minicpm_o.sizes import EncoderSizes
from engine.step import Step

STAGE = "audio_encoder"
_ALIGNED = 16  # ticks: a mask whose rows begin so far apart is used by every kernel as it lies


class _Layer:
    def __init__(self, weights: Named, sizes: EncoderSizes, state: Tensor) -> None:
        attention = weights.below("self_attn")
        self._query, self._key, self._value, self._out = (
            Linear(attention.below(f"{part}_proj")) for part in ("q", "k", "v", "out")
        )
        self._before, self._between = (
            Norm(weights.below(name)) for name in ("self_attn_layer_norm", "final_layer_norm")
        )
        self._up, self._down = Linear(weights.below("fc1")), Linear(weights.below("fc2"))
        self._state = state  # [ticks, key|value, heads, dim]
        self._heads, self._dim = sizes.heads, sizes.width // sizes.heads

    def __call__(self, x: Tensor, held: int, mask: Tensor) -> Tensor:
        """`x` `[1, n, width]` after `held` ticks; `mask` `[n, held + n]` is added to what is attended by."""
        shape, ticks = (1, -1, self._heads, self._dim), held + x.shape[1]
        inner = self._before(x)
        query = (self._query(inner) * self._dim**-0.5).view(shape).transpose(1, 2).contiguous()
        self._state[held:ticks, 0] = self._key(inner).view(shape)[0]
        self._state[held:ticks, 1] = self._value(inner).view(shape)[0]
        keys, values = self._state[:ticks].permute(1, 2, 0, 3).unsqueeze(1)  # each [1, heads, ticks, dim]
        # A launch's mask hides nothing, but it is what the released code hands over, and it decides the kernel.
        found = functional.scaled_dot_product_attention(query, keys, values, attn_mask=mask, scale=1.0)
        x = x + self._out(found.transpose(1, 2).reshape(1, -1, self._heads * self._dim))
        return x + self._down(functional.gelu(self._up(self._between(x))))


class AudioEncoder:
    """The stage.

    Args:
        weights: Under their released names, checked against the sizes.
        sizes: Of the same encoder.
        keys_values: Of the weights' type, `[max_ticks, layers, 2, heads, dim]`; ticks must be committed before a launch
            that reaches them.
    """

    def __init__(self, weights: Named, sizes: EncoderSizes, keys_values: Tensor) -> None:
        apm, projection = weights.below("apm"), weights.below("audio_projection_layer")
        self._convolutions = [(apm[f"{name}.weight"], apm[f"{name}.bias"]) for name in ("conv1", "conv2")]
        self._positions = apm["embed_positions.weight"]
        self._layers = [
            _Layer(apm.below(f"layers.{index}"), sizes, keys_values[:, index]) for index in range(sizes.layers)
        ]
        self._norm = Norm(apm.below("layer_norm"))
        self._project, self._project_again = (Linear(projection.below(f"linear{part}")) for part in (1, 2))
        rows, columns = sizes.chunk // 2, -(-sizes.positions // _ALIGNED) * _ALIGNED
        self._mask = torch.zeros(rows, columns, dtype=keys_values.dtype, device=keys_values.device)
        self._sizes = sizes
        self.held = 0  # ticks of keys and values
        self.first = True  # the next launch is the session's first, which has no context before it

    def begin(self) -> None:
        """A session begins."""
        self.held, self.first = 0, True

    @property
    def frames(self) -> int:
        """Mel frames that the next launch is fed: a chunk and its context."""
        return self._sizes.chunk + self._sizes.context * (1 if self.first else 2)

    def step(self, mel: Tensor) -> Step:
        """The next launch, for a runtime; what it holds is counted at once.

        Where the table of positions would end, the launch is the first again of what is heard, but not of the session:
        it has context before it.

        Args:
            mel: `[1, mels, frames]`, on the weights' device, of any floating type.
        """
        if self.held + -(-self.frames // 2) >= self._sizes.positions:
            self.held = 0
        step = self.rehearse((self.frames, self.held), mel)
        self.held += self._sizes.chunk // 2
        self.first = False
        return step

    def rehearse(self, shape: tuple[int, ...], mel: Tensor | None = None) -> Step:
        """The step of a planned shape, `(frames, held)`; with room for its mel where none is given."""
        frames, held = shape
        if mel is None:
            mel = torch.zeros(1, self._sizes.mels, frames, device=self._mask.device)
        assert mel.shape == (1, self._sizes.mels, frames), "as many frames as the launch is fed"
        return Step(STAGE, shape, self._sizes.chunk, partial(self, held=held), (mel,), captures=True)

    def __call__(self, mel: Tensor, held: int) -> Tensor:
        """One launch.

        Args:
            mel: `[1, mels, frames]`: a chunk, context after it and, unless it is the session's first, before it.
            held: Positions before it.

        Returns:
            `[chunk / 2 / pool, out]`, of the weights' type.
        """
        x = self._convolved(mel)
        cut, count = -(-self._sizes.context // 2), self._sizes.chunk // 2  # positions
        before = x.shape[2] - cut - count  # as many, or none
        return self._embedded(x[:, :, before : before + count], held, self._mask[:, : held + count])

    def whole(self, mel: Tensor) -> Tensor:
        """A recording at once, as a reference is heard: each position sees its own second and all before it.

        Nothing may be held, and nothing that comes after may rely on it.

        Args:
            mel: `[1, mels, frames]`, of no more positions than the table has and the state has room for.

        Returns:
            `[positions / pool, out]`, of the weights' type.
        """
        x, chunk = self._convolved(mel), self._sizes.chunk // 2
        seconds = torch.arange(x.shape[2], device=mel.device) // chunk
        mask = torch.zeros(len(seconds), len(seconds), dtype=x.dtype, device=mel.device)
        return self._embedded(x, 0, mask.masked_fill(seconds > seconds[:, None], -torch.inf))

    def _convolved(self, mel: Tensor) -> Tensor:
        """`[1, mels, frames]` as `[1, width, positions]`."""
        (first, first_bias), (second, second_bias) = self._convolutions
        x = functional.gelu(functional.conv1d(mel.to(first.dtype), first, first_bias, padding=1))
        return functional.gelu(functional.conv1d(x, second, second_bias, stride=2, padding=1))

    def _embedded(self, x: Tensor, held: int, mask: Tensor) -> Tensor:
        """`x` `[1, width, n]` after `held` positions; `mask` `[n, held + n]`: `[n / pool, out]`."""
        x = x.permute(0, 2, 1) + self._positions[held : held + x.shape[2]]
        for layer in self._layers:
            x = layer(x, held, mask)
        x = self._project_again(functional.relu(self._project(self._norm(x))))
        pooled = functional.avg_pool1d(x.transpose(1, 2), self._sizes.pool, self._sizes.pool)
        return pooled.transpose(1, 2)[0]
