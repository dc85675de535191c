"""MiniCPM-o 4.5's own sizes and tensors: as released, or smaller for tests. No weights.

From the released code's modules and the names that they give their tensors; see `engine.models.minicpm_o.timelines`.
"""

from dataclasses import dataclass, field

from engine.models.layers.checked import Shape, Shapes, below, linear, norm
from engine.models.layers.decoder_stack import StackSizes


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


@dataclass(frozen=True)
class SpeechSizes:
    """The speech-token decoder, a Llama with embeddings of text and of speech, and a head for each speech token.

    Args:
        stack: Of its layers; what the released code does not set is transformers' default.
        texts: Text tokens known, the language model's.
        tokens: Speech tokens, and the last of them ends a turn's speech.
        llm: Width of the language model's hidden states.
        begin: The text token at which speech begins.
    """

    stack: StackSizes = field(default_factory=lambda: StackSizes(768, 3072, 20, 12, 12, 64, 1e-6, 10_000.0))
    texts: int = 152_064
    tokens: int = 6562
    llm: int = 4096
    begin: int = 151_687

    @property
    def end(self) -> int:
        """The speech token that ends a turn's speech, and is not spoken."""
        return self.tokens - 1


def speech_shapes(sizes: SpeechSizes) -> dict[str, Shape]:
    """Every tensor of the speech-token decoder that a conversation needs, by released name."""
    stack = sizes.stack
    return dict(
        below(
            "tts",
            iter(
                [
                    ("emb_text.weight", (sizes.texts, stack.width)),
                    ("emb_code.0.weight", (sizes.tokens, stack.width)),
                    ("head_code.0.parametrizations.weight.original0", (sizes.tokens, 1)),
                    ("head_code.0.parametrizations.weight.original1", (sizes.tokens, stack.width)),
                    *linear("projector_semantic.linear1", sizes.llm, stack.width),
                    *linear("projector_semantic.linear2", stack.width, stack.width),
                    *below("model", stack_shapes(stack)),
                ]
            ),
        )
    )


def stack_shapes(sizes: StackSizes, head_norms: bool = False) -> Shapes:
    """Of a Llama-like stack without biases, its embedding apart.

    Args:
        sizes: Of the stack.
        head_norms: Whether queries and keys are normed, as Qwen3's are.
    """
    attended, kept = sizes.heads * sizes.dim, sizes.kv_heads * sizes.dim
    for index in range(sizes.layers):
        layer = f"layers.{index}"
        for part, rows in (("q", attended), ("k", kept), ("v", kept)):
            yield from linear(f"{layer}.self_attn.{part}_proj", sizes.width, rows, bias=False)
        yield from linear(f"{layer}.self_attn.o_proj", attended, sizes.width, bias=False)
        if head_norms:
            yield f"{layer}.self_attn.q_norm.weight", (sizes.dim,)
            yield f"{layer}.self_attn.k_norm.weight", (sizes.dim,)
        for part in ("gate", "up"):
            yield from linear(f"{layer}.mlp.{part}_proj", sizes.width, sizes.inner, bias=False)
        yield from linear(f"{layer}.mlp.down_proj", sizes.inner, sizes.width, bias=False)
        yield f"{layer}.input_layernorm.weight", (sizes.width,)
        yield f"{layer}.post_attention_layernorm.weight", (sizes.width,)
    yield "norm.weight", (sizes.width,)


@dataclass(frozen=True)
class LanguageSizes:
    """The language model, a Qwen3.

    Args:
        tokens: Text tokens; the checkpoint's `config.json` tells how many.
        stack: Of its layers.
    """

    tokens: int
    stack: StackSizes = field(default_factory=lambda: StackSizes(4096, 12288, 36, 32, 8, 128, 1e-6, 1e6))


def language_shapes(sizes: LanguageSizes) -> dict[str, Shape]:
    """Every tensor of the language model, by released name."""
    table = sizes.tokens, sizes.stack.width
    own = below("llm.model", stack_shapes(sizes.stack, head_norms=True))
    return {"llm.model.embed_tokens.weight": table, "llm.lm_head.weight": table, **dict(own)}
