"""How the released language model draws a text token: rule by rule, with the reads of the device that it waits for.

Chance comes from outside and is used as `torch.multinomial` uses its own: the one change. Entered by the engine thread.
"""

import torch
from torch import Tensor
from torch.nn import functional

from engine.models.minicpm_o.sampling import TextRules


def multinomial(probabilities: Tensor, chance: Tensor) -> Tensor:
    """One choice for each row of `[rows, choices]`, by chance `[choices]`, exponential: int64 `[rows, 1]`."""
    return (probabilities / chance).argmax(-1, keepdim=True)


class ReleasedDrawing:
    """Draws, and remembers what was drawn.

    Args:
        rules: How.
    """

    def __init__(self, rules: TextRules) -> None:
        self._rules = rules
        self.drawn: list[int] = []

    def __call__(self, logits: Tensor, chance: Tensor | None) -> Tensor:
        """Draw a token by logits `[1, tokens]`: int64 `[1]`.

        Args:
            logits: The last one's.
            chance: `[2, tokens]`: whether the unit ends, then which token; None takes the likeliest ("greedy").
        """
        rules, logits = self._rules, logits.clone()
        if chance is None:
            first = int(torch.argmax(logits[0]).item())
        else:
            first = int(multinomial(functional.softmax(logits, dim=-1), chance[0]).item())
        if first == rules.ends_unit:
            return torch.tensor([first], device=logits.device)
        logits[:, [*rules.forbidden, rules.ends_unit]] = -torch.inf
        if rules.penalty != 1.0:
            for known in set(self.drawn[-rules.window :]):
                logits[0, known] /= rules.penalty
        if rules.length_penalty != 1.0:
            if logits[0, rules.ends_turn] > 0:
                logits[0, rules.ends_turn] = logits[0, rules.ends_turn] / rules.length_penalty
            else:
                logits[0, rules.ends_turn] = logits[0, rules.ends_turn] * rules.length_penalty
        if rules.listen_scale != 1.0:
            logits[0, rules.listens] *= rules.listen_scale
        (logits[0] > logits[0, rules.listens]).sum().item()  # the rank of listening, for `listen_top_k`, which is off
        if chance is None:
            token = torch.argmax(logits, dim=-1)
        else:
            logits = _nucleus(logits / rules.temperature, rules.top_k, rules.top_p)
            token = multinomial(functional.softmax(logits, dim=-1), chance[1])[0]
        self.drawn.append(int(token.item()))
        return token


def _nucleus(logits: Tensor, top_k: int, top_p: float) -> Tensor:
    logits = logits.clone()
    if top_k > 0:
        least = torch.topk(logits, min(top_k, logits.shape[-1]))[0][..., -1, None]
        logits[logits < least] = -torch.inf
    if top_p > 0.0:
        ordered, order = torch.sort(logits, descending=True)
        beyond = torch.cumsum(functional.softmax(ordered, dim=-1), dim=-1) > top_p
        beyond[..., 1:] = beyond[..., :-1].clone()
        beyond[..., 0] = False
        logits[0, order[beyond]] = -torch.inf
    return logits
