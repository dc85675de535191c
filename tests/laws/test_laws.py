"""The laws are kept by a toy and by MiniCPM-o at a size for tests, and each is broken by what breaks it."""

from dataclasses import replace

import pytest
import torch

from engine.laws import hold
from engine.laws.laws import ADDRESSES, PLAN, REPLAY, WHOLE
from engine.models.minicpm_o.specimen import specimen as minicpm_o
from engine.models.specimen import stepped
from engine.stage import After, Span, StateSpec, T, Timeline
from tests.laws.toy import WIDTH, specimen, step, timelines

pytestmark = pytest.mark.usefixtures("one_thread")


def broken(changed, **options) -> dict[str, str]:
    """What the laws say of a toy whose step is another, by the name of the law, of those that are broken."""
    laws = hold(stepped(timelines(), changed, {"ears": (WIDTH,)}, **options))
    return {law.name: law.words for law in laws if law.kept is False}


def test_a_toy_keeps_every_law():
    laws = hold(specimen())
    assert [(law.name, law.kept) for law in laws] == [(PLAN, True), (WHOLE, True), (REPLAY, True), (ADDRESSES, True)]
    assert laws[0].words == "9 units, 12 launches as planned"
    assert laws[1].words == "40 ticks in 6 units, to the bit"
    assert laws[2].words == "5 graphs, 12 of 12 launches replayed, to the bit"


@pytest.mark.slow
def test_minicpm_o_keeps_every_law_that_can_be_tried_on_it():
    laws = {law.name: law.kept for law in hold(minicpm_o())}
    assert laws == {PLAN: True, WHOLE: None, REPLAY: True, ADDRESSES: True}


def test_a_step_that_loses_its_context_is_not_the_whole():
    def forgetful(stage, launch, fed, states):
        if stage == "ears":
            states["before"].zero_()
        return step(stage, launch, fed, states)

    assert broken(forgetful)[WHOLE].startswith("units and whole are ")


def test_a_tolerance_is_asked_for_and_told():
    def rough(stage, launch, fed, states):
        return step(stage, launch, fed, states) + (1e-6 * launch.fed if stage == "mouth" else 0)

    assert "apart, of 0 allowed" in broken(rough)[WHOLE]
    assert not broken(rough, tolerance=1e-3)


def test_a_step_that_remembers_by_itself_is_not_replayed():
    seen = []

    def remembers(stage, launch, fed, states):
        seen.append(stage)
        return step(stage, launch, fed, states) + len(seen)

    found = broken(remembers)
    assert found[REPLAY].startswith("unit ")
    assert found[ADDRESSES].startswith("unit 2 of a second session is not the first's")


def test_a_step_that_draws_its_own_noise_is_not_replayed():
    def noisy(stage, launch, fed, states):
        return step(stage, launch, fed, states) + torch.rand(1)

    assert REPLAY in broken(noisy)


def test_a_step_that_looks_at_the_device_cannot_be_captured_but_may_be_eager():
    def looks(stage, launch, fed, states):
        out = step(stage, launch, fed, states)
        return out + 1 if stage == "ears" and out.sum() > 0 else out

    assert "stage ears of shape (10,) cannot be captured: it looks at the device" in broken(looks)[REPLAY]
    assert REPLAY not in broken(looks, eager=frozenset({"ears"}))


def test_nothing_captured_is_nothing_tried():
    laws = hold(stepped(timelines(), step, {"ears": (WIDTH,)}, eager=frozenset({"ears", "mouth"})))
    assert {law.name: law.kept for law in laws}[REPLAY] is None


def test_a_step_that_writes_where_nothing_is_planned_breaks_the_plan():
    def writes(stage, launch, fed, states):
        if stage == "mouth":
            states["words"][launch.shape[1] + 11] = 1
        return step(stage, launch, fed, states)

    assert "mouth.words was written past the 10 ticks" in broken(writes)[PLAN]


def test_a_step_that_puts_out_too_little_is_told_so():
    def short(stage, launch, fed, states):
        return step(stage, launch, fed, states)[1:]

    assert broken(short)[PLAN] == "stage ears put out 9 ticks; needed: 10, as declared; correct its step"


def test_whatever_a_step_raises_breaks_the_law_at_hand_in_a_line():
    def raises(stage, launch, fed, states):
        raise ZeroDivisionError("over\ntwo lines")

    assert broken(raises)[PLAN] == "ZeroDivisionError: over two lines"


def test_declarations_without_a_plan_are_told_so():
    endless = Timeline("tail", After("ears"), "frame", states=(StateSpec("all", (T, 1)),))
    laws = hold(stepped((timelines()[0], endless), step, {"ears": (WIDTH,)}))
    assert all(law.kept is False for law in laws)
    assert "bound" in laws[0].words


@pytest.mark.parametrize(
    ("lines", "inputs", "said"),
    [
        (timelines(), {}, "inputs for , not ears"),
        (timelines(), {"ears": (4,), "mouth": (4,)}, "inputs for ears, mouth, not mouth"),
        (
            (timelines()[0], replace(timelines()[1], states=(StateSpec("s", (T,), span=Span.CLOCKED, limit=9),))),
            {"ears": (4,)},
            "a course of its own",
        ),
    ],
)  # fmt: skip
def test_what_a_step_alone_cannot_tell_is_refused(lines, inputs, said):
    with pytest.raises(Exception, match=said):
        stepped(lines, step, inputs)
