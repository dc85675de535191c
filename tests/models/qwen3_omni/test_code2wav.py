"""code2wav against transformers' module: windows are its chunked decoding to the bit, the stream is its whole turn."""

from math import prod

import pytest
import torch

from engine.arena import HostArena
from engine.errors import BadWeights
from engine.models.qwen3_omni.code2wav import Checkpoint, Code2Wav
from engine.models.qwen3_omni.made_up import TINY, make_up, make_up_codes
from engine.models.qwen3_omni.sizes import Code2WavSizes, of_config, shapes
from engine.models.qwen3_omni.timelines import (
    AGAIN_FRAMES,
    FRAME_HZ,
    FRAME_SAMPLES,
    LOST_SAMPLES,
    TailShape,
    carried,
    windows,
)
from engine.plan import Plan, plan
from engine.replay import ReplayRuntime
from engine.stage import Ticking, Timeline
from engine.stock.qwen3_omni import released_config, released_module
from tests.bench.pretended import EagerCapturer
from tests.fakes import ManualClock

CPU = torch.device("cpu")
TALKER = Timeline("talker", Ticking(FRAME_HZ, speech=True), "frame", chunk=1)
ROUNDING = {"float32": 1e-6, "bfloat16": 0.01}  # of full scale, through some thirty layers
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module", params=["float32", "bfloat16"])
def weights(request, one_thread):
    dtype = getattr(torch, request.param)
    return {name: each.to(dtype) for name, each in make_up(TINY, CPU).items()}


@pytest.fixture(scope="module")
def released(weights):
    return released_module(TINY, weights)


def dtype_of(weights) -> str:
    return str(weights["decoder.0.conv.bias"].dtype).removeprefix("torch.")


def codes(frames: int, seed: int = 3) -> torch.Tensor:
    return make_up_codes(TINY, frames, torch.Generator().manual_seed(seed))


def window_by_window(ours: Code2Wav, planned: Plan, said: torch.Tensor) -> torch.Tensor:
    """A turn's sound as the plan's windows cut it."""
    sounds, taken, index = [], 0, 0
    while taken < said.shape[2]:
        for launch in planned.unit(index).stages["code2wav"].launches:
            end = min(taken + launch.takes, said.shape[2])
            again = min(AGAIN_FRAMES, taken)
            sound = ours.step(said[:, :, taken - again : end]).eagerly()
            sounds.append(sound[..., again * TINY.frame :])
            taken = end
        index += 1
    return torch.cat(sounds, -1)


def stream(weights, script: str = "(S)") -> tuple[Plan, Code2Wav]:
    """A carried tail in an arena of its own, all that the plan foresees committed."""
    planned = plan((TALKER, *carried("talker", TINY.shape(dtype_of(weights)))), script=script)
    arena = HostArena(planned)
    arena.commit_needed({state.name: state.max_ticks for state in planned.states})
    return planned, Code2Wav(Checkpoint.of(TINY, weights), {s.name: arena.view(s.name) for s in planned.states})


@pytest.mark.parametrize("chunk", [7, 13, 40])
def test_windows_are_the_released_chunked_decoding_bit_for_bit(weights, released, chunk):
    said = codes(100)
    ours = Code2Wav(Checkpoint.of(TINY, weights), {})
    planned = plan((TALKER, *windows("talker", chunk)), script="(S)")

    expected = released.chunked_decode(said, chunk_size=chunk, left_context_size=AGAIN_FRAMES)
    found = window_by_window(ours, planned, said)

    assert torch.equal(found, expected)
    assert found.shape[2] == 100 * TINY.frame - -(-100 // chunk) * TINY.lost, "every window loses some"
    assert 0.01 < found.abs().float().mean() < 0.5, "neither silent nor clipped, or equality would say little"


def test_sixty_seconds_of_windows_with_a_reset_twelve_and_thirteen_frames_in_turn(weights, released):
    ours = Code2Wav(Checkpoint.of(TINY, weights), {})
    planned = plan((TALKER, *windows("talker")), script=f"{'S ' * 40}F7 (S)")
    taken, met = 0, set()
    said = codes(60 * 13)

    for index in range(60):
        unit = planned.unit(index)
        for launch in unit.stages["code2wav"].launches:
            again = min(AGAIN_FRAMES, taken)
            window = said[:, :, index * 10 : index * 10 + launch.takes + again]
            assert launch.shape == (again + launch.takes,) == ours.step(window).shape
            assert torch.equal(ours.step(window).eagerly(), released(window))
            taken += launch.takes
            met.add(launch.takes)
        taken = 0 if unit.event == "F" else taken
    assert {12, 13, 7} <= met


def test_a_stream_is_the_whole_turn_over_sixty_units_with_resets(weights, released):
    planned, ours = stream(weights, f"{'S ' * 45}F7 ({'S ' * 13}F3)")
    address = ours._past.data_ptr()
    heard, sounds = [], []
    ours.reset()

    for index in range(60):
        unit = planned.unit(index)
        for launch in unit.stages["code2wav"].launches:
            heard.append(codes(launch.takes, seed=index))
            step = ours.step(heard[-1])
            assert step.shape == launch.shape
            sounds.append(step.eagerly())
            ours.advance(launch.takes)
        if unit.event == "F":
            turn, found = torch.cat(heard, 2), torch.cat(sounds, -1)
            assert found.shape[2] == turn.shape[2] * TINY.frame - TINY.lost, "lost once, at the beginning"
            assert (found - released(turn)).abs().max() <= ROUNDING[dtype_of(weights)]
            heard, sounds = [], []
            ours.reset()

    assert not heard, "the last turn has ended too"
    assert ours._past.data_ptr() == address


def test_a_stream_in_any_pieces_is_the_same_as_in_one(weights):
    (_, one), (_, other) = stream(weights), stream(weights)
    said = codes(60)
    for ours in (one, other):
        ours.reset()
    whole = one.step(said).eagerly()

    pieces, at = [], 0
    for count in (1, 1, 2, 3, 20, 33):
        pieces.append(other.step(said[:, :, at : at + count]).eagerly().clone())
        other.advance(count)
        at += count

    assert (torch.cat(pieces, -1) - whole).abs().max() <= ROUNDING[dtype_of(weights)]


def test_from_graphs_captured_before_the_session_nothing_runs_eagerly(weights):
    planned, plain = stream(weights)
    _, ours = stream(weights)
    runtime = ReplayRuntime(
        ManualClock(), EagerCapturer(), lambda stage, shape, last: ours.rehearse(stage, shape, last=last)
    )
    prepared = runtime.prepare(one for one in planned.shapes if one.stage == "code2wav")
    for one in (plain, ours):
        one.reset()

    for index in range(8):
        said = codes(planned.unit(index).stages["talker"].ticks, index)
        expected = plain.step(said).eagerly()
        found, _ = runtime.execute(ours.step(said), 0)
        assert torch.equal(found, expected)
        for one in (plain, ours):
            one.advance(said.shape[2])

    assert prepared.graphs == 5, "with none, 12 and 25 frames held, and then 12 and 13 in turn"
    assert not runtime.eager


def test_released_names_shapes_and_sizes_are_those_of_the_released_code():
    config = released_config(Code2WavSizes())
    read = of_config(config.to_dict())

    from transformers.models.qwen3_omni_moe.configuration_qwen3_omni_moe import Qwen3OmniMoeCode2WavConfig
    from transformers.models.qwen3_omni_moe.modeling_qwen3_omni_moe import Qwen3OmniMoeCode2Wav

    with torch.device("meta"):
        module = Qwen3OmniMoeCode2Wav._from_config(Qwen3OmniMoeCode2WavConfig())

    assert read == Code2WavSizes() == of_config(Qwen3OmniMoeCode2WavConfig().to_dict())
    assert {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()} == shapes(read)
    assert (read.frame, read.lost) == (FRAME_SAMPLES, LOST_SAMPLES)
    assert read.shape() == TailShape()


def test_what_is_carried_by_hand():
    (code2wav,) = carried("talker")
    made = plan((TALKER, code2wav), script="(S)")
    keys = 71 * 8 * 2 * 1024 * 4
    tails = 4 * (6 * 1024 * 3 + sum(1536 // 2**at + (6 + 18 + 54) * 1536 // 2 ** (at + 1) for at in range(4)) + 6 * 96)

    assert made.max_bytes == keys + tails
    assert made.unit(59).bytes == made.max_bytes
    assert [made.unit(at).stages["code2wav"].shape for at in (0, 1, 2, 8, 9)] == [
        (12, 0), (13, 12), (12, 25), (12, 71), (13, 71),
    ]  # fmt: skip


def test_a_checkpoint_that_is_not_whole_is_refused():
    named = {"code2wav." + name: torch.zeros(shape) for name, shape in shapes(TINY).items()}
    Checkpoint.of(TINY, named)
    named["code2wav.code_embedding.weight"] = torch.zeros(prod((3, 2)), 2)

    with pytest.raises(BadWeights, match=r"code_embedding\.weight of shape \[6, 2\]"):
        Checkpoint.of(TINY, named)


def test_a_configuration_that_asks_for_something_else_is_refused():
    config = released_config(TINY).to_dict()

    with pytest.raises(BadWeights, match="num_key_value_heads = 1"):
        of_config(config | {"num_key_value_heads": 1})
    with pytest.raises(BadWeights, match="cannot be read"):
        of_config({})
