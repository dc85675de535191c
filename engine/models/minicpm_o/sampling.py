"""How a token is drawn: the speech decoder's and the language model's released rules, on the device, without a read.

Chance comes in as numbers: `draw` makes them, and without them the likeliest token is taken. They are used as
`torch.multinomial` uses its own, so that the same generator leads to the same tokens. The rules keep what they need of
the past in fixed shapes, so that every token is the same work. The released `listen_top_k`, which is off unless asked
for, is left out. Entered by the engine thread.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional


def draw(count: int, tokens: int, dtype: torch.dtype, generator: torch.Generator) -> Tensor:
    """Chance for `count` tokens out of `tokens`: `[count, tokens]`, exponential, on the generator's device."""
    chance = torch.empty(count, tokens, dtype=dtype, device=generator.device)
    for row in chance:  # one token's after another's, as they would be drawn
        row.exponential_(1, generator=generator)
    return chance


def picked(logits: Tensor, chance: Tensor | None) -> Tensor:
    """The token that chance `[tokens]` picks by `logits` `[tokens]`, or the likeliest: int64 `[1]`."""
    # A softmax may round the likeliest two to one, so without chance the logits tell.
    return (logits if chance is None else functional.softmax(logits, -1) / chance).argmax(-1, keepdim=True)


class Recent:
    """The last tokens drawn, on the device.

    Args:
        window: How many.
        tokens: There are.
        device: Where.
    """

    def __init__(self, window: int, tokens: int, device: torch.device) -> None:
        self._none = tokens  # stands where nothing has been drawn yet
        self.tokens = torch.full((window,), tokens, device=device)
        self._ones = torch.ones_like(self.tokens)

    def forget(self) -> None:
        """Nothing has been drawn."""
        self.tokens.fill_(self._none)

    def add(self, token: Tensor, unless: Tensor | None = None) -> None:
        """Take in `token` int64 `[1]`; not where `unless`, bool `[1]`, holds."""
        moved = torch.cat((self.tokens[1:], token))
        self.tokens.copy_(moved if unless is None else torch.where(unless, self.tokens, moved))

    def counts(self) -> Tensor:
        """How often each token is among them, int64 `[tokens]`."""
        counts = self.tokens.new_zeros(self._none + 1)
        return counts.scatter_add_(0, self.tokens, self._ones)[: self._none]


@dataclass(frozen=True)
class SpeechRules:
    """How a speech token is drawn.

    The released decoder makes top-p and top-k warpers beside these and never applies them.

    Args:
        temperature: Logits are divided by it.
        penalty: For each time that a token is among the last ones, its logit is so many times less likely.
        window: How many are the last ones; they begin anew with each unit.
    """

    temperature: float = 0.8
    penalty: float = 1.05
    window: int = 16


class SpeechSampler:
    """Draws speech tokens.

    Args:
        rules: How.
        tokens: There are; the last one ends speech.
        device: Where logits are.
    """

    def __init__(self, rules: SpeechRules, tokens: int, device: torch.device) -> None:
        self._recent, self._penalty = Recent(rules.window, tokens, device), rules.penalty
        self._temperature = torch.full((1,), rules.temperature, device=device)
        self._may_end = torch.zeros(1, dtype=torch.bool, device=device)

    @property
    def beside(self) -> tuple[Tensor, ...]:
        """What drawing writes."""
        return (self._recent.tokens,)

    def begin(self, *, may_end: bool) -> None:
        """A unit begins, whose speech may or may not end."""
        self._recent.forget()
        self._may_end.fill_(may_end)

    def __call__(self, logits: Tensor, chance: Tensor | None) -> Tensor:
        """Draw by `logits` `[tokens]` of any type and `chance`, float32 `[tokens]`, if any: int64 `[1]`."""
        scores = logits.float() / self._temperature
        alpha = torch.pow(self._penalty, self._recent.counts())
        scores = torch.where(scores < 0, scores * alpha, scores / alpha)
        scores[-1:] = torch.where(self._may_end, scores[-1:], -torch.inf)
        token = picked(scores, chance)
        self._recent.add(token)
        return token


@dataclass(frozen=True)
class TextRules:
    """How a text token is drawn.

    Args:
        ends_unit: The token that ends a unit; drawn beforehand from the untouched logits, and only then.
        ends_turn: The token that ends a turn.
        listens: The token that `listen_scale` weighs. The released code takes the tokenizer's end of text for it.
        forbidden: Tokens never drawn otherwise; `ends_unit` is one of them.
        temperature: Logits are divided by it.
        top_k: Only so many of the likeliest; 0 takes all.
        top_p: Only the likeliest, until they are so likely together; 0 takes all.
        penalty: Logits of the last tokens are divided by it, whatever their sign: so released.
        window: How many are the last ones, over the whole session.
        length_penalty: Above one, a turn is less likely to end.
        listen_scale: The logit of `listens` times this.
    """

    ends_unit: int
    ends_turn: int
    listens: int
    forbidden: Sequence[int] = ()
    temperature: float = 0.7
    top_k: int = 20
    top_p: float = 0.8
    penalty: float = 1.05
    window: int = 512
    length_penalty: float = 1.1
    listen_scale: float = 1.0


class TextSampler:
    """Draws text tokens, and remembers them.

    Args:
        rules: How.
        tokens: There are.
        device: Where logits are.
        dtype: Of logits.
    """

    def __init__(
        self, rules: TextRules, tokens: int, device: torch.device, dtype: torch.dtype = torch.bfloat16
    ) -> None:
        self._rules, self._recent = rules, Recent(rules.window, tokens, device)
        self._tokens, self._dtype = tokens, dtype
        self._forbidden = torch.tensor(sorted({*rules.forbidden, rules.ends_unit}), device=device)
        self._end = torch.tensor([rules.ends_unit], device=device)

    @property
    def beside(self) -> tuple[Tensor, ...]:
        """What drawing writes."""
        return (self._recent.tokens,)

    def begin(self) -> None:
        """A session begins."""
        self._recent.forget()

    def room(self, *, chance: bool) -> tuple[Tensor, ...]:
        """Room for what it is called with."""
        rows = torch.ones(3, self._tokens, dtype=self._dtype, device=self._end.device)
        return (rows[0], rows[1:]) if chance else (rows[0],)

    def __call__(self, logits: Tensor, chance: Tensor | None = None) -> Tensor:
        """Draw a token.

        Args:
            logits: `[tokens]`, of the weights' type.
            chance: `[2, tokens]` of the same type: whether the unit ends, then which token. None takes the likeliest;
                temperature, top-k and top-p then play no part.

        Returns:
            int64 `[1]`.
        """
        rules = self._rules
        ends = picked(logits, None if chance is None else chance[0]) == self._end
        scores = logits.index_fill(0, self._forbidden, -torch.inf)
        if rules.penalty != 1:
            scores = torch.where(self._recent.counts() > 0, scores / rules.penalty, scores)
        if (by := rules.length_penalty) != 1:
            turn = scores[rules.ends_turn : rules.ends_turn + 1]
            turn.copy_(torch.where(turn > 0, turn / by, turn * by))
        if rules.listen_scale != 1:
            scores[rules.listens] *= rules.listen_scale
        if chance is None:
            token = picked(scores, None)
        else:
            token = picked(nucleus(scores / rules.temperature, rules.top_k, rules.top_p), chance[1])
        self._recent.add(token, unless=ends)
        return torch.where(ends, self._end, token)


def nucleus(scores: Tensor, top_k: int, top_p: float) -> Tensor:
    """`scores` `[tokens]`, all but the likeliest minus infinity: the first `top_k`, and of these those to `top_p`."""
    scores = scores[None]  # a row, as released: a sort of one may break ties otherwise
    if top_k > 0:
        least = torch.topk(scores, min(top_k, scores.shape[1]))[0][:, -1:]
        scores = torch.where(scores < least, -torch.inf, scores)
    if top_p > 0:
        ordered, order = torch.sort(scores, descending=True)
        beyond = functional.softmax(ordered, -1).cumsum(-1) > top_p
        beyond = functional.pad(beyond[:, :-1], (1, 0))  # the one that goes beyond is still in
        scores = scores.scatter(1, order, torch.where(beyond, -torch.inf, ordered))
    return scores[0]
