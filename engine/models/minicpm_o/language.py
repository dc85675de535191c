"""The stages `llm_prefill`, `llm_decode` and `llm_close`: embeddings and tokens in, logits and what they mean out.

Follows `StreamDecoder.feed` and `drop_tokens_from_cache` of the released code over transformers' Qwen3. What differs:
keys and values lie time-major and are written in place, and a window moves them in place too. Entered by the engine
thread.
"""

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional

from engine.models.layers.carry import keep
from engine.models.layers.named import Named
from engine.models.layers.seams import Graphed
from engine.models.layers.token_stack import turned
from engine.models.minicpm_o.protocol import Slide
from engine.models.minicpm_o.sizes import LanguageSizes
from engine.models.minicpm_o.stacks import Reader, RoundedStack, stack_weights
from engine.step import Step

PREFILL, DECODE, CLOSE = "llm_prefill", "llm_decode", "llm_close"
_TURNED = 512  # ticks whose keys are turned at once: some tens of MiB on the way


class LanguageModel:
    """The stages.

    Args:
        weights: Under their released names, checked against the sizes.
        sizes: Of the same model.
        keys_values: Of the weights' type, `[max_ticks, layers, 2, kv_heads, dim]`; ticks must be committed before a
            step that reaches them.
        shift: `[ticks, 2, kv_heads, dim]`, for what a window moves of one layer; None without a window.
    """

    def __init__(self, weights: Named, sizes: LanguageSizes, keys_values: Tensor, shift: Tensor | None = None) -> None:
        llm, stack = weights.below("llm"), sizes.stack
        self._tokens, self._head = llm["model.embed_tokens.weight"], llm["lm_head.weight"]
        self._read = Reader(RoundedStack(stack_weights(llm), stack, keys_values), stack, len(keys_values), keys_values)
        self._keys_values, self._shift = keys_values, shift
        even = torch.arange(0, stack.dim, 2, dtype=torch.float32, device=keys_values.device) / stack.dim
        self._rates = 1.0 / stack.rope_theta**even  # a window's own, which nothing rounds

    @property
    def held(self) -> int:
        """Ticks of keys and values."""
        return self._read.held

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return self._keys_values.device

    @property
    def beside(self) -> tuple[Tensor, ...]:
        """What steps write beside the states."""
        return (self._read.at,)

    def begin(self, ticks: int = 0) -> None:
        """A session begins, or goes on from so many ticks."""
        self._read.hold(ticks)

    def seam(self, count: int, graphed: Graphed) -> None:
        """From now on read `count` ticks at once in seams; see `engine.models.layers.seams`."""
        self._read.seam(count, graphed)

    def embedded(self, tokens: Sequence[int]) -> Tensor:
        """Tokens as `[n, width]`."""
        return functional.embedding(torch.tensor(tokens, device=self.device), self._tokens)

    def step(self, stage: str, x: Tensor, *, asked: bool) -> Step:
        """Feed `x` `[n, width]`, for a runtime; what is held is counted at once.

        A shape is what is read and the length that it ends at, which never comes again while a past grows: a token's
        graph is clocked, and what reads more goes by seams.

        Args:
            stage: One of the three.
            x: Embeddings.
            asked: Its result is the last one's logits `[tokens]` and its hidden state `[1, width]`; otherwise nothing.
        """
        count = len(x)
        self._read.held += count
        run = partial(self.token if asked else self._read, length=self._read.held)
        return Step(stage, (count, self._read.held), count, run, (x,), seamed=self._read.is_seamed(count))

    def token(self, x: Tensor, length: int) -> tuple[Tensor, Tensor]:
        """Read `x`, which ends at `length`, and ask: logits `[tokens]` and the last hidden state `[1, width]`."""
        hidden = self._read(x, length)
        # Released, the head is asked of every row: the last one's bits are those of a product of as many.
        return functional.linear(hidden, self._head)[-1], hidden[-1:]

    def probe(self, length: int) -> Tensor:
        """The least that decides a token's kernels at a length."""
        return self._read.probe(length)

    def slide(self, cut: Slide) -> None:
        """Drop some ticks; those after them follow on, their keys turned to where they now are.

        Keys are turned back and forth by rates that nothing rounds, as released, though they were turned by rounded
        ones.
        """
        assert not cut.reread, "a window with notes is not built"
        end, state = self.held, self._keys_values
        assert self._shift is not None, "the plan has a shift buffer where there is a window"
        for start in range(cut.stop, end, len(self._shift)):  # one that moves may be longer than what is kept
            stop = min(end, start + len(self._shift))
            keep(state[start - cut.moved : stop], (range(cut.moved, stop - start + cut.moved),), self._shift)
        self._read.hold(end - cut.moved)
        for start in range(cut.start, self.held, _TURNED):
            keys = state[start : min(self.held, start + _TURNED), :, 0]  # [ticks, layers, kv_heads, dim]
            positions = torch.arange(start, start + len(keys), device=self.device)
            cosine, sine = self._turn(positions + cut.moved)
            keys.copy_(turned(turned(keys.flatten(1, 2), cosine, -sine), *self._turn(positions)).view(keys.shape))

    def _turn(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        angles = positions[:, None].float() * self._rates
        angles = torch.cat((angles, angles), 1)
        return angles.cos().to(self._keys_values.dtype), angles.sin().to(self._keys_values.dtype)
