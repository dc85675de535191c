"""token2wav's declared course against the released driver's own slicing, and its bytes by hand."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.clock import Rate
from engine.errors import AskedWrongly
from engine.models.token2wav.timelines import prompt_tokens, token2wav
from engine.plan import Plan, plan
from engine.stage import Order, Ticking, Timeline

KIB = 1024
SPEECH = Timeline("tts", Ticking(Rate(25), speech=True), "speech token", chunk=1)


def as_minicpm_o(script: str, *, prompt: int = 85, solver_steps: int = 5) -> Plan:
    """Driven as MiniCPM-o drives it: three silent tokens first, launches of five tokens or more."""
    return plan(
        (SPEECH, *token2wav("tts", prompt=prompt, solver_steps=solver_steps, least=5, silence=3)), script=script
    )


def as_step_audio(script: str, *, prompt: int = 75) -> Plan:
    """Driven as Step-Audio 2 drives it: launches of 25 tokens, once 28 have come."""
    return plan((SPEECH, *token2wav("tts", prompt=prompt, solver_steps=10)), script=script)


def shapes(made: Plan, unit: int, stage: str) -> list[tuple[int, ...]]:
    return [launch.shape for launch in made.unit(unit).stages[stage].launches]


@pytest.mark.parametrize(("seconds", "tokens"), [(3, 75), (3.37, 85), (3.36, 84), (3.38, 85), (10, 250), (0.01, 1)])
def test_a_prompt_of_any_length_has_whole_tokens(seconds, tokens):
    assert prompt_tokens(round(seconds * 16_000)) == tokens


def test_the_flow_meets_the_prompt_then_fifty_then_a_hundred_more_then_always_the_same():
    made = as_minicpm_o("L(S)", prompt=prompt_tokens(53_920))  # 3.37 s: 85 tokens, 170 frames

    assert shapes(made, 0, "flow") == []
    assert [shapes(made, unit, "flow") for unit in (1, 2, 3, 4, 99)] == [
        [(50, 170)], [(50, 220)], [(50, 270)], [(50, 270)], [(50, 270)],
    ]  # fmt: skip
    assert [shapes(made, unit, "flow_encoder") for unit in (1, 2, 3, 4, 99)] == [
        [(28, 85, 170)], [(28, 110, 220)], [(28, 135, 270)], [(28, 135, 270)], [(28, 135, 270)],
    ]  # fmt: skip
    assert [shapes(made, unit, "vocoder") for unit in (1, 2, 3)] == [[(50, 0)], [(58, 8)], [(58, 8)]]
    assert (made.cycles["flow"].warm_up, made.cycles["flow"].length) == (3, 1)
    assert len([one for one in made.shapes if one.stage == "flow"]) == 3


def test_bytes_unit_by_unit_by_hand():
    steps, tokens, frames = 5, 85, 170
    a_token = 6 * 8 * 128 * 4  # six layers, eight heads, keys and values of 64, fp32
    a_frame = 4 * 8 * 128 * 4  # four layers after upsampling
    a_flow_frame = steps * 16 * 2 * 8 * 128 * 4  # steps, layers, guided and not, heads, keys and values of 64
    assert (a_token, a_frame, a_flow_frame) == (24 * KIB, 16 * KIB, steps * 128 * KIB)
    convs = (2 + 4) * 512 * 4 + 2 * steps * 16 * 2 * 1024 * 4  # two tokens, four frames; two frames a step and layer
    tails = 8 * 80 * 4 + 3840 * 4 + 3840 * 4  # the vocoder's mel, source and speech
    beside = 2 * 2 * 8 * 128 * 4  # a frame of two layers' keys and values, new and old side by side, at one step
    moved = 8 * 128 * 4  # a frame of one layer's keys and values after upsampling, while it is shifted

    made = as_minicpm_o("L(S)", prompt=tokens, solver_steps=steps)

    assert made.bytes_at(0) == tokens * a_token + frames * a_frame + frames * a_flow_frame + convs
    assert made.bytes_at(1) == 110 * a_token + 220 * a_frame + 220 * a_flow_frame + 220 * beside + convs + tails
    assert made.bytes_at(2) == 135 * a_token + 270 * a_frame + 270 * a_flow_frame + 270 * beside + convs + tails
    # From here on 25 tokens and 50 frames are joined to what is held before it is trimmed again; the frames after
    # upsampling keep their prompt in place and move the last hundred down by fifty, which overlaps; the flow's, whose
    # new frames stand first, are joined beside and put back without growing.
    steady = (135 + 25) * a_token + (270 + 50) * a_frame + 100 * moved
    assert made.bytes_at(3) == steady + 270 * a_flow_frame + (270 + 50) * beside + convs + tails
    assert made.bytes_at(1000) == made.bytes_at(3) == made.max_bytes


def test_each_solver_step_carries_state_of_its_own():
    five, ten = (as_minicpm_o("L(S)", solver_steps=steps) for steps in (5, 10))
    a_frame_and_step, a_conv_tick_and_step = 128 * KIB, 128 * KIB  # 16 layers x 2 x 8 x 128 x 4, 16 x 2 x 1024 x 4

    for unit, held in enumerate((170, 220, 270, 270)):
        more = 5 * (held * a_frame_and_step + 2 * a_conv_tick_and_step)
        assert ten.bytes_at(unit) - five.bytes_at(unit) == more


def test_a_short_first_unit_and_an_odd_flush_are_shapes_of_their_own():
    made = as_minicpm_o("L S17 S S F13 L")

    assert shapes(made, 1, "flow_encoder") == [(20, 85, 170)]  # three silent tokens and 17; the last three look ahead
    assert shapes(made, 1, "flow") == [(34, 170)]
    assert shapes(made, 2, "flow_encoder") == [(28, 102, 204)]
    assert shapes(made, 2, "flow") == [(50, 204)]
    assert shapes(made, 3, "flow") == [(50, 254)]  # 254 is not yet over 270
    # The last unit: 13 tokens with three ahead, then those three alone.
    assert shapes(made, 4, "flow_encoder") == [(16, 135, 270), (3, 135, 270)]
    assert shapes(made, 4, "flow") == [(26, 270), (6, 270)]
    assert shapes(made, 4, "vocoder") == [(34, 8), (14, 8)]
    for stage in ("flow_encoder", "flow", "vocoder"):  # each is handed its ticks by a launch without look-ahead
        assert [launch.last for launch in made.unit(4).stages[stage].launches] == [False, True]
    # And with the turn all of it is as before the first.
    assert made.unit(4).held["flow.attention"] == 170
    assert made.unit(4).held["flow_encoder.attention"] == 85
    assert made.unit(4).held["vocoder.speech"] == 0
    assert made.bytes_at(5) == made.bytes_at(0)


@pytest.mark.parametrize(("tokens", "fed"), [(0, [3]), (1, [4]), (4, [7]), (5, [8, 3]), (24, [27, 3]), (25, [28, 3])])
def test_what_waits_goes_with_the_turns_end(tokens, fed):
    made = as_minicpm_o(f"S F{tokens}")

    assert [launch.fed for launch in made.unit(1).stages["flow_encoder"].launches] == fed


def test_the_vocoder_holds_eight_frames_back_until_the_turn_ends():
    made = as_minicpm_o("S S S F0")

    samples = [made.unit(unit).stages["vocoder"].ticks for unit in range(4)]
    assert samples == [(50 - 8) * 480, 50 * 480, 50 * 480, (6 + 8) * 480]


def test_the_longest_last_launch_is_foreseen():
    made = as_step_audio("S S S S S2 F0")  # 27 tokens wait, one too few for a launch

    assert made.unit(5).stages["flow_encoder"].launches[0].fed == 27
    joined = next(state for state in made.states if state.name == "flow.attention.shift")
    assert made.unit(5).needed[joined.name] == 250 + 54 == joined.max_ticks


def test_step_audio_waits_for_its_look_ahead():
    made = as_step_audio("S S S F24")

    assert [[launch.fed for launch in made.unit(n).stages["flow_encoder"].launches] for n in range(4)] == [
        [], [28], [28], [28, 24],
    ]  # fmt: skip


def test_a_launch_without_look_ahead_is_not_the_graph_of_one_with_it():
    made = as_minicpm_o("S5 F4")

    first, last = (made.unit(unit).stages["flow_encoder"].launches for unit in (0, 1))
    assert [(one.fed, one.takes, one.last) for one in (*first, *last)] == [(8, 5, False), (7, 7, True)]
    assert {one.last for one in made.shapes if one.stage == "flow_encoder"} == {False, True}


turns = st.lists(st.integers(0, 25), min_size=1, max_size=8)


@settings(deadline=None, max_examples=60)
@given(turn=turns, prompt=st.integers(1, 140))
def test_every_token_becomes_sound_once(turn, prompt):
    *speak, flush = turn
    script = "L" + "".join(f"S{tokens}" for tokens in speak) + f"F{flush}"

    for made, silent in ((as_minicpm_o(script, prompt=prompt), 3), (as_step_audio(script, prompt=prompt), 0)):
        samples = sum(made.unit(unit).stages["vocoder"].ticks for unit in range(len(turn) + 1))
        assert samples == 960 * (silent + sum(turn))


class ReleasedDriver:
    """What the released driver does to its caches, on lists of names instead of tensors."""

    def __init__(self, prompt: int) -> None:
        self.kept = 2 * prompt
        tokens, frames = ([f"{kind}{n}" for n in range(count)] for kind, count in (("t", prompt), ("f", 2 * prompt)))
        self.before, self.after, self.flow = tokens * 2, frames, list(frames)

    def launch(self, tokens: list[str], frames: list[str]) -> None:
        half = len(self.after) // 2
        self.before = (self.before[:half] + tokens) * 2
        self.after = self.after + frames
        self.flow = frames + self.flow
        if len(self.flow) > self.kept + 100:
            self.flow = self.flow[: self.kept] + self.flow[-100:]
        if len(self.after) > self.kept + 100:
            self.before = self.before[: self.kept] + self.before[-100:]
            self.after = self.after[: self.kept] + self.after[-100:]

    @property
    def read(self) -> tuple[list[str], list[str], list[str]]:
        """What the next launch reads: of the repeated cache only the first half."""
        return self.before[: len(self.after) // 2], self.after, self.flow


@settings(deadline=None, max_examples=150)
@given(prompt=st.integers(1, 140), chunks=st.lists(st.integers(5, 25), max_size=12))
def test_the_trims_keep_what_the_released_slicing_keeps(prompt, chunks):
    released = ReleasedDriver(prompt)
    encoder, flow = token2wav("tts", prompt=prompt, solver_steps=5)[:2]
    specs = [next(s for s in line.states if s.name == name) for line, name in
             ((encoder, "attention"), (encoder, "up_attention"), (flow, "attention"))]  # fmt: skip
    ours = [list(state) for state in released.read]

    for number, chunk in enumerate(chunks):
        tokens, frames = (
            [f"{kind}{number}.{n}" for n in range(count)] for kind, count in (("t", chunk), ("f", 2 * chunk))
        )
        released.launch(tokens, frames)
        for state, spec, new in zip(ours, specs, (tokens, frames, frames), strict=True):
            joined = new + state if spec.order is Order.BEFORE else state + new
            state[:] = [joined[n] for piece in spec.keep.sources(len(joined)) for n in piece]
        assert ours == list(released.read)


def test_a_prompt_of_nothing_is_refused():
    with pytest.raises(AskedWrongly, match="at least one of each"):
        token2wav("tts", prompt=0, solver_steps=5)
