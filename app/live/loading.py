"""Brings a model to where it can talk: its weights fetched where they are not here, loaded, warmed up.

Tells how far it is and asks as often whether it is still wanted. Knows no session and no device. Entered by [engine].
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from app.live.preload import preload
from app.live.snapshot import Phase, Progress
from app.pace import Pace
from engine.errors import BadWeights, MissingWeights
from engine.models import registry, weights
from engine.models.registry import Built
from engine.phrases import readable

Tell = Callable[[Phase, Progress], None]  # takes how far it is
Check = Callable[[], None]  # raises where it is not wanted any more


class FetchProgress:
    """What a fetch tells (`engine.models.weights.Progress`), as a snapshot shows it.

    Args:
        tell: Takes it.
        check: What it raises ends the fetch, which goes on another time from where it came.
        now_s: The clock.
    """

    def __init__(self, tell: Tell, check: Check, now_s: Callable[[], float]) -> None:
        self._tell, self._check, self._now_s = tell, check, now_s
        self._total: int | None = None
        self._pace = Pace()
        self._told = Progress("looking for weights")

    def say(self, line: str) -> None:
        self._show(replace(self._told, detail=line))

    def begin(self, what: str, total_bytes: int | None = None) -> None:
        self._total = total_bytes
        self._pace.restart()
        self._show(Progress(what))

    def at(self, done_bytes: int) -> None:
        if not self._total:
            self._show(Progress(self._told.what))
            return
        self._pace.at(self._now_s(), done_bytes)
        detail = ", ".join([f"{readable(done_bytes)} of {readable(self._total)}", *self._pace.told(self._total)])
        self._show(Progress(self._told.what, min(1.0, done_bytes / self._total), detail))

    def end(self) -> None:
        pass

    def _show(self, progress: Progress) -> None:
        self._check()
        self._told = progress
        self._tell(Phase.FETCHING, progress)


class Loader:
    """Models, made ready.

    Args:
        now_s: The clock.
        let_go: Called where a model has made room for another.
        fetch: Brings weights, as `engine.models.weights.fetch`.
        options: Of the models' own, as a builder takes them.
    """

    def __init__(
        self,
        now_s: Callable[[], float],
        let_go: Callable[[], None] = lambda: None,
        fetch: Callable[..., None] = weights.fetch,
        **options: Any,
    ) -> None:
        self._now_s, self._let_go, self._fetch, self._options = now_s, let_go, fetch, options
        self._built: Built | None = None
        self._asked = ("", "")

    def ready(self, model: str, runtime: str, tell: Tell, check: Check) -> Built:
        """A model that can talk; the one that was asked for before is kept, another takes its place.

        A load, once begun, is gone through with: half a model is of no use, a whole one is there the next time.

        Args:
            model: Its name.
            runtime: Whose stages run.
            tell: Told how far it is.
            check: Asked while weights are fetched, several times a second.

        Raises:
            CadenceError: The model is not to be had, or cannot be loaded.
        """
        entry = registry.find(model)
        entry.require_runs()
        if self._built is not None and self._asked == (entry.name, runtime):
            return self._built
        if self._built is not None:
            self._built = None  # two at once may not fit
            self._let_go()
        tell(Phase.LOADING, Progress(f"loading {entry.name}", 0.0))
        names = weights.open_store().manifest.of_model(entry.name)
        if not _all_here(names):
            self._fetch(names, progress=FetchProgress(tell, check, self._now_s))
        check()
        preload()
        tell(Phase.LOADING, Progress(f"loading {entry.name}", 0.1))
        built = entry.build(runtime, **self._options)
        tell(Phase.LOADING, Progress(f"warming {entry.name} up", 0.65))
        built.model.prepare()
        self._built, self._asked = built, (entry.name, runtime)
        return built


def _all_here(names: Sequence[str]) -> bool:
    try:
        for name in names:
            weights.locate(name)
    except (MissingWeights, BadWeights):
        return False
    return True
