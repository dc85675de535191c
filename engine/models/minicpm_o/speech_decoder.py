"""The stages `tts_condition` and `tts`: what the language model said and meant, to 25 speech tokens a second.

Follows `_convert_results_to_tts_input` and `MiniCPMTTS.generate_chunk` of the released code over transformers' Llama,
operation by operation in the weights' own type. A unit reads its condition, draws a token, and reads each token drawn
to draw the next: 26 draws, of which the last is only asked whether speech ends, and dropped.

The released attention is the eager one, matrix products and a softmax in float32, and so it is here. What differs: keys
and values lie time-major and are written in place; and the device draws all 26 without being asked, so that where
speech ends early, what was drawn past the end is cut off afterwards, and overwritten by the next unit. Where speech may
not end, the host reads nothing. Entered by the engine thread.
"""

from collections.abc import Generator, Iterator
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
        self._read = Reader(
            EagerStack(stack_weights(tts), sizes.stack, keys_values), sizes.stack, _LONGEST, keys_values
        )
        self._texts, self._tokens = tts["emb_text.weight"], tts["emb_code.0.weight"]
        self._head = tts.normed("head_code.0")  # [speech tokens, width]
        projector = tts.below("projector_semantic")
        self._project, self._project_again = (Linear(projector.below(f"linear{part}")) for part in (1, 2))
        self._sampler = SpeechSampler(rules or SpeechRules(), sizes.tokens, device)
        self._begins = torch.tensor([sizes.begin], device=device)
        self.captures = True  # whether its steps, one for each length, may run from graphs
        self.sizes = sizes

    @property
    def held(self) -> int:
        """Ticks of keys and values."""
        return self._read.held

    @property
    def beside(self) -> tuple[Tensor, ...]:
        """What steps write beside the states."""
        return self._read.at, *self._sampler.beside

    def begin(self, ticks: int = 0) -> None:
        """A turn begins, or goes on from so many ticks."""
        self._read.hold(ticks)

    def steps(
        self, texts: Tensor, meanings: Tensor, chance: Tensor | None, *, may_end: bool
    ) -> Generator[Step, Any, Tensor]:
        """A unit's condition and its draws, as steps that a runtime executes; see `engine.step`.

        A shape is what is read and the length that it ends at: lengths recur from turn to turn.

        Args:
            texts: What was said in the unit, int64 `[n]`; there may be nothing.
            meanings: What the language model made of each, its last hidden states `[n, llm]`, of the weights' type.
            chance: float32 `[26, tokens]`, as `sampling.draw` makes it; None takes the likeliest.
            may_end: Speech may end: in a turn's first unit, and in the unit that ends it. Costs a read.

        Returns:
            Speech tokens, int64 `[up to 25]`.
        """
        self._sampler.begin(may_end=may_end)
        rows: Iterator[Tensor | None] = iter(chance if chance is not None else (None,) * DRAWS)
        count = len(texts) + 1
        token: Tensor = yield self._step(CONDITION, (count, self.held + count), (texts, meanings), next(rows))
        drawn = []
        for length, row in enumerate(rows, self.held + count + 1):
            drawn.append(token)
            token = yield self._step(STAGE, (1, length), (token,), row)
        spoken = torch.cat(drawn)
        if may_end:
            ended = (spoken == self.sizes.end).nonzero()
            spoken = spoken[: int(ended[0]) if len(ended) else UNIT_TOKENS]
        self._read.hold(self.held + count + len(spoken))
        return spoken

    def rehearse(self, stage: str, shape: tuple[int, ...], *, chance: bool) -> Step:
        """The step of a shape, `(read, length)`, with room for its inputs.

        Args:
            stage: One of the two.
            shape: What is read, and the length that it ends at.
            chance: Whether tokens are drawn by chance.
        """
        device, count = self._begins.device, shape[0] - 1
        tokens = torch.zeros(1 if stage == STAGE else count, dtype=torch.int64, device=device)
        meanings = torch.zeros(count, self.sizes.llm, dtype=self._texts.dtype, device=device)
        row = torch.ones(self.sizes.tokens, device=device) if chance else None
        return self._step(stage, shape, (tokens,) if stage == STAGE else (tokens, meanings), row)

    def _step(self, stage: str, shape: tuple[int, ...], inputs: tuple[Tensor, ...], chance: Tensor | None) -> Step:
        work = self.token if stage == STAGE else self._condition
        inputs = inputs if chance is None else (*inputs, chance)
        return Step(stage, shape, shape[0], partial(work, length=shape[1]), inputs, captures=self.captures)

    def _condition(self, texts: Tensor, meanings: Tensor, chance: Tensor | None = None, *, length: int) -> Tensor:
        """Read a unit's condition; its first token, int64 `[1]`."""
        begins = functional.embedding(self._begins, self._texts)
        if len(texts):
            meant = self._project_again(functional.relu(self._project(meanings)))
            said = functional.embedding(texts, self._texts) + functional.normalize(meant, p=2, dim=-1)
            begins = torch.cat((said, begins))
        return self._draw(begins, chance, length)

    def token(self, token: Tensor, chance: Tensor | None = None, *, length: int) -> Tensor:
        """Read a speech token, int64 `[1]`, which ends at `length`; the next one, the same."""
        return self._draw(functional.embedding(token, self._tokens), chance, length)

    def probe(self, length: int) -> Tensor:
        """The least that decides a token's kernels at a length."""
        return self._read.probe(length)

    def _draw(self, x: Tensor, chance: Tensor | None, length: int) -> Tensor:
        # Released, the head is asked of every position: the last one's bits are those of a product of as many rows.
        return self._sampler(functional.linear(self._read(x, length), self._head)[-1], chance)
