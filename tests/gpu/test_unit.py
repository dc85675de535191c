"""MiniCPM-o's whole unit, tiny, on a device: graphs, clocked graphs and seams, equal to the released control flow."""

from collections import Counter

import pytest
import torch

from engine.bench.columns import PINNED
from engine.bench.place import CudaPlace
from engine.bench.unit.equal import compare
from engine.bench.unit.rig import TINY_WINDOW, Outside, UnitAsked, UnitRig
from engine.builds.replaying import SPEECH_WAYS
from tests.models.conftest import one_thread, released

__all__ = ["one_thread", "released"]
pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("one_thread", "released")]
EARLY = Outside("L S4 S10 F3 L S2 S L S20 F5", ends_early=True)


@pytest.mark.parametrize("way", SPEECH_WAYS)
@torch.no_grad()
def test_units_equal_the_released_control_flow(way):
    asked = UnitAsked(tiny=True, system_tokens=20, window=TINY_WINDOW, speech_way=way)
    made = UnitRig(asked, CudaPlace())
    ours, stock = made.cadence(EARLY), made.stock(PINNED, EARLY)
    ours.capture()
    paths, rest = Counter(), ours.rest

    def noted(heard):
        rest(heard)
        if heard.index >= 18:
            paths.update((record.name, record.path) for record in ours.settled)

    ours.rest = noted
    found = compare(ours, stock, made.opening(120), made.heard(), 30)
    ours.close()

    assert (found["equal"], found["first_difference"]) == (30, None)
    assert found["addresses_still"]
    refused = ours.figures()["refused"]
    if way == "clocked":  # the released attention's kernels may change with every length: then it says so
        assert all(why.startswith("tts ") for why in refused)
    else:
        assert not refused
    expected = {("llm_decode", "clocked"), ("llm_prefill", "seam"), ("llm_close", "seam"), ("llm_draw", "graph")}
    assert expected <= set(paths)
