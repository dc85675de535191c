"""What a script makes of drawn tokens."""

import pytest

from engine.bench.unit.scripted import Scripted
from engine.models.minicpm_o.made_up import TINY_MARKS as M
from engine.models.minicpm_o.protocol import Limits, Protocol
from engine.plan import Script


def units(script: str, count: int) -> list[tuple[bool, list[int]]]:
    """Of each unit: whether the user cuts in, and what is fed, by the released protocol; every token drawn is 107."""
    scripted, protocol = Scripted(Script.parse(script), M, texts=100, usual=3), Protocol(M, Limits(), len)
    found = []
    for index in range(count):
        forced, fed = scripted.begin_unit(index), []
        course, answer = protocol.unit(forced=forced), None
        while True:
            try:
                asked = course.send(answer)
            except StopIteration:
                break
            answer = None
            if hasattr(asked, "token"):
                fed.append(asked.token)
            else:
                answer = scripted(107)
        found.append((forced, fed))
    return found


def test_it_listens_speaks_ends_and_is_cut_short():
    assert units("L S2 S F1 L S L L", 8) == [
        (False, []),
        (False, [M.speak, 7, 7]),
        (False, [M.speak, 7, 7, 7]),
        (False, [M.speak, 7, M.turn_eos]),
        (False, []),
        (False, [M.speak, 7, 7, 7]),
        (True, [M.turn_eos]),
        (False, []),
    ]


@pytest.mark.parametrize(("script", "ends"), [("S20", False), ("S19", False), ("F20", True)])
def test_no_unit_has_more_than_the_protocol_lets_it_have(script, ends):
    ((_, fed),) = units(script, 1)
    assert len(fed) == Limits().steps - 1
    assert (fed[-1] == M.turn_eos) == ends
