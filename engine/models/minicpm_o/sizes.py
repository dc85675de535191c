"""MiniCPM-o 4.5's own sizes and tensors: as released, or smaller for tests. No weights.

From the released code's modules and the names that they give their tensors; see `engine.models.minicpm_o.timelines`.
"""

from dataclasses import dataclass

from engine.models.layers.checked import Shape, Shapes, below, linear, norm


@dataclass(frozen=True)
class EncoderSizes:
    """The audio encoder, a Whisper-medium's, with what makes language-model embeddings of its positions.

    Args:
        mels: Mel channels.
        width: Of a position.
        layers: Of attention and feed-forward.
        heads: Of attention.
        inner: Width inside a feed-forward.
        positions: Of the table; as many held and new ones, context among these, make the encoder start anew.
        out: Width of an embedding, the language model's.
        pool: Positions to an embedding.
        chunk: Mel frames that a launch takes.
        context: Mel frames before and after those, whose positions are cut off.
    """

    mels: int = 80
    width: int = 1024
    layers: int = 24
    heads: int = 16
    inner: int = 4096
    positions: int = 1500
    out: int = 4096
    pool: int = 5
    chunk: int = 100
    context: int = 2

    @property
    def tick_shape(self) -> tuple[int, int, int, int]:
        """Of one position's keys and values: `[layers, key|value, heads, dim]`."""
        return self.layers, 2, self.heads, self.width // self.heads


def encoder_shapes(sizes: EncoderSizes) -> dict[str, Shape]:
    """Every tensor of the audio encoder and its projection, by released name."""
    return dict(
        [
            ("apm.conv1.weight", (sizes.width, sizes.mels, 3)),
            ("apm.conv1.bias", (sizes.width,)),
            ("apm.conv2.weight", (sizes.width, sizes.width, 3)),
            ("apm.conv2.bias", (sizes.width,)),
            ("apm.embed_positions.weight", (sizes.positions, sizes.width)),
            *(one for index in range(sizes.layers) for one in below(f"apm.layers.{index}", _encoder_layer(sizes))),
            *norm("apm.layer_norm", sizes.width),
            *linear("audio_projection_layer.linear1", sizes.width, sizes.out),
            *linear("audio_projection_layer.linear2", sizes.out, sizes.out),
        ]
    )


def _encoder_layer(sizes: EncoderSizes) -> Shapes:
    for part in ("q", "k", "v", "out"):
        yield from linear(f"self_attn.{part}_proj", sizes.width, sizes.width, bias=part != "k")
    yield from norm("self_attn_layer_norm", sizes.width)
    yield from linear("fc1", sizes.width, sizes.inner)
    yield from linear("fc2", sizes.inner, sizes.width)
    yield from norm("final_layer_norm", sizes.width)
