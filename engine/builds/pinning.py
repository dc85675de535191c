"""The backends' settings that are pinned, and a runtime that works in them. Entered by the engine thread."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from engine.runtime import Runtime
from engine.step import Step
from engine.timing import StageRecord


@contextmanager
def pinned() -> Iterator[None]:
    """Convolutions that repeat themselves, and no search for faster ones: all that the released code lacks for it.

    Products stay in float32 and convolutions in TF32, as torch has them by itself; attention in float32 has one fused
    kernel on CUDA, memory-efficient, which torch picks by itself. In bfloat16 it would pick cuDNN's on Hopper, which
    plans anew for every length and does not repeat itself: without it, flash attention, or behind a mask the
    memory-efficient one.
    """
    cudnn, cuda = torch.backends.cudnn, torch.backends.cuda
    was = cudnn.deterministic, cudnn.benchmark, cuda.cudnn_sdp_enabled()
    cudnn.deterministic, cudnn.benchmark = True, False
    cuda.enable_cudnn_sdp(False)
    try:
        yield
    finally:
        cudnn.deterministic, cudnn.benchmark = was[:2]
        cuda.enable_cudnn_sdp(was[2])


class PinnedRuntime:
    """A runtime whose work is done in pinned settings; see `engine.runtime.Runtime`.

    Args:
        runtime: It.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime, self.name = runtime, runtime.name

    def execute(self, step: Step, origin_ns: int) -> tuple[Any, StageRecord]:
        with pinned():
            return self._runtime.execute(step, origin_ns)

    def settle(self, records: Iterable[StageRecord], origin_ns: int) -> list[StageRecord]:
        return self._runtime.settle(records, origin_ns)

    def use_slack(self, until_ns: int) -> int:
        with pinned():
            return self._runtime.use_slack(until_ns)
