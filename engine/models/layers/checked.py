"""A checkpoint's tensors held to the names and shapes that its sizes tell of. Knows no file format."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from torch import Tensor

from engine.errors import BadWeights
from engine.models.layers.named import Named

Shape: TypeAlias = tuple[int, ...]
Shapes: TypeAlias = Iterator[tuple[str, Shape]]
_NAMED_AT_MOST = 3  # of what is wrong with a file


@dataclass(frozen=True)
class Unlike:
    """How tensors differ from those that there must be.

    Args:
        missing: Names that are not there.
        unknown: Names that should not be there.
        misshapen: Of another shape: each with both.
    """

    missing: tuple[str, ...]
    unknown: tuple[str, ...]
    misshapen: tuple[str, ...]


def compare(found: Mapping[str, Sequence[int]], shapes: Mapping[str, Shape]) -> Unlike:
    """Hold shapes found to those that there must be, and nothing else may."""
    return Unlike(
        missing=tuple(name for name in shapes if name not in found),
        unknown=tuple(name for name in found if name not in shapes),
        misshapen=tuple(
            f"{name} of shape {list(found[name])} for {list(shape)}"
            for name, shape in shapes.items()
            if name in found and tuple(found[name]) != shape
        ),
    )


def refuse_unlike(what: str, tensors: Mapping[str, Tensor], shapes: Mapping[str, Shape]) -> None:
    """Hold tensors to names and shapes.

    Args:
        what: What holds them, for the error: a file's name, or a part's.
        tensors: By name.
        shapes: All that there must be, and nothing else may.

    Raises:
        BadWeights: A tensor is missing, unknown, or of another shape.
    """
    unlike = compare({name: tensor.shape for name, tensor in tensors.items()}, shapes)
    wrong = [f"no {name}" for name in unlike.missing]
    wrong += [f"{name}, which is unknown" for name in unlike.unknown]
    wrong += unlike.misshapen
    if wrong:
        more = f" and {len(wrong) - _NAMED_AT_MOST} more" if len(wrong) > _NAMED_AT_MOST else ""
        raise BadWeights(f"{what} holds {'; '.join(wrong[:_NAMED_AT_MOST])}{more}", "the tensors that its sizes need")


def checked(what: str, tensors: Mapping[str, Tensor], shapes: Mapping[str, Shape]) -> Named:
    """Tensors of a part, under names with a leading "`what`." or without, held to names and shapes.

    Raises:
        BadWeights: A tensor is missing, unknown, or of another shape.
    """
    own = {name.removeprefix(f"{what}."): tensor for name, tensor in tensors.items()}
    refuse_unlike(what, own, shapes)
    return Named(own)


def refuse_other(what: str, asked: Mapping[str, tuple[Any, Any]]) -> None:
    """Refuse a configuration that asks for something else than is built.

    Args:
        what: Of which part, for the error.
        asked: By name, what came and what is built.

    Raises:
        BadWeights: They differ.
    """
    for name, (came, needed) in asked.items():
        if came != needed:
            raise BadWeights(f"{what} has {name} = {came}", f"{needed}, for nothing else is built")


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
