"""token2wav's clocks and state: speech tokens to mel frames to sound, as Step-Audio 2 and MiniCPM-o drive it.

Follows `stepaudio2-minicpmo` 0.1.1 (`token2wav.py`, `cosyvoice2/`, `flashcosyvoice/modules/hifigan.py`), which is the
golden one. Declarations only, no torch; which model puts out the tokens is the caller's business.
"""

from engine.errors import AskedWrongly
from engine.stage import After, Lifetime, Order, Span, StateSpec, T, Tail, Timeline, Trim

TOKEN_HZ = 25
FRAMES_A_TOKEN = 2  # mel frames, 50 Hz
SAMPLES_A_FRAME = 480  # 24 kHz
CHUNK_TOKENS = 25
LOOK_AHEAD_TOKENS = 3
KEPT_FRAMES = 100  # beside the prompt's, once an attention cache is trimmed
HELD_FRAMES = 8  # the vocoder's overlap


def prompt_tokens(samples_16k: int) -> int:
    """Speech tokens of a voice prompt of so many samples at 16 kHz.

    The tokenizer's mel has a frame every 160 samples, the last, partial one dropped; two convolutions of stride 2
    halve their number twice, each time rounding up. So 3.37 s are 337 frames, 169, 85 tokens; and the prompt's own mel
    is padded to twice that, 170 frames, though the recording gives but 168.
    """
    frames = samples_16k // 160
    return -(-frames // 4)


def token2wav(
    source: str, *, prompt: int, solver_steps: int, least: int = CHUNK_TOKENS, silence: int = 0
) -> tuple[Timeline, ...]:
    """Speech tokens to sound: conformer, flow matching, vocoder.

    Args:
        source: The stage that puts out speech tokens.
        prompt: Speech tokens of the voice prompt.
        solver_steps: Steps of the flow's solver; each carries state of its own.
        least: Tokens, look-ahead apart, below which the driver waits for more.
        silence: Silent tokens that its buffer starts a turn with.

    Raises:
        AskedWrongly: The prompt is too short to hold.
    """
    if prompt < 1 or solver_steps < 1:
        raise AskedWrongly(f"a voice prompt of {prompt} tokens, {solver_steps} solver steps", "at least one of each")
    frames = FRAMES_A_TOKEN * prompt
    # Both attention caches are trimmed as the released driver trims them, in mel frames, although the flow's has its
    # newest frames first: once trimmed it keeps the newest and, of the prompt's, the last. So does stock.
    trim = Trim(frames + KEPT_FRAMES, ((0, frames), (-KEPT_FRAMES, None)))
    encoder = (
        StateSpec("look_ahead_conv", (1, 512, T), initial=2, keep=Tail(2), reset=Lifetime.TURN, span=Span.WHOLE),
        StateSpec(
            "upsample_conv", (1, 512, T), growth=2, initial=4, keep=Tail(4), reset=Lifetime.TURN, span=Span.WHOLE
        ),
        # Before upsampling. Released, this cache is repeated twice to share a tensor with the next, trimmed so, and its
        # first half read again: from two seconds of prompt on, what is kept is its beginning and nothing new.
        StateSpec(
            "attention",
            (6, 1, 8, T, 128),
            initial=prompt,
            keep=Trim(trim.over, trim.keep, repeats=FRAMES_A_TOKEN),
            reset=Lifetime.TURN,
            shift_shape=(1, 8, 128),
        ),
        StateSpec(
            "up_attention",
            (4, 1, 8, T, 128),
            growth=FRAMES_A_TOKEN,
            initial=frames,
            keep=trim,
            reset=Lifetime.TURN,
            shift_shape=(1, 8, 128),
        ),
    )
    flow = (
        StateSpec(
            "conv", (solver_steps, 16, 2, 1024, T), initial=2, keep=Tail(2), reset=Lifetime.TURN, span=Span.WHOLE
        ),
        StateSpec(
            "attention",
            (solver_steps, 16, 2, 8, T, 128),
            initial=frames,
            order=Order.BEFORE,
            keep=trim,
            reset=Lifetime.TURN,
            shift_shape=(
                2,
                2,
                8,
                128,
            ),  # new and old keys of one step and layer, side by side while it attends; two in turn
        ),
    )
    samples = SAMPLES_A_FRAME * HELD_FRAMES
    vocoder = (
        StateSpec("mel", (1, 80, T), keep=Tail(HELD_FRAMES), reset=Lifetime.TURN),  # none or all: another launch
        StateSpec(
            "source", (1, 1, T), growth=SAMPLES_A_FRAME, keep=Tail(samples), reset=Lifetime.TURN, span=Span.WHOLE
        ),
        StateSpec("speech", (1, T), growth=SAMPLES_A_FRAME, keep=Tail(samples), reset=Lifetime.TURN, span=Span.WHOLE),
    )
    return (
        Timeline(
            "flow_encoder",
            After(source),
            "speech token",
            yields=FRAMES_A_TOKEN,
            chunk=CHUNK_TOKENS,
            least=least,
            look_ahead=LOOK_AHEAD_TOKENS,
            primed=silence,
            states=encoder,
        ),
        Timeline("flow", After("flow_encoder", each=True), "mel frame", states=flow),
        Timeline(
            "vocoder",
            After("flow", each=True),
            "mel frame",
            yields=SAMPLES_A_FRAME,
            lag=HELD_FRAMES,
            context=(HELD_FRAMES, 0),
            states=vocoder,
        ),
    )
