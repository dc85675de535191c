"""token2wav as a whole over scripted sessions: the released driver's sound and caches, bit for bit; its laws."""

from dataclasses import replace

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from engine.errors import AskedWrongly
from engine.models.token2wav.unit import Token2Wav
from engine.stock.caches import same_caches

pytestmark = pytest.mark.usefixtures("one_thread")


def hold_to_the_released_driver(session, released_driver, units: int) -> set[tuple[tuple[int, ...], bool]]:
    """Run a session through both, sound and caches equal after every launch; the shapes met, each last or not."""
    session.ours.prepare(session.prompt)
    released_driver.prepare(session.prompt)
    assert all(same_caches(session.ours, session.views, released_driver).values())
    met = set()
    for seed, (launch, tokens) in enumerate(session.launches(units)):
        assert launch.shape[1:] == (session.ours.encoder.held, 2 * session.ours.encoder.held)
        torch.manual_seed(seed)
        expected = released_driver(tokens, last=launch.last)

        assert torch.equal(session.say(tokens, seed, last=launch.last), expected)

        assert 0.01 < expected.abs().mean() < 0.5, "neither silent nor clipped, or equality would say little"
        met.add((launch.shape, launch.last))
        if launch.last:
            released_driver.reset()
            session.ours.reset()
        assert all(same_caches(session.ours, session.views, released_driver).values())
    return met


@pytest.mark.parametrize(
    ("script", "prompt", "least", "silence"),
    [
        # A short first unit, steady ones past the trim at the prompt and a hundred frames, an odd end, and again.
        ("L S17 S S S S S S F13 L S8 S F0 S S F25", 60, 5, 3),
        # A prompt under two seconds: what the conformer keeps before upsampling is then taken from two places.
        ("S S S S S10 S S F3", 20, 5, 3),
        # As Step-Audio 2 drives it: nothing but whole launches, until a turn ends.
        ("S S S S S2 F0 S S F24", 55, 25, 0),
    ],
)
def test_a_session_is_the_released_drivers_bit_for_bit(begin, released_driver, script, prompt, least, silence):
    session = begin(script, prompt=prompt, least=least, silence=silence)

    met = hold_to_the_released_driver(session, released_driver, len(script.split()))

    assert any(shape[2] == 2 * prompt + 100 for shape, _ in met), "the script reaches the trimmed length"
    assert any(last for _, last in met)


turns = st.lists(st.integers(0, 25), min_size=1, max_size=6)


@settings(deadline=None, max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(turns=st.lists(turns, min_size=1, max_size=2), prompt=st.integers(2, 60))  # the released code fails at one token
def test_so_is_any_session(begin, released_driver, turns, prompt):
    script = [f"S{tokens}" for tokens in turns[0]]
    for turn in turns[1:]:
        script += ["F3", *(f"S{tokens}" for tokens in turn)]

    hold_to_the_released_driver(begin(" ".join([*script, "F7"]), prompt=prompt), released_driver, len(script) + 1)


def follow(steps, seen: list[tuple]) -> torch.Tensor:
    """Run steps as a runtime does, noting stage, shape and ticks; what they come to."""
    result = None
    while True:
        try:
            step = steps.send(result)
        except StopIteration as done:
            return done.value
        result = step.eagerly()
        seen.append((step.stage, step.shape, step.taken(result)))


def test_steps_have_the_planned_shapes_and_the_sound_its_planned_length(begin):
    session = begin("S17 S S S S F13")
    session.ours.prepare(session.prompt)
    stages = ("flow_encoder", "flow", "vocoder")
    planned = [
        launches
        for unit in range(6)
        for launches in zip(*(session.plan.unit(unit).stages[name].launches for name in stages), strict=True)
    ]

    for launches, (launch, tokens) in zip(planned, session.launches(6), strict=True):
        noise = torch.randn(1, 9, 480 * session.ours.frames(launch.fed, last=launch.last))
        seen: list[tuple] = []
        sound = follow(session.ours.steps(tokens, noise, last=launch.last), seen)
        assert [stage for stage, _, _ in seen] == list(stages)
        assert [shape for _, shape, _ in seen] == [one.shape for one in launches]
        assert [taken for _, _, taken in seen[:2]] == [one.takes for one in launches[:2]]
        assert sound.shape == (1, launches[2].yields)


def test_a_turn_said_again_sounds_the_same_and_nothing_has_moved(begin):
    session = begin("S S S S F5")
    session.ours.prepare(session.prompt)
    addresses = {name: view.data_ptr() for name, view in session.views.items()}

    def say() -> list[torch.Tensor]:
        said = [
            session.say(tokens, seed, last=launch.last) for seed, (launch, tokens) in enumerate(session.launches(5))
        ]
        session.ours.reset()
        return said

    first, second = say(), say()

    assert all(torch.equal(one, other) for one, other in zip(first, second, strict=True))
    assert {name: session.arena.view(name).data_ptr() for name in session.views} == addresses


def test_a_turn_cut_off_leaves_nothing_behind(begin):
    session, other = begin("S S S S F0"), begin("S S S S F0")
    for one in (session, other):
        one.ours.prepare(one.prompt)
    for _, tokens in session.launches(3):
        session.say(tokens, 1)

    session.ours.reset()

    launch, tokens = next(other.launches(1))
    session.spoil(session.plan.unit(0).needed)
    assert torch.equal(session.say(tokens, 2, last=launch.last), other.say(tokens, 2, last=launch.last))


def test_past_the_trim_lengths_stand_still(begin):
    session = begin("(S)", prompt=30)
    session.ours.prepare(session.prompt)
    held = []

    for _, tokens in session.launches(12):
        assert session.say(tokens, 3).isfinite().all()
        held.append((session.ours.encoder.held, session.ours.flow.held))

    assert set(held[4:]) == {(80, 160)}


class Watch(TorchDispatchMode):
    """Notes where a launch reads the device from the host, draws, or makes what could have been made before."""

    READS = ("_local_scalar_dense", "item", "is_nonzero", "nonzero", "equal")
    DRAWS = ("rand", "normal_", "uniform_", "bernoulli")
    MAKES = ("lift_fresh", "arange", "linspace", "hann_window", "scalar_tensor", "_weight_norm")

    def __init__(self) -> None:
        super().__init__()
        self.met: set[str] = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.overloadpacket.__name__
        if name.startswith((*self.READS, *self.DRAWS, *self.MAKES)):
            self.met.add(name)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("last", [False, True])
def test_a_foreseen_launch_could_be_captured(begin, last):
    session = begin("S F3")
    session.ours.prepare(session.prompt)
    _, tokens = next(session.launches(1))
    noise = torch.randn(1, 9, 480 * session.ours.frames(28, last=last))
    session.ours.encoder.foresee(28 if last else 25, session.ours.encoder.held)
    session.ours.vocoder.foresee(session.ours.frames(28, last=last))

    with Watch() as watched:
        session.ours(tokens, noise, last=last)

    assert watched.met == set()


def test_the_watch_sees_what_a_launch_must_not_do(begin):
    session = begin("S F3")
    session.ours.prepare(session.prompt)
    _, tokens = next(session.launches(1))

    with Watch() as watched:
        session.ours(tokens, torch.randn(1, 9, 480 * 50))  # nothing was foreseen
        float(torch.zeros(1))

    assert watched.met >= {"_local_scalar_dense", "arange", "randn"}


def test_a_prompt_of_another_length_is_refused(begin):
    session = begin("S F3")
    short = replace(session.prompt, tokens=session.prompt.tokens[:, 1:])

    with pytest.raises(AskedWrongly, match="59 tokens and 120 mel frames; needed: 60 tokens and 120 frames"):
        session.ours.prepare(short)


def test_too_little_noise_is_refused(begin, checkpoint):
    session = begin("S F3")

    with pytest.raises(AskedWrongly, match="9 frames of noise"):
        Token2Wav(checkpoint, session.plan.timelines[1:], session.views, torch.zeros(1, 16, 9))
