"""The released code as the thing to compare with: it takes over from ours, a difference is seen, its room is known."""

import pytest
import torch

from engine.bench.tails import TAILS
from engine.models.token2wav.sizes import Token2WavSizes
from engine.stage import Lifetime
from engine.stock.caches import hand_over, same_caches
from engine.stock.transcription import ReleasedRoom

pytestmark = pytest.mark.usefixtures("one_thread")
MIB = 1 << 20


def test_the_released_code_goes_on_from_where_ours_stands(begin, released_driver):
    session = begin("S17 S S S S S S F9")
    session.ours.prepare(session.prompt)
    released_driver.prepare(session.prompt)
    for seed, (launch, tokens) in enumerate(session.launches(8)):
        if seed >= 5:
            torch.manual_seed(seed)
            expected = released_driver(tokens, last=launch.last)
        found = session.say(tokens, seed, last=launch.last)
        if seed == 4:
            assert not all(same_caches(session.ours, session.views, released_driver).values())
            hand_over(session.ours, session.views, released_driver)
            assert all(same_caches(session.ours, session.views, released_driver).values())
        elif seed > 4:
            assert torch.equal(found, expected)
            assert launch.last or all(same_caches(session.ours, session.views, released_driver).values())


@pytest.mark.parametrize("state", ["flow.attention", "flow.conv", "flow_encoder.up_attention", "vocoder.speech"])
def test_one_changed_number_in_a_cache_is_seen(begin, released_driver, state):
    session = begin("S S S")
    session.ours.prepare(session.prompt)
    released_driver.prepare(session.prompt)
    for seed, (_, tokens) in enumerate(session.launches(2)):
        torch.manual_seed(seed)
        released_driver(tokens)
        session.say(tokens, seed)
    assert all(same_caches(session.ours, session.views, released_driver).values())

    session.views[state].view(-1)[0] += 1

    assert list(same_caches(session.ours, session.views, released_driver).values()).count(False) == 1


def test_its_room_is_the_released_one_whatever_is_needed():
    tail = TAILS[0]
    plan = tail.plan(tail.lines(85, Token2WavSizes()))
    room = ReleasedRoom(plan, torch.device("meta"))
    released = 2000 + 125  # MiB of keys and values, the solver's and the transformer's own
    assert released * MIB < room.committed_bytes < (released + 160) * MIB
    assert room.view("flow.attention").shape[1] == tail.solver_steps
    before = room.committed_bytes
    room.reset(Lifetime.TURN)
    assert room.committed_bytes == room.resident_bytes == before
