"""The sizes of Qwen2.5-Omni's tail, as released or smaller, and every tensor of it by released name.

What a checkpoint is checked against, and what memory can be told from, before any of it is there. No weights.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.errors import BadWeights
from engine.models.layers import bigvgan, block_dit, ecapa
from engine.models.layers.bigvgan import BigVganSizes
from engine.models.layers.block_dit import BlockDitSizes
from engine.models.layers.checked import Shape, below, refuse_other
from engine.models.layers.ecapa import EcapaSizes
from engine.models.layers.residual import DILATIONS
from engine.models.qwen2_5_omni.timelines import FRAMES_A_CODE

FLOW, VOCODER = "code2wav_dit_model", "code2wav_bigvgan_model"  # released, below "token2wav"


@dataclass(frozen=True)
class Token2WavSizes:
    """Codes to sound.

    Args:
        codes: Speech codes, one more than the model says.
        code_width: Of a code's embedding.
        speaker: Width of a speaker's embedding.
        flow: The transformer.
        voice: What listens to a voice's mel.
        vocoder: Mel to sound.
        points: Time points of the solver.
        guidance: How far it goes beyond the guided velocity.
        sway: How its time points crowd together.
    """

    codes: int = 8194
    code_width: int = 512
    speaker: int = 192
    flow: BlockDitSizes = field(default_factory=BlockDitSizes)
    voice: EcapaSizes = field(default_factory=EcapaSizes)
    vocoder: BigVganSizes = field(default_factory=BigVganSizes)
    points: int = 10
    guidance: float = 0.5
    sway: float = -1.0

    @property
    def parameters(self) -> int:
        """Of all tensors."""
        return sum(_count(shape) for shape in shapes(self).values())


def _count(shape: Shape) -> int:
    count = 1
    for length in shape:
        count *= length
    return count


def shapes(sizes: Token2WavSizes) -> dict[str, Shape]:
    """Every tensor by its released name, without the leading "token2wav."."""
    flow = (
        *block_dit.shapes(sizes.flow),
        *below("input_embed.spk_encoder", ecapa.shapes(sizes.voice)),
        ("text_embed.codec_embed.weight", (sizes.codes, sizes.code_width)),
    )
    return dict([*below(FLOW, iter(flow)), *below(VOCODER, bigvgan.shapes(sizes.vocoder))])


def of_config(config: Mapping[str, Any]) -> Token2WavSizes:
    """The sizes that a released `token2wav_config` tells of.

    Raises:
        BadWeights: A number is not there, or it asks for what is not built here.
    """
    try:
        flow, vocoder = config["dit_config"], config["bigvgan_config"]
        sizes = _sizes(flow, vocoder)
        asked = {
            "repeats": (flow.get("repeats", FRAMES_A_CODE), FRAMES_A_CODE),
            "resblock_dilation_sizes": (
                [tuple(each) for each in vocoder["resblock_dilation_sizes"]],
                [DILATIONS] * len(sizes.vocoder.blocks),
            ),
            "bigvgan_config.mel_dim": (vocoder["mel_dim"], flow["mel_dim"]),
        }
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise BadWeights(f"token2wav_config cannot be read: {error}", "the released config.json") from error
    refuse_other("token2wav_config", asked)
    return sizes


def _sizes(flow: Mapping[str, Any], vocoder: Mapping[str, Any]) -> Token2WavSizes:
    mels, code_width, speaker, heard = (int(flow[name]) for name in ("mel_dim", "emb_dim", "enc_emb_dim", "enc_dim"))
    width = int(flow["hidden_size"])
    return Token2WavSizes(
        codes=int(flow["num_embeds"]) + 1,
        code_width=code_width,
        speaker=speaker,
        flow=BlockDitSizes(
            depth=int(flow["num_hidden_layers"]),
            width=width,
            heads=int(flow["num_attention_heads"]),
            dim=int(flow["head_dim"]),
            inner=width * int(flow["ff_mult"]),
            channels=mels,
            given=heard + code_width + speaker,
            block=int(flow["block_size"]),
            ahead=tuple(flow["look_ahead_layers"]),
            back=tuple(flow["look_backward_layers"]),
            rope_theta=float((flow.get("rope_parameters") or flow).get("rope_theta", BlockDitSizes.rope_theta)),
        ),
        voice=EcapaSizes(
            mels=mels,
            out=heard,
            channels=tuple(flow["enc_channels"]),
            kernels=tuple(flow["enc_kernel_sizes"]),
            dilations=tuple(flow["enc_dilations"]),
            attention=int(flow["enc_attention_channels"]),
            parts=int(flow["enc_res2net_scale"]),
            squeezed=int(flow["enc_se_channels"]),
        ),
        vocoder=BigVganSizes(
            mels=mels,
            channels=int(vocoder["upsample_initial_channel"]),
            rates=tuple(vocoder["upsample_rates"]),
            kernels=tuple(vocoder["upsample_kernel_sizes"]),
            blocks=tuple(vocoder["resblock_kernel_sizes"]),
        ),
    )
