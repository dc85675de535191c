"""Graphs without a GPU: what a step asked of torch is recorded, and asked again over the same memory.

As in a CUDA graph, Python runs at the capture alone. So a step that remembers something itself, draws its own noise or
looks at the device is found here as it would be there. Slow; for trials of tiny models. Entered by one thread.
"""

from collections.abc import Callable, Iterable
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from engine.clock import Clock
from engine.replay import CannotCapture, Timed
from engine.step import Step

_LOOKS = ("_local_scalar_dense", "nonzero", "is_nonzero", "equal", "masked_select")  # what waits for a device


class _Recording(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls: list[tuple[Any, tuple[Any, ...], dict[str, Any], list[Tensor]]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.overloadpacket.__name__ in _LOOKS:
            raise CannotCapture(f"it looks at the device ({func.overloadpacket.__name__})")
        # Names of the same memory, as they are now: an operation may yet turn a tensor's own axes about.
        given = tree_map(_alias, (args, kwargs or {}))
        result = func(*args, **(kwargs or {}))
        self.calls.append((func, *given, _tensors(tree_map(_alias, result))))
        return result


class RecordedGraph:
    """One recorded step; see `engine.replay.Graph`."""

    def __init__(self, calls: list[Any], inputs: tuple[Tensor, ...], result: Any) -> None:
        self._calls, self._inputs, self._result = calls, inputs, result

    def replay(self, inputs: tuple[Any, ...]) -> Any:
        for place, given in zip(self._inputs, inputs, strict=True):
            place.copy_(given)
        for func, args, kwargs, before in self._calls:
            after = func(*args, **kwargs)
            for old, new in zip(before, _tensors(after), strict=True):
                if old.data_ptr() != new.data_ptr():
                    old.copy_(new)
        return self._result


class RecordedPool:
    """Recorded graphs; see `engine.replay.Pool`.

    Args:
        states: All memory that a step may write; left as it was by a capture.
    """

    held_bytes = 0

    def __init__(self, states: Iterable[Tensor]) -> None:
        self._states = list(states)

    def capture(self, step: Step) -> RecordedGraph:
        inputs = tuple(given.clone() for given in step.inputs)
        before = [state.clone() for state in self._states]
        try:
            with _Recording() as recording:
                result = step.run(*inputs)
        except (RuntimeError, IndexError) as error:
            raise CannotCapture(" ".join(str(error).split("\n", 1)[0].split())) from error
        finally:
            for state, kept in zip(self._states, before, strict=True):
                state.copy_(kept)
        return RecordedGraph(recording.calls, inputs, result)

    def retire(self) -> None:
        """Nothing: the memory goes with the graphs."""


class Recorder:
    """Records; see `engine.replay.Capturer`.

    Args:
        states: As `RecordedPool`.
        clock: Tells the time.
    """

    def __init__(self, states: Iterable[Tensor], clock: Clock) -> None:
        self._states, self._clock = list(states), clock

    def pool(self) -> RecordedPool:
        return RecordedPool(self._states)

    def timed(self, work: Callable[[], Any]) -> tuple[Any, Callable[[], Timed]]:
        start_ns, result = self._clock.now_ns(), work()
        busy_ns = self._clock.now_ns() - start_ns
        return result, lambda: Timed(start_ns, busy_ns)


def _alias(each: Any) -> Any:
    return each.detach() if isinstance(each, Tensor) else each


def _tensors(result: Any) -> list[Tensor]:
    if isinstance(result, Tensor):
        return [result]
    return [each for part in result for each in _tensors(part)] if isinstance(result, tuple | list) else []
