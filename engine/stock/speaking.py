"""The released speech-token decoder of MiniCPM-o: transformers' Llama, its attention eager, its cache dynamic.

The released control flow (`_convert_results_to_tts_input`, `MiniCPMTTS.generate_chunk`) in words of our own, over the
very tensors that ours runs on; every read of the device that it makes is made. Entered by the engine thread.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import parametrize
from torch.nn.utils.parametrizations import weight_norm
from transformers import DynamicCache, LlamaConfig, LlamaModel

from engine.models.minicpm_o.sampling import SpeechRules
from engine.models.minicpm_o.sizes import SpeechSizes
from engine.models.pocket.language import cache_argument
from engine.stock.drawing import multinomial

_ATTENTION: dict[str, Any] = {"attn_implementation": "eager"}
Meaning = tuple[int, Tensor]  # a token that was said, and the language model's last hidden state `[1, 1, llm]`
MOST = 26  # tokens that a unit draws, of which the last is only asked whether speech ends


class _Projector(nn.Module):
    def __init__(self, sizes: SpeechSizes) -> None:
        super().__init__()
        width = sizes.stack.width
        self.linear1, self.linear2 = nn.Linear(sizes.llm, width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.linear2(functional.relu(self.linear1(x)))
        return found


class ReleasedSpeechDecoder:
    """What was said and meant, to speech tokens.

    Args:
        weights: By released names; held, not copied.
        sizes: Of the same decoder.
        rules: How tokens are drawn.
    """

    def __init__(self, weights: Mapping[str, Tensor], sizes: SpeechSizes, rules: SpeechRules | None = None) -> None:
        stack, rules = sizes.stack, rules or SpeechRules()
        tts = {name.removeprefix("tts."): each for name, each in weights.items() if name.startswith("tts.")}
        self._device, dtype = tts["emb_text.weight"].device, tts["emb_text.weight"].dtype
        config = LlamaConfig(
            hidden_size=stack.width,
            intermediate_size=stack.inner,
            num_attention_heads=stack.heads,
            num_key_value_heads=stack.kv_heads,
            num_hidden_layers=stack.layers,
            head_dim=stack.dim,
            rms_norm_eps=stack.eps,
            rope_parameters={"rope_type": "default", "rope_theta": stack.rope_theta},
            max_position_embeddings=4096,
            **_ATTENTION,
            vocab_size=4,
        )
        with torch.device("meta"):
            self._model: Any = LlamaModel(config)  # its own table of four embeddings is left out
            self._projector = _Projector(sizes)
            head = nn.Linear(stack.width, sizes.tokens, bias=False)
        self._model.load_state_dict(_under(tts, "model."), assign=True, strict=False)
        # The demo casts the whole model, and the rates of its rotary positions with it.
        self._model.rotary_emb = type(self._model.rotary_emb)(config).to(self._device, dtype)
        self._projector.load_state_dict(_under(tts, "projector_semantic."), assign=True)
        self._texts = nn.Embedding.from_pretrained(tts["emb_text.weight"])
        self._tokens = nn.Embedding.from_pretrained(tts["emb_code.0.weight"])
        self._head = weight_norm(head.to_empty(device="cpu"))
        self._head.load_state_dict(_under(tts, "head_code.0."), assign=True)
        for module in (self._model, self._projector, self._head):
            module.requires_grad_(False).eval()
        self._cache_name, self._rules, self._sizes = cache_argument(self._model), rules, sizes
        self._end = torch.tensor([sizes.end], device=self._device)
        self._temperature = torch.tensor([rules.temperature], dtype=torch.float, device=self._device)
        self.begin()

    def begin(self) -> None:
        """A turn begins."""
        self.cache: DynamicCache | None = None
        self.start = 0  # ticks before the unit

    @torch.no_grad()
    def condition(self, said: Sequence[Meaning]) -> Tensor:
        """What a unit's speech is drawn from: `[1, n + 1, width]`."""
        begins = self._texts(torch.tensor([self._sizes.begin], device=self._device))
        x: Tensor = begins.unsqueeze(0)
        if not said:
            return x
        texts = self._texts(torch.Tensor([token for token, _ in said]).to(self._device, dtype=torch.long))
        meant = self._projector(torch.cat([hidden.squeeze(0) for _, hidden in said], dim=0))
        spoken = texts + functional.normalize(meant, p=2, dim=-1)
        return torch.cat([spoken, begins], dim=0).unsqueeze(0)

    @torch.no_grad()
    def __call__(self, condition: Tensor, chance: Tensor | None, *, least: int, ends_turn: bool) -> Tensor:
        """A unit's speech tokens, int64 `[1, n]`.

        Args:
            condition: As `condition` gives it.
            chance: float32 `[26, tokens]`; None takes the likeliest.
            least: Draws that may not end speech.
            ends_turn: The unit is the turn's last: what is carried is dropped.
        """
        count, device = condition.shape[1], self._device
        finish = torch.zeros(1, device=device).bool()
        temperature = self._temperature[None].expand(1, -1).contiguous().view(-1, 1)
        drawn = torch.zeros(1, MOST, 1, dtype=torch.long, device=device)
        self.cache = self.cache or DynamicCache()
        at = 0
        for at in range(MOST):
            if at == 0:
                x, first, many = condition, self.start, count
            else:
                x, first, many = self._tokens(drawn[:, at - 1 : at, 0]), self.start + count + at - 1, 1
            positions = torch.tensor(list(range(first, first + many)), dtype=torch.long, device=device)[None]
            options: dict[str, Any] = {self._cache_name: self.cache}
            hidden = self._model(inputs_embeds=x, position_ids=positions, use_cache=True, **options).last_hidden_state
            with parametrize.cached():
                logits = torch.empty(1, many, self._sizes.tokens, 1, dtype=torch.float, device=device)
                logits[..., 0] = self._head(hidden)
            logits = logits[:, -1].float().permute(0, 2, 1).reshape(-1, self._sizes.tokens)
            logits /= temperature
            if at:
                logits = self._penalised(drawn[:, :at].permute(0, 2, 1).reshape(1, -1), logits)
            if at < least:
                logits[:, self._end] = -torch.inf
            if chance is None:
                token = logits.argmax(-1, keepdim=True)
            else:
                token = multinomial(functional.softmax(logits, dim=-1), chance[at])
            finish.logical_or_(token.eq(self._end).any(1))
            drawn[:, at] = token
            if at == 0 and finish.any():
                break
            if finish.all():
                break
        finish.all()  # asked once more, for a line in the log
        found = drawn[:, :at, 0]
        if ends_turn:
            self.begin()
        else:
            self.start += count + found.shape[1]
        return found

    def _penalised(self, drawn: Tensor, logits: Tensor) -> Tensor:
        if drawn.shape[1] > self._rules.window:
            drawn = drawn.narrow(1, -self._rules.window, self._rules.window)
        counts = functional.one_hot(drawn, logits.shape[1]).sum(1)
        alpha = torch.pow(self._rules.penalty, counts)
        return torch.where(logits < 0, logits.multiply(alpha), logits.divide(alpha))


def _under(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): each for name, each in tensors.items() if name.startswith(prefix)}
