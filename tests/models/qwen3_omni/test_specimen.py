"""Both Omnis' tails keep the laws that every model keeps."""

import pytest

from engine.laws import hold
from engine.laws.laws import ADDRESSES, PLAN, REPLAY, WHOLE
from engine.models.registry import find


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize(("name", "whole"), [("qwen2.5-omni-7b", None), ("qwen3-omni-30b-a3b", True)])
def test_a_tail_keeps_every_law_that_can_be_tried_on_it(name, whole):
    laws = {law.name: (law.kept, law.words) for law in hold(find(name).show())}

    assert {law: kept for law, (kept, _) in laws.items()} == {
        PLAN: True, WHOLE: whole, REPLAY: True, ADDRESSES: True,
    }, laws  # fmt: skip
