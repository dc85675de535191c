"""The least time that a steady unit can take on a device: by counted bytes and counted operations. Arithmetic alone.

Bytes: every weight that a unit needs is read once, and so is what the states hold; nothing is written and nothing read
again, though a solver of N steps would have to, for no cache holds half a gigabyte. `bytes / bandwidth`.

Operations: two for each multiplication of products (attention's among them) and convolutions, as exactness has them;
what does not change from unit to unit (the solver's times, attention's distances) is not counted. Products stand in
float32 and convolutions in TF32, as released: `products / float32 peak + convolutions / TF32 peak`.

The floor is the greater of both. Peaks are the makers' dense figures.
"""

from dataclasses import dataclass
from typing import Any

from engine.models.layers.conformer import ConformerSizes
from engine.models.layers.dit import DitSizes
from engine.models.layers.hift import PITCH_LAYERS, HiftSizes
from engine.models.token2wav.encoding import STAGE as ENCODER
from engine.models.token2wav.flowing import STAGE as FLOW
from engine.models.token2wav.shapes import flow_shapes, vocoder_shapes
from engine.models.token2wav.sizes import Token2WavSizes
from engine.models.token2wav.sounding import STAGE as VOCODER
from engine.plan import Plan
from engine.plan.advance import SHIFT
from engine.stage import DTYPE_BYTES

STEADY_UNIT = 20  # by then lengths stand still
_FLOAT = DTYPE_BYTES["float32"]
_ONCE = ("input_embedding", "adaLN_modulation", "t_embedder", "spk_embed_affine_layer", "linear_pos")


@dataclass(frozen=True)
class Peak:
    """What a device can do at most.

    Args:
        float32: Operations a second, outside of tensor cores.
        tf32: Operations a second.
        bandwidth: Bytes a second from its memory.
    """

    float32: float
    tf32: float
    bandwidth: float


PEAKS = {
    "H200": Peak(67e12, 494.7e12, 4.8e12),
    "H100 80GB HBM3": Peak(67e12, 494.7e12, 3.35e12),
    "A100-SXM4-80GB": Peak(19.5e12, 156e12, 2.039e12),
}


@dataclass(frozen=True)
class Work:
    """Multiplications, each with its addition.

    Args:
        products: Of matrices, attention's among them.
        convolutions: Likewise.
    """

    products: int = 0
    convolutions: int = 0

    def __add__(self, other: "Work") -> "Work":
        return Work(self.products + other.products, self.convolutions + other.convolutions)

    def times(self, count: int) -> "Work":
        """The same so many times."""
        return Work(self.products * count, self.convolutions * count)


def floor(plan: Plan, sizes: Token2WavSizes, solver_steps: int, device: str) -> dict[str, Any]:
    """The floor of a plan's steady unit.

    Args:
        plan: Of a tail.
        sizes: Of its weights.
        solver_steps: Of the flow's solver.
        device: Its name; one whose peaks are not known has no floor in milliseconds, and that is said.
    """
    work, read = steady_work(plan, sizes, solver_steps), steady_bytes(plan, sizes)
    found: dict[str, Any] = {
        "bytes": read,
        "product_operations": 2 * work.products,
        "convolution_operations": 2 * work.convolutions,
    }
    peak = next((peak for name, peak in PEAKS.items() if name in device), None)
    if peak is None:
        return {**found, "unknown": f"the peaks of {device} are not known here"}
    by_bytes = 1e3 * read / peak.bandwidth
    by_operations = 1e3 * (2 * work.products / peak.float32 + 2 * work.convolutions / peak.tf32)
    return {
        **found,
        "by_bytes_ms": round(by_bytes, 3),
        "by_operations_ms": round(by_operations, 3),
        "floor_ms": round(max(by_bytes, by_operations), 3),
    }


def steady_bytes(plan: Plan, sizes: Token2WavSizes) -> int:
    """Bytes that a steady unit must read: weights, and what the states hold before it."""
    shapes = {**flow_shapes(sizes.flow), **vocoder_shapes(sizes.vocoder)}
    weights = 0
    for name, shape in shapes.items():
        if not any(part in name for part in _ONCE):
            count = 1
            for length in shape:
                count *= length
            weights += count * _FLOAT
    held = plan.position(STEADY_UNIT).held
    return weights + sum(held[one.name] * one.item_bytes for one in plan.states if not one.name.endswith(SHIFT))


def steady_work(plan: Plan, sizes: Token2WavSizes, solver_steps: int) -> Work:
    """Multiplications of a steady unit."""
    stages = plan.unit(STEADY_UNIT).stages
    (encoder,), (flow,), (vocoder,) = (stages[name].launches for name in (ENCODER, FLOW, VOCODER))
    fed, held = encoder.shape[:2]
    return (
        _conformer(sizes.flow.encoder, fed, held, sizes.flow.estimator.channels)
        + _dit(sizes.flow.estimator, flow.shape[0], flow.shape[0] + flow.shape[1]).times(2 * solver_steps)
        + _hift(sizes.vocoder, vocoder.shape[0])
    )


def _conformer(sizes: ConformerSizes, fed: int, held: int, channels: int) -> Work:
    width, count = sizes.width, fed - sizes.look_ahead
    many = count * sizes.stride

    def block(n: int, t: int) -> Work:
        distances = 2 * t - 1
        return Work(n * width * (4 * width + 2 * sizes.inner + distances + 2 * t))

    square = width * width
    ends = Work(
        (fed + many) * square + many * width * channels,
        count * square * (sizes.look_ahead + 1 + 3) + many * square * (2 * sizes.stride + 1),
    )
    before, after = block(count, held + count), block(many, held * sizes.stride + many)
    return ends + before.times(sizes.layers) + after.times(sizes.up_layers)


def _dit(sizes: DitSizes, count: int, ticks: int) -> Work:
    """One step of one half of the batch."""
    width, inside = sizes.width, sizes.heads * sizes.dim
    block = Work(
        count * (4 * width * inside + 2 * ticks * inside + 2 * width * sizes.inner), 2 * count * 3 * width * width
    )
    return Work(count * width * 5 * sizes.channels) + block.times(sizes.depth)


def _hift(sizes: HiftSizes, frames: int) -> Work:
    spectrum, samples = sizes.window + 2, frames * sizes.frame
    pitch = frames * 3 * sizes.pitch * (sizes.mels + (PITCH_LAYERS - 1) * sizes.pitch)
    total = Work((sizes.source.harmonics + 1) * samples + frames * sizes.pitch, pitch)
    length, channels = frames, sizes.channels
    convolutions = length * sizes.mels * channels * 7
    for index, (rate, kernel, down) in enumerate(zip(sizes.rates, sizes.kernels, sizes.downs, strict=True)):
        half = channels // 2
        convolutions += length * channels * half * kernel
        length = length * rate + (index == len(sizes.rates) - 1)
        residual = 6 * half * half * (sum(sizes.blocks) + sizes.source_blocks[index])
        convolutions += length * (spectrum * half * (2 * down if down > 1 else 1) + residual)
        channels = half
    return total + Work(0, convolutions + length * channels * spectrum * 7)
