"""MiniCPM-o's parts over weights and an arena's views, as they are planned. Entered by the engine thread."""

from collections.abc import Mapping, Sequence

from torch import Tensor

from engine.models.layers.named import Named
from engine.models.minicpm_o.audio_encoder import AudioEncoder
from engine.models.minicpm_o.language import LanguageModel
from engine.models.minicpm_o.model import Parts
from engine.models.minicpm_o.sampling import SpeechRules, TextRules, TextSampler
from engine.models.minicpm_o.sizes import EncoderSizes, LanguageSizes, SpeechSizes
from engine.models.minicpm_o.speech_decoder import SpeechDecoder
from engine.models.token2wav.checkpoint import Checkpoint
from engine.models.token2wav.unit import Token2Wav
from engine.stage import Timeline

HEARD, THOUGHT, SPOKEN = "audio_encoder.keys_values", "llm_prefill.keys_values", "tts_condition.keys_values"


def build(
    encoder: tuple[Named, EncoderSizes],
    language: tuple[Named, LanguageSizes],
    speech: tuple[Named, SpeechSizes],
    token2wav: tuple[Checkpoint, Tensor],
    lines: Sequence[Timeline],
    views: Mapping[str, Tensor],
    rules: tuple[TextRules, SpeechRules],
) -> Parts:
    """The parts, token2wav not prepared with a voice.

    Args:
        encoder: Weights, by released names from the top on, and their sizes.
        language: The same.
        speech: The same.
        token2wav: Weights, and the flow's noise.
        lines: The declarations of all stages.
        views: The arena's, by "stage.state"; what holds from the start is committed.
        rules: How text tokens and speech tokens are drawn.
    """
    text, spoken = rules
    return Parts(
        AudioEncoder(*encoder, views[HEARD]),
        LanguageModel(*language, views[THOUGHT], views.get(f"{THOUGHT}.shift")),
        TextSampler(text, language[1].tokens, views[THOUGHT].device, views[THOUGHT].dtype),
        SpeechDecoder(*speech, views[SPOKEN], spoken),
        Token2Wav(token2wav[0], lines, views, token2wav[1]),
    )
