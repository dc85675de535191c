"""The parts of MiniCPM-o's weights: how their tensors' names begin, and what they are held to. Knows no file."""

from collections.abc import Mapping, Sequence

from torch import Tensor

from engine.errors import BadWeights
from engine.models.layers.checked import Shape, refuse_unlike
from engine.models.layers.named import Named

ENCODER = ("apm.", "audio_projection_layer.")
LANGUAGE = ("llm.",)
SPEECH = ("tts.",)
SPEECH_UNUSED = ("tts.projector_spk.", "tts.model.embed_tokens.")  # the released code has them, and no unit comes by


def checked(
    what: str, tensors: Mapping[str, Tensor], shapes: Mapping[str, Shape], ignored: Sequence[str] = ()
) -> Named:
    """A part's tensors, held to their shapes, of one floating type.

    Args:
        what: The part, for errors.
        tensors: By released name.
        shapes: The same, as `engine.models.minicpm_o.sizes` has them.
        ignored: Names, or beginnings of names, of tensors that a checkpoint brings along and speech does not need.

    Raises:
        BadWeights: A tensor is missing, unknown, of another shape or type than the rest.
    """
    tensors = {name: each for name, each in tensors.items() if not name.startswith(tuple(ignored))}
    refuse_unlike(what, tensors, shapes)
    kinds = sorted({str(each.dtype).removeprefix("torch.") for each in tensors.values()})
    if len(kinds) > 1 or not next(iter(tensors.values())).is_floating_point():
        raise BadWeights(f"{what} comes as {' and '.join(kinds)}", "tensors of one floating type")
    return Named(tensors)
