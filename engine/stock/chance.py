"""Chance from outside, used as `torch.multinomial` uses its own: the one change to how the released code draws."""

from torch import Tensor


def multinomial(probabilities: Tensor, chance: Tensor) -> Tensor:
    """One choice for each row of `[rows, choices]`, by chance `[choices]`, exponential: int64 `[rows, 1]`."""
    return (probabilities / chance).argmax(-1, keepdim=True)
