"""Qwen2.5-Omni's released tail (transformers' modules), window by window, on any device.

The released code makes a whole answer's sound at once; how a stream is cut into windows, and which frames its vocoder
hears again, is Qwen's own streaming server's and the same for ours. The noise that it draws for every window is handed
to it in the drawing's place; all else is its own, recomputed for every window as it recomputes it.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from engine.models.qwen2_5_omni.made_up import under
from engine.models.qwen2_5_omni.sizes import FLOW, VOCODER, Token2WavSizes
from engine.models.qwen2_5_omni.timelines import AGAIN_FRAMES
from engine.models.qwen2_5_omni.unit import Voice, sounded
from engine.models.qwen2_5_omni.windows import Window
from engine.stock.modules import left_uninitialised


def released_configs(sizes: Token2WavSizes) -> tuple[Any, Any]:
    """The released configurations of both halves."""
    from transformers.models.qwen2_5_omni import configuration_qwen2_5_omni as released

    flow, voice, vocoder = sizes.flow, sizes.voice, sizes.vocoder
    return (
        released.Qwen2_5OmniDiTConfig(
            hidden_size=flow.width,
            num_hidden_layers=flow.depth,
            num_attention_heads=flow.heads,
            ff_mult=flow.inner // flow.width,
            emb_dim=sizes.code_width,
            head_dim=flow.dim,
            block_size=flow.block,
            look_ahead_layers=list(flow.ahead),
            look_backward_layers=list(flow.back),
            num_embeds=sizes.codes - 1,
            mel_dim=flow.channels,
            enc_emb_dim=sizes.speaker,
            enc_dim=voice.out,
            enc_channels=list(voice.channels),
            enc_kernel_sizes=list(voice.kernels),
            enc_dilations=list(voice.dilations),
            enc_attention_channels=voice.attention,
            enc_res2net_scale=voice.parts,
            enc_se_channels=voice.squeezed,
            rope_parameters={"rope_type": "default", "rope_theta": flow.rope_theta},
        ),
        released.Qwen2_5OmniBigVGANConfig(
            mel_dim=vocoder.mels,
            upsample_initial_channel=vocoder.channels,
            resblock_kernel_sizes=list(vocoder.blocks),
            upsample_rates=list(vocoder.rates),
            upsample_kernel_sizes=list(vocoder.kernels),
        ),
    )


def released_modules(sizes: Token2WavSizes, weights: Mapping[str, Tensor]) -> tuple[Any, Any]:
    """The released halves, on the weights' device and over those very tensors.

    Args:
        sizes: Of both.
        weights: Under their released names, without the leading "token2wav.".
    """
    from transformers.models.qwen2_5_omni import modeling_qwen2_5_omni as released

    flow_config, vocoder_config = released_configs(sizes)
    with left_uninitialised():
        flow = released.Qwen2_5OmniToken2WavDiTModel._from_config(flow_config, attn_implementation="sdpa")
        vocoder = released.Qwen2_5OmniToken2WavBigVGANModel._from_config(vocoder_config)
    device = next(iter(weights.values())).device
    for module, prefix in ((flow, FLOW), (vocoder, VOCODER)):
        module.load_state_dict(under(prefix, weights), assign=True)
        module.to(device).requires_grad_(False).eval()
    return flow, vocoder


class ReleasedWindows:
    """The released tail in windows.

    Args:
        sizes: Of both halves.
        flow: The released transformer and its solver.
        vocoder: The released vocoder.
    """

    def __init__(self, sizes: Token2WavSizes, flow: Any, vocoder: Any) -> None:
        self._sizes, self._flow, self._vocoder = sizes, flow, vocoder
        self._mel: Tensor | None = None

    def prepare(self, voice: Voice) -> None:
        """Take in the voice, and begin the first turn."""
        device = self._flow.proj_out.weight.device
        self._voice = Voice(voice.speaker.to(device), voice.mel.to(device))
        self.reset()

    def reset(self) -> None:
        """Begin a new turn."""
        self._mel = None

    def __call__(self, window: Window) -> Tensor:
        """Sound of a window, on the host, float32 `[1, samples]`; `reset` must follow a turn's last."""
        sizes = self._sizes
        with _drawn(window.noise):
            mel = self._flow.sample(
                self._voice.speaker,
                self._voice.mel,
                window.codes,
                num_steps=sizes.points,
                guidance_scale=sizes.guidance,
                sway_coefficient=sizes.sway,
            )[:, :, window.frames]
        new, held = mel.shape[2], 0
        if self._mel is not None:
            held = self._mel.shape[2]
            mel = torch.cat((self._mel, mel), 2)
        self._mel = mel[:, :, -AGAIN_FRAMES:]
        sound: Tensor = self._vocoder(mel)
        return sound[None, sounded(held, new, sizes.vocoder.frame, last=window.last)]

    @property
    def carried(self) -> Tensor | None:
        """The mel that is heard again, `[1, mels, frames]`."""
        return self._mel

    @property
    def state_bytes(self) -> int:
        """Bytes of what it holds from window to window."""
        return 0 if self._mel is None else self._mel.untyped_storage().nbytes()


@contextmanager
def _drawn(noise: Tensor) -> Iterator[None]:
    """While entered, `torch.randn` gives this noise."""
    was = torch.randn
    torch.randn = lambda *_, **__: noise
    try:
        yield
    finally:
        torch.randn = was
