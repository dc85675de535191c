"""The stages `tts_condition` and `tts`: what the language model said and meant, to 25 speech tokens a second.

Follows `_convert_results_to_tts_input` and `MiniCPMTTS.generate_chunk` of the released code over transformers' Llama,
operation by operation in the weights' own type. A unit reads its condition, draws a token, and reads each token drawn
to draw the next: 26 draws, of which the last is only asked whether speech ends, and dropped.

The released attention is the eager one, matrix products and a softmax in float32, and so it is here. What differs: keys
and values lie time-major and are written in place; and the device draws all 26 without being asked, so that where
speech ends early, what was drawn past the end is cut off afterwards, and overwritten by the next unit. Where speech may
not end, the host reads nothing. Entered by the engine thread.
"""

from collections.abc import Generator
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from engine.models.layers.named import Linear, Named
from engine.models.minicpm_o.sampling import SpeechRules, SpeechSampler
from engine.models.minicpm_o.sizes import SpeechSizes
from engine.models.minicpm_o.stacks import EagerStack, Reader, stack_weights
from engine.step import Step

CONDITION, STAGE = "tts_condition", "tts"
UNIT_TOKENS = 25  # spoken at most in a unit
DRAWS = UNIT_TOKENS + 1
_LONGEST = 64  # tokens of a condition; a unit's is shorter


class SpeechDecoder:
    """Both stages.

    Args:
        weights: Under their released names, checked against the sizes.
        sizes: Of the same decoder.
        keys_values: Of the weights' type, `[max_ticks, layers, 2, heads, dim]`; ticks of the condition and of 25 tokens
            must be committed before a unit.
        rules: How tokens are drawn.
    """

    def __init__(
        self, weights: Named, sizes: SpeechSizes, keys_values: Tensor, rules: SpeechRules | None = None
    ) -> None:
        tts, device = weights.below("tts"), keys_values.device
        self._read = Reader(EagerStack(stack_weights(tts), sizes.stack, keys_values), _LONGEST, device)
        self._texts, self._tokens = tts["emb_text.weight"], tts["emb_code.0.weight"]
        self._head = tts.normed("head_code.0")  # [speech tokens, width]
        projector = tts.below("projector_semantic")
        self._project, self._project_again = (Linear(projector.below(f"linear{part}")) for part in (1, 2))
        self._sampler = SpeechSampler(rules or SpeechRules(), sizes.tokens, device)
        self._begins = torch.tensor([sizes.begin], device=device)
        self.sizes = sizes

    @property
    def held(self) -> int:
        """Ticks of keys and values."""
        return self._read.held

    def begin(self) -> None:
        """A turn begins."""
        self._read.hold(0)

    def steps(
        self, texts: Tensor, meanings: Tensor, chance: Tensor | None, *, may_end: bool
    ) -> Generator[Step, Any, Tensor]:
        """A unit's condition and its draws, as steps that a runtime executes; see `engine.step`.

        How many ticks are held is in no key: the stages' graphs are clocked.

        Args:
            texts: What was said in the unit, int64 `[n]`; there may be nothing.
            meanings: What the language model made of each, its last hidden states `[n, llm]`, of the weights' type.
            chance: float32 `[26, tokens]`, as `sampling.draw` makes it; None takes the likeliest.
            may_end: Speech may end: in a turn's first unit, and in the unit that ends it. Costs a read.

        Returns:
            Speech tokens, int64 `[up to 25]`.
        """
        self._sampler.begin(may_end=may_end)
        count = len(texts) + 1
        condition = partial(self._condition, length=self.held + count)
        token: Tensor = yield Step(CONDITION, (count,), count, condition, (texts, meanings, _row(chance, 0)))
        drawn = []
        for index in range(1, DRAWS):
            drawn.append(token)
            speak = partial(self._speak, length=self.held + count + index)
            token = yield Step(STAGE, (1,), 1, speak, (token, _row(chance, index)))
        spoken = torch.cat(drawn)
        if may_end:
            ended = (spoken == self.sizes.end).nonzero()
            spoken = spoken[: int(ended[0]) if len(ended) else UNIT_TOKENS]
        self._read.hold(self.held + count + len(spoken))
        return spoken

    def _condition(self, texts: Tensor, meanings: Tensor, chance: Tensor | None, length: int) -> Tensor:
        """Read a unit's condition; its first token, int64 `[1]`."""
        begins = functional.embedding(self._begins, self._texts)
        if len(texts):
            meant = self._project_again(functional.relu(self._project(meanings)))
            said = functional.embedding(texts, self._texts) + functional.normalize(meant, p=2, dim=-1)
            begins = torch.cat((said, begins))
        return self._draw(begins, chance, length)

    def _speak(self, token: Tensor, chance: Tensor | None, length: int) -> Tensor:
        """Read a speech token, int64 `[1]`; the next one, the same."""
        return self._draw(functional.embedding(token, self._tokens), chance, length)

    def _draw(self, x: Tensor, chance: Tensor | None, length: int) -> Tensor:
        # Released, the head is asked of every position: the last one's bits are those of a product of as many rows.
        return self._sampler(functional.linear(self._read(x, length), self._head)[-1], chance)


def _row(chance: Tensor | None, index: int) -> Tensor | None:
    return None if chance is None else chance[index]
