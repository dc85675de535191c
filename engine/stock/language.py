"""The released language model of MiniCPM-o: transformers' Qwen3 over a dynamic cache, fed and asked token by token.

The released control flow (`StreamDecoder.feed`, `decode`, `enforce_window`) in words of our own, over the very tensors
that ours runs on; every read of the device that it makes is made. Entered by the engine thread.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache, Qwen3Config, Qwen3ForCausalLM

from engine.models.minicpm_o.protocol import WindowLimits, WindowMode
from engine.models.minicpm_o.sampling import TextRules
from engine.models.minicpm_o.sizes import LanguageSizes
from engine.models.pocket.language import cache_argument
from engine.stock.drawing import ReleasedDrawing

_ATTENTION: dict[str, Any] = {"attn_implementation": "sdpa"}


class ReleasedLanguage:
    """Embeddings and tokens in, logits and what they mean out.

    Args:
        weights: By released names; held, not copied.
        sizes: Of the same model.
        rules: How tokens are drawn.
        window: How much of the past is kept; in no mode of notes.
    """

    def __init__(
        self, weights: Mapping[str, Tensor], sizes: LanguageSizes, rules: TextRules, window: WindowLimits
    ) -> None:
        assert window.mode is not WindowMode.CONTEXT, "the window with notes is not built"
        stack = sizes.stack
        config = Qwen3Config(
            vocab_size=sizes.tokens,
            hidden_size=stack.width,
            intermediate_size=stack.inner,
            num_hidden_layers=stack.layers,
            num_attention_heads=stack.heads,
            num_key_value_heads=stack.kv_heads,
            head_dim=stack.dim,
            rms_norm_eps=stack.eps,
            rope_parameters={"rope_type": "default", "rope_theta": stack.rope_theta},
            **_ATTENTION,
        )
        with torch.device("meta"):
            model = Qwen3ForCausalLM(config)
        own = {name.removeprefix("llm."): each for name, each in weights.items() if name.startswith("llm.")}
        model.load_state_dict(own, assign=True)
        first = own["lm_head.weight"]
        # The demo casts the whole model, and the rates of its rotary positions with it.
        model.model.rotary_emb = type(model.model.rotary_emb)(config).to(first.device, first.dtype)
        self.model = model.requires_grad_(False).eval()
        self._cache_name, self._rules, self._window = cache_argument(model), rules, window
        self._theta = stack.rope_theta
        self.begin()

    def begin(self) -> None:
        """A session begins."""
        self.cache: DynamicCache | None = None
        self.preserved = 0  # ticks of the system prompt
        self._draw = ReleasedDrawing(self._rules)
        self._units: list[int] = []  # ticks of each unit
        self._started = 0
        self._rates: Tensor | None = None

    @property
    def held(self) -> int:
        """Ticks of keys and values."""
        return 0 if self.cache is None else int(self.cache.get_seq_length())

    def embedded(self, tokens: Sequence[int]) -> Tensor:
        """Tokens as `[n, width]`."""
        found: Tensor = self.model.model.embed_tokens(torch.tensor(tokens, device=self.model.device))
        return found

    @torch.no_grad()
    def feed(self, x: Tensor, *, asked: bool = False) -> tuple[Tensor, Tensor] | None:
        """Read `[n, width]`; the last one's logits `[1, tokens]` and all hidden states `[1, n, width]` where asked."""
        past = self.held
        positions = torch.arange(past, past + len(x), device=x.device)[None]
        self.cache = self.cache or DynamicCache()
        out = self.model(
            inputs_embeds=x[None], position_ids=positions, output_hidden_states=True, **{self._cache_name: self.cache}
        )
        if not asked:
            return None
        return self.model.lm_head(out.hidden_states[-1])[:, -1], out.hidden_states[-1]

    @torch.no_grad()
    def decode(self, logits: Tensor, chance: Tensor | None) -> Tensor:
        """Draw a token; see `ReleasedDrawing`."""
        return self._draw(logits, chance)

    def begin_unit(self) -> None:
        """A unit begins."""
        self._started = self.held

    @torch.no_grad()
    def end_unit(self) -> None:
        """A unit has ended, and is held: units go, one by one, where the window is full."""
        self._units.append(self.held - self._started)
        if self._window.mode is WindowMode.BASIC and self.held > self._window.high:
            while self._units and self.held > self._window.low:
                self._drop(self._units.pop(0))

    def _drop(self, ticks: int) -> None:
        """Drop `ticks` behind the system prompt, and turn the keys after them to where they now are."""
        assert self.cache is not None
        start, stop, end = self.preserved, self.preserved + ticks, self.held
        layer: Any
        for layer in self.cache.layers:
            keys, values = layer.keys, layer.values
            device = keys.device
            old, new = torch.arange(stop, end, device=device), torch.arange(start, start + end - stop, device=device)
            turned = self._realigned(keys[:, :, stop:], old, new)
            layer.keys = torch.cat([keys[:, :, :start], turned], dim=-2).contiguous()
            layer.values = torch.cat([values[:, :, :start], values[:, :, stop:]], dim=-2).contiguous()

    def _realigned(self, keys: Tensor, old: Tensor, new: Tensor) -> Tensor:
        if not keys.numel():
            return keys
        cosine, sine = self._turn(old, keys)
        base = cosine * keys - sine * _rotated(keys)
        cosine, sine = self._turn(new, keys)
        return cosine * base + sine * _rotated(base)

    def _turn(self, positions: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
        if self._rates is None:
            dim = keys.shape[-1]
            exponent = torch.arange(0, dim, 2, device=keys.device, dtype=torch.float32) / dim
            self._rates = 1.0 / (self._theta**exponent)
        angles = torch.einsum("i,j->ij", positions.to(dtype=torch.float32), self._rates)
        cosine, sine = torch.cos(angles), torch.sin(angles)
        cosine, sine = (torch.cat([each, each], -1).to(keys.dtype)[None, None] for each in (cosine, sine))
        return cosine, sine


def _rotated(x: Tensor) -> Tensor:
    first, second = x.chunk(2, -1)
    return torch.cat((-second, first), -1)
