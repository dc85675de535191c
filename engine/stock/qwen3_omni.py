"""Qwen3-Omni's released code2wav (transformers' module) at any size, and its windows as `chunked_decode` cuts them."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from engine.models.qwen3_omni.code2wav import Window
from engine.models.qwen3_omni.sizes import Code2WavSizes
from engine.stock.modules import left_uninitialised


def released_config(sizes: Code2WavSizes) -> Any:
    """The released configuration."""
    from transformers.models.qwen3_omni_moe import configuration_qwen3_omni_moe as released

    stack = sizes.stack
    return released.Qwen3OmniMoeCode2WavConfig(
        codebook_size=sizes.codes,
        hidden_size=stack.width,
        num_attention_heads=stack.heads,
        num_key_value_heads=stack.heads,
        sliding_window=stack.window,
        intermediate_size=stack.inner,
        rms_norm_eps=stack.eps,
        num_hidden_layers=stack.layers,
        num_quantizers=sizes.codebooks,
        upsample_rates=sizes.rates,
        upsampling_ratios=sizes.ups,
        decoder_dim=sizes.channels,
        rope_parameters={"rope_type": "default", "rope_theta": stack.rope_theta},
    )


def released_module(sizes: Code2WavSizes, weights: Mapping[str, Tensor]) -> Any:
    """The released code2wav, on the weights' device and over those very tensors.

    Args:
        sizes: Of it.
        weights: Under their released names, without the leading "code2wav.".
    """
    from transformers.models.qwen3_omni_moe import modeling_qwen3_omni_moe as released

    with left_uninitialised():
        module = released.Qwen3OmniMoeCode2Wav._from_config(released_config(sizes), attn_implementation="sdpa")
    module.load_state_dict(dict(weights), assign=True)
    return module.to(next(iter(weights.values())).device).requires_grad_(False).eval()


class ReleasedWindows:
    """The released code2wav in windows, as its `chunked_decode` cuts them.

    Args:
        sizes: Of it.
        module: It.
    """

    def __init__(self, sizes: Code2WavSizes, module: Any) -> None:
        self._frame, self.module = sizes.frame, module
        self.state_bytes = 0  # nothing is carried

    def reset(self) -> None:
        """Begin a new turn, which is nothing to it."""

    def __call__(self, window: Window) -> Tensor:
        """Sound of a window's new frames, on the host, `[1, 1, samples]`."""
        sound: Tensor = self.module(window.codes)
        return sound[..., window.again * self._frame :].cpu()
