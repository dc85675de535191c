"""What a released folder of MiniCPM-o holds against what it needs, stage by stage, before anything is loaded.

Entered by the engine thread.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from torch import Tensor

from engine.models.layers.checked import Shape, compare
from engine.models.minicpm_o.checkpoint import ENCODER, LANGUAGE, SPEECH, SPEECH_UNUSED
from engine.models.minicpm_o.config import quantised
from engine.models.minicpm_o.folder import FLOATS, INDEX, TOKEN2WAV, TOKENIZER, VISION, VOICE, Released
from engine.models.minicpm_o.made_up import WholeSizes, resized
from engine.models.minicpm_o.timelines import timelines
from engine.models.token2wav.shapes import flow_shapes, vocoder_shapes
from engine.models.weights.survey import Part, Survey
from engine.plan import plan
from engine.stage import DTYPE_BYTES

NAME = "minicpm-o-4.5"
SESSION_S = 600


def survey(path: Path, dtype: str = "bfloat16", session_s: int = SESSION_S) -> Survey:
    """What a folder holds, part by part; nothing is loaded.

    Args:
        path: The folder.
        dtype: What the safetensors' parts will be held as.
        session_s: Seconds of a conversation, for the states.

    Raises:
        As `Released`.
    """
    return survey_of(Released(path), dtype, session_s)


def survey_of(released: Released, dtype: str, session_s: int = SESSION_S) -> Survey:
    """The same of a folder that has been opened."""
    states, held = state_bytes(released.sizes, session_s), dict[str, str]()
    parts = []
    for part, (prefixes, shapes) in released.shapes.items():
        found = released.found(prefixes)
        for name, stored in found.items():
            if name in shapes and stored.dtype not in FLOATS:
                raise quantised(f"{released.shard_of[name]} holds {name} as {stored.dtype}: quantised weights")
        held[part] = " and ".join(sorted({each.dtype for each in found.values()}))
        elements = sum(each.elements for each in found.values())
        unlike = compare({name: each.shape for name, each in found.items()}, shapes)
        parts.append(
            Part(
                part,
                len(shapes),
                elements * DTYPE_BYTES[dtype],
                unlike.missing,
                unlike.misshapen,
                unlike.unknown,
                states[part],
            )
        )
    for part, tensors, shapes in (
        *_halves(released.flow, flow_shapes(released.sizes.token2wav.flow)),
        ("vocoder", released.vocoder, vocoder_shapes(released.sizes.token2wav.vocoder)),
    ):
        unlike = compare({name: each.shape for name, each in tensors.items()}, shapes)
        nbytes = sum(each.nbytes for each in tensors.values())
        parts.append(Part(part, len(shapes), nbytes, unlike.missing, unlike.misshapen, unlike.unknown, states[part]))
        held[part] = "F32"
    known = ENCODER + LANGUAGE + SPEECH + VISION
    if strange := tuple(name for name in released.stored if not name.startswith(known)):
        parts.append(Part("of no part", 0, 0, unknown=strange))
    return Survey(NAME, released.folder.name, tuple(parts), _skipped(released), session_s, held)


_SOLVED = ("decoder.", "spk_embed_affine_layer.")  # of `flow.pt`, what the stage `flow` runs on


def _halves(
    tensors: Mapping[str, Tensor], shapes: Mapping[str, Shape]
) -> Iterator[tuple[str, dict[str, Tensor], dict[str, Shape]]]:
    """`flow.pt` by the two stages that run on it."""
    for part, solves in (("flow encoder", False), ("flow", True)):
        yield (
            part,
            {name: each for name, each in tensors.items() if name.startswith(_SOLVED) is solves},
            {name: each for name, each in shapes.items() if name.startswith(_SOLVED) is solves},
        )


_STAGES = {  # whose states a part carries
    "audio encoder": ("mel", "audio_encoder"),
    "language model": ("llm_prefill",),
    "speech decoder": ("tts_condition",),
    "flow encoder": ("flow_encoder",),
    "flow": ("flow",),
    "vocoder": ("vocoder",),
}


def state_bytes(sizes: WholeSizes, session_s: int) -> dict[str, int]:
    """By part, what a conversation of so many seconds can carry at the most."""
    planned = plan(resized(timelines(), sizes), session_s=session_s)
    return {
        part: sum(state.max_bytes for state in planned.states if state.name.split(".")[0] in stages)
        for part, stages in _STAGES.items()
    }


def _skipped(released: Released) -> tuple[tuple[str, int, int], ...]:
    """What is there and never loaded: known tensors, and files that are never opened."""
    known = {"vision tensors": VISION, "speech tensors that no conversation uses": SPEECH_UNUSED}
    skipped = []
    for what, prefixes in known.items():
        found = [each for name, each in released.stored.items() if name.startswith(prefixes)]
        skipped.append((what, len(found), sum(each.bytes for each in found)))
    opened = {"config.json", INDEX, TOKENIZER, *released.shards, *VOICE}
    opened |= {f"{TOKEN2WAV}/{name}" for name in ("flow.yaml", "flow.pt", "hift.pt")}
    unopened = [count for name, count in released.folder.files() if name not in opened]
    skipped.append(("never opened, the released code among them", len(unopened), sum(unopened)))
    return tuple(each for each in skipped if each[1])
