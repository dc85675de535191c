"""What the device does in a unit: kernels by kind, and how long it is busy, as torch's profiler sees it.

A sum over kernels: those that run at once, on a graph's lanes, are each counted. On a CPU the same of torch's
operations. Entered by the engine thread.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

import torch

from engine.bench.pace import Said, Speaker, Unit, summed_up
from engine.bench.place import Place

UNITS = 3
# The first that a kernel's name contains is its kind.
_KINDS = {
    "attention": ("fmha", "attention", "flash"),
    "convolution": ("conv", "wgrad", "fprop", "implicit"),
    "product": ("gemm", "gemv", "addmm", "cublas", "product", "linear", "aten::mm", "aten::bmm"),
    "layout": ("nchw", "nhwc", "transpose"),
    "joining": ("cat",),
    "copy": ("copy", "memcpy"),
    "fill": ("memset", "fill", "zero"),
    "norm": ("norm",),
    "softmax": ("softmax",),
    "transform": ("fft",),
    "random": ("distribution", "normal", "uniform", "rand"),
    "element-wise": ("elementwise", "jit", "scaled", "aten::mul", "aten::add"),
}


@dataclass(frozen=True)
class Kernels:
    """One kind of work in one unit.

    Args:
        kind: As `_KINDS` has it.
        count: Kernels.
        ms: Their times' sum.
    """

    kind: str
    count: float
    ms: float


def seen(column: Speaker[Unit], units: Iterator[Unit], place: Place) -> list[Kernels]:
    """A unit's work by kind, what takes longest first; the mean of some units."""
    with torch.profiler.profile(activities=[place.activity]) as profile:
        for unit in islice(units, UNITS):
            column.say(unit)
            place.synchronize()
            column.rest(unit)
    total: dict[str, tuple[float, float]] = {}
    for event in profile.key_averages():
        us = event.self_device_time_total if place.is_gpu else event.self_cpu_time_total
        if not us:
            continue  # the host's part of a launch, which has the name of what it launches
        count, busy = total.get(kind := kind_of(event.key), (0.0, 0.0))
        total[kind] = count + event.count / UNITS, busy + us / 1e3 / UNITS
    found = [Kernels(kind, count, ms) for kind, (count, ms) in total.items()]
    return sorted(found, key=lambda one: -one.ms)


class Telling(Speaker[Said], Protocol[Said]):
    """What is timed and tells more of itself; see `engine.bench.columns.Column`."""

    def figures(self) -> dict[str, Any]:
        """What else is to be told of it."""
        ...


def figures(
    column: Telling[Unit], walls: Sequence[float], units: Iterator[Unit], place: Place, *, profile: bool
) -> dict[str, Any]:
    """A column's times and what it tells of itself, for the record; on a GPU, or where asked for, its kernels too.

    Args:
        column: Of which.
        walls: Milliseconds of its units.
        units: Further ones, of which some are said under the profiler.
        place: Where it runs.
        profile: Name the kernels by kind.
    """
    found = summed_up(walls, place) | column.figures()
    work = seen(column, units, place) if place.is_gpu or profile else []
    if place.is_gpu:
        found["device_busy_ms"] = round(sum(one.ms for one in work), 3)
    if profile:
        found["kernels"] = listed(work)
    return found


def kind_of(name: str) -> str:
    """What a kernel of that name does."""
    low = name.lower()
    return next((kind for kind, parts in _KINDS.items() if any(part in low for part in parts)), "other")


def listed(found: list[Kernels]) -> list[dict[str, Any]]:
    """For the record."""
    return [{"kind": one.kind, "count": round(one.count, 1), "ms": round(one.ms, 4)} for one in found]
