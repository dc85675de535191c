"""A whole unit, from what was heard to sound, is the released control flow's over transformers' stacks, bit for bit.

Tiny, on the CPU, over turns, barge-ins, the encoder's resets and the window's slides; its memory keeps to the plan.
"""

from dataclasses import replace
from itertools import islice

import pytest
import torch

from engine.arena import HostArena
from engine.bench.columns import PINNED
from engine.bench.peaks import GRANULES
from engine.bench.place import CpuPlace
from engine.bench.unit.equal import compare
from engine.bench.unit.rig import Outside, UnitAsked, UnitRig
from engine.layout import lay_out
from engine.models.minicpm_o.audio_encoder import STAGE as AUDIO_ENCODER
from engine.models.minicpm_o.building import HEARD, SPOKEN, THOUGHT
from engine.models.token2wav.encoding import STAGE as FLOW_ENCODER
from engine.models.token2wav.flowing import STAGE as FLOW
from engine.models.token2wav.sounding import STAGE as VOCODER

pytestmark = pytest.mark.usefixtures("one_thread", "released")
SCRIPT = "L L S4 S10 S20 F3 L S2 S L S5 S L L F2 S F20 L F0 S0 S L"
EARLY = Outside(SCRIPT, ends_early=True)
PAST = 120  # ticks, so that the window is full early


def nothing() -> None:
    pass


@pytest.fixture
def rig() -> UnitRig:
    return UnitRig(UnitAsked(device="cpu", tiny=True, system_tokens=20, window=(300, 220)), CpuPlace())


def test_seventy_units_are_the_released_ones_bit_for_bit(rig):
    ours, stock = rig.cadence(EARLY), rig.stock(PINNED, EARLY)

    found = compare(ours, stock, rig.opening(PAST), rig.heard(), 70)

    assert (found["equal"], found["first_difference"]) == (70, None)
    assert found["encoder_resets"] == 17
    assert found["window_slides"] >= 10
    assert min(found["events"][event] for event in ("LISTEN", "SPEAK", "FLUSH")) >= 10
    assert found["samples"] > 40 * 20_000
    assert found["addresses_still"]


def test_without_chance_the_likeliest_are_the_released_ones(rig):
    ours, stock = rig.cadence(Outside(SCRIPT)), rig.stock(PINNED, Outside(SCRIPT))
    ours.model._chance = replace(ours.model._chance, text=nothing, speech=nothing)
    stock.conversation._given = replace(stock.conversation._given, text=nothing, speech=nothing)

    found = compare(ours, stock, rig.opening(), rig.heard(), 22)

    assert (found["equal"], found["first_difference"]) == (22, None)


@pytest.mark.parametrize("state", [HEARD, THOUGHT, SPOKEN, "flow.attention"])
def test_one_changed_number_is_seen(rig, state):
    ours, stock = rig.cadence(Outside("S")), rig.stock(PINNED, Outside("S"))
    hear = ours.hear

    def spoiled(heard):
        said = hear(heard)
        if heard.index == 1:
            ours.arena.view(state)[3].view(-1)[5] += 1
        return said

    ours.hear = spoiled
    found = compare(ours, stock, rig.opening(), rig.heard(), 2)
    assert (found["equal"], found["first_difference"].split(":")[0]) == (1, "unit 1")


def test_a_second_session_is_as_the_first(rig):
    ours = rig.cadence(Outside(SCRIPT))
    sessions = []
    for _ in range(2):
        ours.begin(rig.opening(PAST))
        said = []
        for heard in islice(rig.heard(), 12):
            said.append(ours.hear(heard))
            ours.rest(heard)
        sessions.append(said)

    for one, other in zip(*sessions, strict=True):
        assert (one.event, one.drawn, one.tokens) == (other.event, other.drawn, other.tokens)
        assert torch.equal(one.sound, other.sound)


def test_memory_keeps_to_the_plan_and_no_view_moves(rig):
    ours = rig.cadence(Outside(SCRIPT))
    arena, plan, before = ours.arena, ours.plan, ours.addresses
    assert isinstance(arena, HostArena)
    granule = rig.place.granule_bytes
    groups = 1 + sum(block.grows for block in lay_out(plan.states, granule).blocks)
    item_bytes = {state.name: state.item_bytes for state in plan.states}
    ours.begin(rig.opening(PAST))
    committed = []
    for heard in islice(rig.heard(), 70):
        ours.hear(heard)
        ours.rest(heard)
        planned = sum(ticks * item_bytes[name] for name, ticks in ours.following.demanded.items())
        assert arena.committed_bytes <= planned + GRANULES * granule * groups, heard.index
        assert ours.following.demanded[THOUGHT] >= ours.parts.language.held
        committed.append(arena.committed_bytes)
    assert ours.addresses == before
    assert max(committed[48:]) <= max(committed[:48]) + GRANULES * granule, "flat once the window is full"


def test_a_scripted_session_meets_no_shape_that_its_plan_does_not_know(rig):
    script = "L S S S F L S F"
    ours = rig.cadence(Outside(script))
    known = {(one.stage, one.shape, one.last) for one in ours.plan.shapes}
    execute, met = ours.runtime.execute, set()

    def noted(step, origin_ns):
        met.add(step.key)
        return execute(step, origin_ns)

    ours.runtime.execute = noted
    ours.begin(rig.opening())
    for heard in islice(rig.heard(), 2 * len(script.split())):
        ours.hear(heard)
        ours.rest(heard)

    exact = {key for key in met if key[0] in (AUDIO_ENCODER, FLOW_ENCODER, FLOW, VOCODER)}
    assert {key[0] for key in exact if key[2]} == {FLOW_ENCODER, FLOW, VOCODER}
    assert exact <= known
