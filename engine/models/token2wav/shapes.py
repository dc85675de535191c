"""Every tensor of token2wav's two released files, by name and shape, from the sizes alone.

What a checkpoint is checked against before any of it is used, and what memory can be told from before it is there.
"""

from engine.models.layers.checked import Shape, Shapes, below, linear, norm
from engine.models.layers.conformer import ConformerSizes
from engine.models.layers.dit import DitSizes
from engine.models.layers.hift import PITCH_LAYERS, HiftSizes
from engine.models.token2wav.sizes import FlowSizes

_TIME_FREQUENCIES = 256


def flow_shapes(sizes: FlowSizes) -> dict[str, Shape]:
    """Of `flow.pt`."""
    width, channels = sizes.encoder.width, sizes.estimator.channels
    return dict(
        [
            ("input_embedding.weight", (sizes.vocabulary, width)),
            *linear("spk_embed_affine_layer", sizes.speaker, channels),
            *below("encoder", _conformer(sizes.encoder)),
            *linear("encoder_proj", width, channels),
            *below("decoder.estimator", _dit(sizes.estimator)),
        ]
    )


def vocoder_shapes(sizes: HiftSizes) -> dict[str, Shape]:
    """Of `hift.pt`, a leading `generator.` apart."""
    return dict(_hift(sizes))


def _convolution(name: str, inputs: int, outputs: int, kernel: int) -> Shapes:
    yield f"{name}.weight", (outputs, inputs, kernel)
    yield f"{name}.bias", (outputs,)


def _normed(name: str, first: int, second: int, kernel: int, bias: int) -> Shapes:
    yield f"{name}.bias", (bias,)
    yield f"{name}.parametrizations.weight.original0", (first, 1, 1)
    yield f"{name}.parametrizations.weight.original1", (first, second, kernel)


def _conformer(sizes: ConformerSizes) -> Shapes:
    width = sizes.width
    for embed in ("embed", "up_embed"):
        yield from linear(f"{embed}.out.0", width, width)
        yield from norm(f"{embed}.out.1", width)
    yield from norm("after_norm", width)
    yield from _convolution("pre_lookahead_layer.conv1", width, width, sizes.look_ahead + 1)
    yield from _convolution("pre_lookahead_layer.conv2", width, width, 3)
    yield from _convolution("up_layer.conv", width, width, 2 * sizes.stride + 1)
    for stack, layers in (("encoders", sizes.layers), ("up_encoders", sizes.up_layers)):
        for index in range(layers):
            yield from below(f"{stack}.{index}", _conformer_block(sizes))


def _conformer_block(sizes: ConformerSizes) -> Shapes:
    width, heads = sizes.width, sizes.heads
    yield "self_attn.pos_bias_u", (heads, width // heads)
    yield "self_attn.pos_bias_v", (heads, width // heads)
    for part in ("q", "k", "v", "out"):
        yield from linear(f"self_attn.linear_{part}", width, width)
    yield from linear("self_attn.linear_pos", width, width, bias=False)
    yield from linear("feed_forward.w_1", width, sizes.inner)
    yield from linear("feed_forward.w_2", sizes.inner, width)
    yield from norm("norm_ff", width)
    yield from norm("norm_mha", width)


def _dit(sizes: DitSizes) -> Shapes:
    width, inside = sizes.width, sizes.heads * sizes.dim
    yield from linear("t_embedder.mlp.0", _TIME_FREQUENCIES, width)
    yield from linear("t_embedder.mlp.2", width, width)
    yield from linear("in_proj", 4 * sizes.channels, width)
    for index in range(sizes.depth):
        block = f"blocks.{index}"
        for part in ("q", "k", "v"):
            yield from linear(f"{block}.attn.to_{part}", width, inside)
        yield from norm(f"{block}.attn.q_norm", sizes.dim)
        yield from norm(f"{block}.attn.k_norm", sizes.dim)
        yield from linear(f"{block}.attn.proj", inside, width)
        yield from linear(f"{block}.mlp.fc1", width, sizes.inner)
        yield from linear(f"{block}.mlp.fc2", sizes.inner, width)
        yield from _convolution(f"{block}.conv.block.1", width, width, 3)
        yield from norm(f"{block}.conv.block.3", width)
        yield from _convolution(f"{block}.conv.block.6", width, width, 3)
        yield from linear(f"{block}.adaLN_modulation.1", width, 9 * width)
    yield from linear("final_layer.adaLN_modulation.1", width, 2 * width)
    yield from linear("final_layer.linear", width, sizes.channels)


def _hift(sizes: HiftSizes) -> Shapes:
    spectrum = sizes.window + 2
    yield from linear("m_source.l_linear", sizes.source.harmonics + 1, 1)
    yield from _normed("conv_pre", sizes.channels, sizes.mels, 7, sizes.channels)
    block = 0
    for index, kernel in enumerate(sizes.kernels):
        wide, channels = sizes.channels >> index, sizes.channels >> index + 1
        yield from _normed(f"ups.{index}", wide, channels, kernel, channels)
        down = sizes.downs[index]
        yield from _convolution(f"source_downs.{index}", spectrum, channels, 2 * down if down > 1 else 1)
        yield from below(f"source_resblocks.{index}", _residual(channels, sizes.source_blocks[index]))
        for inner in sizes.blocks:
            yield from below(f"resblocks.{block}", _residual(channels, inner))
            block += 1
    yield from _normed("conv_post", spectrum, sizes.channels >> len(sizes.kernels), 7, spectrum)
    for layer in range(PITCH_LAYERS):
        inputs = sizes.mels if layer == 0 else sizes.pitch
        yield from _normed(f"f0_predictor.condnet.{2 * layer}", sizes.pitch, inputs, 3, sizes.pitch)
    yield from linear("f0_predictor.classifier", sizes.pitch, 1)


def _residual(channels: int, kernel: int) -> Shapes:
    for index in range(3):
        for part in (1, 2):
            yield from _normed(f"convs{part}.{index}", channels, channels, kernel, channels)
            yield f"activations{part}.{index}.alpha", (channels,)
