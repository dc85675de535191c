"""Work of which none waits for the other, side by side: on streams of their own while a graph is being captured.

A captured graph keeps the forks and joins, so that small kernels which leave most of a GPU idle run at once; they are
the same kernels, so the bits are the same. Eagerly, and on a CPU, all runs one after another, in the order given.

What a lane reads must live until it is joined: memory that Python lets go of may be handed out again on the main stream
at once. Entered by the engine thread.
"""

from collections.abc import Callable
from typing import Any

import torch

Work = Callable[[], Any]


class Lanes:
    """Streams beside the one that a launch is captured on.

    Args:
        device: Where the work is.
        count: How many.
    """

    def __init__(self, device: torch.device, count: int = 3) -> None:
        self._streams = [torch.cuda.Stream(device) for _ in range(count)] if device.type == "cuda" else []

    def together(self, *works: Work) -> list[Any]:
        """Do all of `works`, the last one here; what each came to, once all are done."""
        ahead = [self.start(lane, work) for lane, work in enumerate(works[:-1])]
        last = works[-1]()
        return [*(one.join() for one in ahead), last]

    def start(self, lane: int, work: Work) -> "Started":
        """Begin `work` on a lane, after everything that has been begun here or on that lane."""
        if not self._streams or not torch.cuda.is_current_stream_capturing():
            return Started(work(), None)
        stream = self._streams[lane]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            return Started(work(), stream.record_event())


class Started:
    """Work under way on a lane."""

    def __init__(self, result: Any, done: "torch.cuda.Event | None") -> None:
        self._result, self._done = result, done

    def join(self) -> Any:
        """What it came to; all that is begun here from now on waits for it."""
        if self._done is not None:
            torch.cuda.current_stream().wait_event(self._done)
        return self._result
