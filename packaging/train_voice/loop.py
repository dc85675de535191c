"""The loop that all stages share: one captured CUDA graph a step (data drawn on the device), averaged weights,
time-bounded, resumable.

A run is given until when it may train and which part of the whole schedule that is (`progress` from 0 to 1 over all
runs of the stage); the learning rate is a function of that progress alone. `NAME.pt` resumes exactly on the same
machine; `NAME.safetensors` (averaged weights, bf16) is what travels, and resumes with fresh optimiser state; where
a measure is named, the best so far is kept there.
"""

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pack
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

Losses = dict[str, Tensor]


@dataclass
class Run:
    """Where and how long one stage trains."""

    name: str
    folder: Path
    device: torch.device
    until: float  # seconds since the epoch
    progress: tuple[float, float]
    seed: int


def optimiser(
    parameters: list[nn.Parameter], peak: float, betas: tuple[float, float], decay: float, device: torch.device
) -> torch.optim.AdamW:
    """AdamW whose rate is a tensor, so that a captured step follows it."""
    cuda = device.type == "cuda"
    made = torch.optim.AdamW(
        parameters, lr=torch.tensor(peak, device=device), betas=betas, weight_decay=decay, fused=cuda, capturable=cuda
    )
    made.peak = peak  # type: ignore[attr-defined]
    return made


def load_light(model: nn.Module, path: Path, partial: bool = False) -> None:
    """Load averaged weights from a travelling or a packed checkpoint."""
    model.load_state_dict(pack.load(path), strict=not partial)


def save_light(state: dict[str, Tensor], path: Path) -> None:
    """Save weights in bf16."""
    save_file({k: v.to(torch.bfloat16).contiguous().cpu() for k, v in state.items()}, path)


def rate_at(progress: float, since_start: int) -> float:
    """Warm-up over 300 steps of each run, cosine over the whole schedule down to a fiftieth."""
    return min(1.0, (since_start + 1) / 300) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * min(1.0, progress))))


class Averages:
    """Exponential averages of the weights, updated inside the step."""

    def __init__(self, model: nn.Module, keep: float):
        self.model, self.keep = model, keep
        self.weights = [p.detach().clone() for p in model.parameters()]

    @torch.no_grad()
    def update(self) -> None:
        torch._foreach_lerp_(self.weights, [p.detach() for p in self.model.parameters()], 1 - self.keep)

    def state(self) -> dict[str, Tensor]:
        """The averaged weights under the model's names."""
        return dict(zip((n for n, _ in self.model.named_parameters()), self.weights, strict=True))


def train(
    run: Run,
    models: dict[str, nn.Module],
    averaged: str,
    optimisers: list[torch.optim.AdamW],
    step: Callable[[], Losses],
    validate: Callable[[nn.Module], dict[str, float]],
    every_seconds: float = 60.0,
    keep_best: str | None = None,
) -> None:
    """Train `models` until the time is up; `step` draws data, updates weights and returns what to log."""
    full, light = run.folder / f"{run.name}.pt", run.folder / f"{run.name}.safetensors"
    steps, averages, best = 0, None, math.inf
    if full.exists():
        held = torch.load(full, map_location=run.device, weights_only=True)
        for name, model in models.items():
            model.load_state_dict(held["models"][name])
        for made, state in zip(optimisers, held["optimisers"], strict=True):
            made.load_state_dict(state)
        averages = Averages(models[averaged], 0.999)
        averages.weights = [w.to(run.device) for w in held["averages"]]
        steps = held["steps"]
    elif light.exists():
        for name, model in models.items():
            path = light if name == averaged else run.folder / f"{run.name}-{name}.safetensors"
            if path.exists():
                load_light(model, path)
        print(f"{run.name}: from travelling weights", flush=True)
    averages = averages or Averages(models[averaged], 0.999)
    log = open(run.folder / f"{run.name}.jsonl", "a")  # noqa: SIM115 - open as long as the run

    def whole_step() -> Losses:
        losses = step()
        averages.update()
        return losses

    graph, losses = None, None
    for model in models.values():
        model.train()
    if run.device.type == "cuda":
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for made in optimisers:
                made.param_groups[0]["lr"].fill_(0.0)
            for _ in range(3):
                whole_step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        for made in optimisers:
            made.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            losses = whole_step()
    began, since, last_report, sums, count = time.time(), 0, time.time(), {}, 0
    print(f"{run.name}: begins at step {steps}, {run.until - began:.0f} s to go", flush=True)

    def now() -> float:
        share = (time.time() - began) / max(1e-6, run.until - began)
        return run.progress[0] + (run.progress[1] - run.progress[0]) * min(1.0, share)

    def report() -> None:
        nonlocal sums, count, last_report, best
        shadow = {n: p.detach().clone() for n, p in models[averaged].named_parameters()}
        models[averaged].load_state_dict(averages.state(), strict=False)
        models[averaged].eval()
        with torch.no_grad():
            measured = validate(models[averaged])
        models[averaged].train()
        models[averaged].load_state_dict(shadow, strict=False)
        entry = {
            "stage": run.name,
            "step": steps,
            "progress": round(now(), 4),
            "seconds": round(time.time() - began, 1),
        }
        entry |= {k: round((v / max(1, count)).item(), 5) for k, v in sums.items()} | {
            f"valid_{k}": round(v, 5) for k, v in measured.items()
        }
        print(json.dumps(entry), flush=True)
        log.write(json.dumps(entry) + "\n")
        log.flush()
        sums, count, last_report = {}, 0, time.time()
        found = measured[keep_best] if keep_best else -math.inf
        if found < best or not keep_best:
            best = found
            save_light(averages.state(), light)

    def save() -> None:
        torch.save(
            {
                "models": {n: m.state_dict() for n, m in models.items()},
                "optimisers": [o.state_dict() for o in optimisers],
                "averages": averages.weights,
                "steps": steps,
            },
            full,
        )
        for name, model in models.items():
            if name != averaged:
                save_light(dict(model.named_parameters()), run.folder / f"{run.name}-{name}.safetensors")

    while time.time() < run.until:
        for made in optimisers:
            made.param_groups[0]["lr"].fill_(made.peak * rate_at(now(), since))
        if graph is not None:
            for _ in range(10):
                graph.replay()
            steps, since = steps + 10, since + 10
        else:
            losses = whole_step()
            steps, since = steps + 1, since + 1
        count += 1
        for name, value in losses.items():
            sums[name] = sums.get(name, torch.zeros((), device=run.device)) + value.detach()
        if count % 5 == 0 and graph is not None:
            torch.cuda.synchronize()
        if time.time() - last_report > every_seconds:
            report()
            save()
    report()
    save()
