"""The whole unit as a GPU runs it, on a place that pretends to be one: graphs, clocked graphs and seams, same bits."""

from collections import Counter
from itertools import islice

import pytest
import torch

from engine.bench.columns import PINNED
from engine.bench.unit.equal import compare
from engine.bench.unit.rig import Outside, UnitAsked, UnitRig
from engine.builds.replaying import SPEECH_WAYS
from tests.bench.pretended import PretendedGpu

pytestmark = pytest.mark.usefixtures("one_thread", "released")
SCRIPT = "L S4 S10 F3 L S2 S L S20 F5"
EARLY = Outside(SCRIPT, ends_early=True)


def rig(way: str) -> UnitRig:
    asked = UnitAsked(device="cpu", tiny=True, system_tokens=20, window=(300, 220), speech_way=way)
    return UnitRig(asked, PretendedGpu())


@pytest.mark.parametrize("way", SPEECH_WAYS)
def test_graphs_clocked_graphs_and_seams_are_the_released_unit_bit_for_bit(way):
    made = rig(way)
    ours, stock = made.cadence(EARLY), made.stock(PINNED, EARLY)
    ours.capture()
    paths = Counter()
    rest = ours.rest

    def noted(heard):
        rest(heard)
        if heard.index >= 18:
            paths.update((record.name, record.path) for record in ours.settled)

    ours.rest = noted
    found = compare(ours, stock, made.opening(120), made.heard(), 30)

    assert (found["equal"], found["first_difference"]) == (30, None)
    assert found["window_slides"] > 1
    spoke = {"exact": "graph", "clocked": "clocked", "eager": "eager"}[way]
    expected = {
        *(("audio_encoder", "graph"), ("llm_draw", "graph"), ("llm_prefill", "clocked"), ("llm_prefill", "seam")),
        *(("llm_decode", "clocked"), ("llm_close", "seam"), ("tts", spoke), ("flow", "graph"), ("vocoder", "graph")),
    }
    assert expected <= {path for path, count in paths.items() if count > 1}
    tts = {path: count for (name, path), count in paths.items() if name == "tts"}
    assert tts[spoke] > 0.6 * sum(tts.values())
    assert not ours.figures()["refused"]


def test_a_session_from_graphs_repeats_itself():
    ours = rig("exact").cadence(Outside(SCRIPT))
    ours.capture()
    sessions = []
    for _ in range(2):
        ours.begin(rig("exact").opening())
        said = []
        for heard in islice(rig("exact").heard(), 5):
            said.append(ours.hear(heard))
            ours.rest(heard)
        sessions.append(said)
    assert all(torch.equal(one.sound, other.sound) for one, other in zip(*sessions, strict=True))
