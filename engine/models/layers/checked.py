"""A checkpoint's tensors held to the names and shapes that its sizes tell of. Knows no file format."""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from torch import Tensor

from engine.errors import BadWeights

Shape: TypeAlias = tuple[int, ...]
Shapes: TypeAlias = Iterator[tuple[str, Shape]]
_NAMED_AT_MOST = 3  # of what is wrong with a file


def refuse_unlike(what: str, tensors: Mapping[str, Tensor], shapes: Mapping[str, Shape]) -> None:
    """Hold tensors to names and shapes.

    Args:
        what: What holds them, for the error: a file's name, or a part's.
        tensors: By name.
        shapes: All that there must be, and nothing else may.

    Raises:
        BadWeights: A tensor is missing, unknown, or of another shape.
    """
    wrong = [f"no {name}" for name in shapes if name not in tensors]
    wrong += [f"{name}, which is unknown" for name in tensors if name not in shapes]
    wrong += [
        f"{name} of shape {list(tensors[name].shape)} for {list(shape)}"
        for name, shape in shapes.items()
        if name in tensors and tensors[name].shape != shape
    ]
    if wrong:
        more = f" and {len(wrong) - _NAMED_AT_MOST} more" if len(wrong) > _NAMED_AT_MOST else ""
        raise BadWeights(f"{what} holds {'; '.join(wrong[:_NAMED_AT_MOST])}{more}", "the tensors that its sizes need")


def below(prefix: str, shapes: Shapes) -> Shapes:
    """The same with `prefix.` before each name."""
    return ((f"{prefix}.{name}", shape) for name, shape in shapes)


def linear(name: str, inputs: int, outputs: int, bias: bool = True) -> Shapes:
    """Of a matrix and, where there is one, its bias."""
    yield f"{name}.weight", (outputs, inputs)
    if bias:
        yield f"{name}.bias", (outputs,)


def norm(name: str, width: int) -> Shapes:
    """Of a layer norm."""
    yield f"{name}.weight", (width,)
    yield f"{name}.bias", (width,)
