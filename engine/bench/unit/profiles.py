"""What the device does for a token of the language model, for ten ticks at once, for a token of speech: by kernel.

Ours alone. Entered by the engine thread.
"""

from collections.abc import Callable
from typing import Any

import torch

from engine.bench.columns import CADENCE
from engine.bench.kernels import kind_of
from engine.bench.unit.rig import Outside, UnitRig
from engine.bench.unit.tokens import random, saying, speaks, thinks
from engine.models.minicpm_o.language import PREFILL
from engine.models.minicpm_o.speech_decoder import DRAWS

TIMES, NAMED = 4, 16  # runs of each; kernels that are named, what takes longest first
SEVERAL = 10  # ticks at once: a second's embeddings


def profiles(rig: UnitRig, tell: Callable[[str], None]) -> dict[str, Any]:
    """By what is done, in the middle of the contexts: kernels, milliseconds of the device, by kind and by name."""
    if CADENCE not in rig.asked.runtimes:
        return {}
    column, context, sizes = rig.cadence(Outside("L")), rig.contexts[1], rig.sizes
    language, runtime = column.parts.language, column.runtime
    found: dict[str, Any] = {}
    with column.settings():
        past, heard = (random(rig, count, sizes.language.stack.width) for count in (context, SEVERAL))
        token = thinks(column, past, ahead=(TIMES + 2) * (SEVERAL + 1))
        begin, unit = speaks(column, random(rig, context, *sizes.speech.stack.tick_shape), *saying(rig))

        def several() -> None:
            runtime.execute(language.step(PREFILL, heard, asked=True), 0)

        def speech() -> None:
            begin()
            unit()

        for name, work, parts in (
            ("language token", lambda: token(1), 1),
            ("ten ticks of language", several, 1),
            ("speech token", speech, DRAWS),
        ):
            for _ in range(2):
                work()
                column.rest_a_while()
            with torch.profiler.profile(activities=[rig.place.activity]) as profile:
                for _ in range(TIMES):
                    work()
                rig.place.synchronize()
            column.rest_a_while()
            found[name] = _summed_up(profile, rig.place.is_gpu, TIMES * parts)
            tell(f"{name}: {found[name]['count']:.0f} kernels, {found[name]['ms']:.3f} ms")
    column.close()
    return found


def _summed_up(profile: Any, on_gpu: bool, runs: int) -> dict[str, Any]:
    kernels: dict[str, tuple[float, float]] = {}
    for event in profile.key_averages():
        us = event.self_device_time_total if on_gpu else event.self_cpu_time_total
        if us:  # otherwise the host's part of a launch, which has the name of what it launches
            kernels[event.key] = event.count / runs, us / 1e3 / runs
    kinds: dict[str, tuple[float, float]] = {}
    for name, (count, ms) in kernels.items():
        before = kinds.get(kind := kind_of(name), (0.0, 0.0))
        kinds[kind] = before[0] + count, before[1] + ms
    return {
        "count": round(sum(count for count, _ in kernels.values()), 1),
        "ms": round(sum(ms for _, ms in kernels.values()), 4),
        "kinds": _listed(kinds),
        "kernels": _listed({name[:100]: figures for name, figures in kernels.items()})[:NAMED],
    }


def _listed(found: dict[str, tuple[float, float]]) -> list[dict[str, Any]]:
    ordered = sorted(found.items(), key=lambda one: -one[1][1])
    return [{"name": name, "count": round(count, 1), "ms": round(ms, 4)} for name, (count, ms) in ordered]
