"""Measures token2wav on a device before anything is built upon it: are the bits the released ones, does it capture.

Run it from the checkout's root; it needs the released wheel in the cache (any of the token2wav tests fetches it):

    python -m tests.gpu.probe_tail equal                   # bits, layer by layer, eagerly, over a scripted session
    python -m tests.gpu.probe_tail graph                   # the same session from one graph a shape; capture and memory
    python -m tests.gpu.probe_tail time --runtime graph    # steady units of one runtime, a process each, with its peak
    python -m tests.gpu.probe_tail profile                 # kernels of one steady unit by kind

Weights are random at released sizes: times, memory and bits are true, the sound is noise. Each line it prints is JSON.
`--device cpu --tiny` walks the eager parts without a GPU.
"""

import argparse
import collections
import json
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from engine.clock import Rate
from engine.models.layers.harmonics import draw_noise
from engine.models.token2wav.checkpoint import Checkpoint
from engine.models.token2wav.made_up import TINY, resized
from engine.models.token2wav.sizes import Token2WavSizes
from engine.models.token2wav.timelines import prompt_tokens, token2wav
from engine.models.token2wav.unit import Token2Wav, VoicePrompt
from engine.plan import Launch, plan
from engine.stage import Ticking, Timeline
from engine.stock.caches import same_caches
from engine.stock.driver import ReleasedDriver
from engine.stock.package import fetched_wheel, import_released
from tests.golden.token2wav import random_modules

SCRIPT = "S17 " + "S " * 6 + "F13 L S8 S S F0"


def tell(**facts: Any) -> None:
    print(json.dumps(facts), flush=True)  # noqa: T201 - it is a command


class Bench:
    """Both runtimes over the same weights, prompt and tokens."""

    def __init__(self, asked: argparse.Namespace, runtimes: tuple[str, ...]) -> None:
        self.device = torch.device(asked.device)
        sizes = TINY if asked.tiny else Token2WavSizes()
        count = prompt_tokens(round(asked.prompt_s * 16_000))
        lines = token2wav("tts", prompt=count, solver_steps=asked.steps, least=5, silence=3)
        lines = resized(lines, sizes)
        speech = Timeline("tts", Ticking(Rate(25), speech=True), "speech token", chunk=1)
        self.plan, self.sizes = plan((speech, *lines), script=SCRIPT), sizes
        frames = 400 if asked.tiny else 1000  # as many as the released buffers have room for
        flow, vocoder = random_modules(import_released(fetched_wheel()), sizes, 16, frames)
        noise = flow.decoder.rand_noise.to(self.device)
        generator = torch.Generator().manual_seed(7)
        speaker = torch.randn(1, sizes.flow.speaker, generator=generator)
        tokens = torch.randint(0, sizes.flow.vocabulary, (1, count), generator=generator)
        mel = torch.randn(1, 2 * count, sizes.vocoder.mels, generator=generator)
        prompt = VoicePrompt(*(part.to(self.device) for part in (tokens, mel, speaker)))
        weights = [
            {name: each.detach().to(self.device) for name, each in module.state_dict().items()}
            for module in (flow, vocoder)
        ]
        if "ours" in runtimes:
            self.views = {
                state.name: torch.zeros(state.max_ticks, *state.item_shape, device=self.device)
                for state in self.plan.states
            }
            self.ours = Token2Wav(Checkpoint.of(sizes, *weights), lines, self.views, noise)
            self.ours.prepare(prompt)
        if "released" in runtimes:
            modules = (module.to(self.device).requires_grad_(False) for module in (flow, vocoder))
            self.released = ReleasedDriver(import_released(fetched_wheel()), *modules, asked.steps)
            self.released.prepare(prompt)
        del weights

    def launches(self) -> Iterator[tuple[int, Launch, Tensor]]:
        """The script's launches, numbered, with tokens."""
        generator, number = torch.Generator().manual_seed(11), 0
        for unit in range(len(SCRIPT.split())):
            for launch in self.plan.unit(unit).stages["flow_encoder"].launches:
                tokens = torch.randint(0, self.sizes.flow.vocabulary, (1, launch.fed), generator=generator)
                yield number, launch, tokens.to(self.device)
                number += 1

    def noise(self, fed: int, last: bool, seed: int) -> Tensor:
        """The vocoder's, as the released code draws it after `torch.manual_seed(seed)`."""
        generator = torch.Generator(self.device).manual_seed(seed)
        return draw_noise(self.sizes.vocoder.source, self.ours.frames(fed, last=last), generator)

    @property
    def held(self) -> tuple[int, int, int]:
        return self.ours.encoder.held, self.ours.flow.held, self.ours.vocoder.held

    @held.setter
    def held(self, ticks: tuple[int, int, int]) -> None:
        self.ours.encoder.held, self.ours.flow.held, self.ours.vocoder.held = ticks


class Graphs:
    """One graph a launch shape, captured when it is first met: a sketch of what `replay` will do in the slack."""

    def __init__(self, bench: Bench) -> None:
        self._bench, self._made = bench, {}
        self._pool = torch.cuda.graph_pool_handle()
        self.capture_ms: list[float] = []

    def __call__(self, tokens: Tensor, noise: Tensor, last: bool) -> Tensor:
        key = (tokens.shape[1], last, self._bench.held)
        if key not in self._made:
            start = time.perf_counter()
            self._made[key] = self._capture(tokens, noise, last)
            self.capture_ms.append((time.perf_counter() - start) * 1e3)
        graph, given, heard, sound, after = self._made[key]
        given.copy_(tokens), heard.copy_(noise)
        graph.replay()
        self._bench.held = after
        return sound

    def _capture(self, tokens: Tensor, noise: Tensor, last: bool) -> tuple[Any, Tensor, Tensor, Tensor, Any]:
        bench, given, heard = self._bench, tokens.clone(), noise.clone()
        ours, before, taken = bench.ours, bench.held, tokens.shape[1] - (0 if last else 3)
        ours.encoder.foresee(taken, ours.encoder.held)
        ours.flow.foresee(ours.frames(tokens.shape[1], last=last) - ours.vocoder.held)
        ours.vocoder.foresee(ours.frames(tokens.shape[1], last=last))
        states = {name: view.clone() for name, view in bench.views.items()}

        def put_back() -> None:
            for name, state in states.items():
                bench.views[name].copy_(state)
            bench.held = before

        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                ours(given, heard, last=last)
                put_back()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local"):
            sound = ours(given, heard, last=last)
        after = bench.held
        put_back()
        return graph, given, heard, sound, after


def compare(bench: Bench, run: Callable[[Tensor, Tensor, bool], Tensor]) -> None:
    """The script through both; a line a launch says whether sound and every cache are equal."""
    for number, launch, tokens in bench.launches():
        torch.manual_seed(number)
        expected = bench.released(tokens, last=launch.last)
        found = run(tokens, bench.noise(launch.fed, launch.last, number), launch.last).cpu()
        caches = {} if launch.last else same_caches(bench.ours, bench.views, bench.released)
        tell(
            launch=number,
            shape=launch.shape,
            last=launch.last,
            equal=torch.equal(found, expected),
            apart=float((found - expected).abs().max()),
            mean=float(expected.abs().mean()),
            unequal_caches=[name for name, same in caches.items() if not same],
        )
        if launch.last:
            bench.released.reset(), bench.ours.reset()


def steady(bench: Bench, asked: argparse.Namespace) -> Callable[[int], object]:
    """A runtime past the trim, ready to say one unit again and again."""
    tokens = torch.randint(0, bench.sizes.flow.vocabulary, (1, 28)).to(bench.device)
    if asked.runtime == "released":
        run = lambda _: bench.released(tokens)  # noqa: E731
    else:
        graphs = Graphs(bench) if asked.runtime == "graph" else None

        def run(number: int) -> object:
            noise = bench.noise(28, False, number)
            sound = bench.ours(tokens, noise) if graphs is None else graphs(tokens, noise, False)
            return sound.cpu()  # as the released driver hands it over

    for number in range(6):
        run(number)
    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("equal", "graph", "time", "profile"))
    parser.add_argument("--runtime", choices=("released", "eager", "graph"), default="graph")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--steps", type=int, default=5, help="of the solver: MiniCPM-o 5, Step-Audio 2 10")
    parser.add_argument("--prompt-s", type=float, default=3.37, help="seconds of voice prompt")
    parser.add_argument("--units", type=int, default=100)
    parser.add_argument("--deterministic", action="store_true", help="convolutions that repeat themselves")
    parser.add_argument("--tiny", action="store_true", help="at the size for tests")
    asked = parser.parse_args()
    torch.set_grad_enabled(False)
    torch.backends.cudnn.deterministic = asked.deterministic
    cuda = asked.device != "cpu"
    tell(
        what=asked.what,
        runtime=asked.runtime,
        torch=torch.__version__,
        device=torch.cuda.get_device_name() if cuda else "cpu",
        tf32={"matmul": torch.backends.cuda.matmul.allow_tf32, "cudnn": torch.backends.cudnn.allow_tf32},
        cudnn={"benchmark": torch.backends.cudnn.benchmark, "deterministic": torch.backends.cudnn.deterministic},
        steps=asked.steps,
        prompt_s=asked.prompt_s,
    )
    if asked.what in ("equal", "graph"):
        bench = Bench(asked, ("ours", "released"))
        tell(after="prompt", caches=same_caches(bench.ours, bench.views, bench.released))
        if asked.what == "equal":
            compare(bench, lambda tokens, noise, last: bench.ours(tokens, noise, last=last))
        else:
            before = torch.cuda.memory_reserved()
            graphs = Graphs(bench)
            compare(bench, graphs)
            tell(graphs=len(graphs.capture_ms), capture_ms=graphs.capture_ms,
                 graph_bytes=torch.cuda.memory_reserved() - before)  # fmt: skip
        return
    bench = Bench(asked, ("released",) if asked.runtime == "released" else ("ours",))
    if cuda:
        torch.cuda.empty_cache(), torch.cuda.reset_peak_memory_stats()
        tell(allocated_bytes=torch.cuda.memory_allocated(), plan_bytes=bench.plan.max_bytes)
    run = steady(bench, asked)
    if asked.what == "profile":
        profile(run)
        return
    walls = []
    for number in range(asked.units):
        if cuda:
            torch.cuda.synchronize()
        start = time.perf_counter()
        run(number)
        if cuda:
            torch.cuda.synchronize()
        walls.append((time.perf_counter() - start) * 1e3)
    walls.sort()
    tell(median_ms=statistics.median(walls), p95_ms=walls[int(0.95 * len(walls))], max_ms=walls[-1], units=len(walls))
    if cuda:
        tell(peak_bytes=torch.cuda.max_memory_allocated(), reserved_bytes=torch.cuda.memory_reserved())


def profile(run: Callable[[int], object]) -> None:
    """Kernels of one unit by kind, then the ten that take longest."""
    kinds = ("gemm", "fmha", "conv", "nchw", "cat", "copy", "memset", "norm", "softmax", "fft", "elementwise")
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as seen:
        run(0)
        torch.cuda.synchronize()
    total: dict[str, list[float]] = collections.defaultdict(lambda: [0, 0.0])
    for event in seen.key_averages():
        name = next((kind for kind in kinds if kind in event.key.lower()), "other")
        total[name][0] += event.count
        total[name][1] += event.device_time_total / 1e3
    for name, (count, busy) in sorted(total.items(), key=lambda item: -item[1][1]):
        tell(kind=name, kernels=count, ms=round(busy, 3))
    for event in sorted(seen.key_averages(), key=lambda event: -event.device_time_total)[:10]:
        tell(kernel=event.key[:100], count=event.count, ms=round(event.device_time_total / 1e3, 3))


if __name__ == "__main__":
    main()
