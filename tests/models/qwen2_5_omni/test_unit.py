"""Qwen2.5-Omni's tail against transformers' modules: the same windows, the same noise, every bit; and from graphs."""

import gc
import weakref
from collections.abc import Iterator

import pytest
import torch

from engine.arena import HostArena
from engine.clock import Rate
from engine.errors import BadWeights
from engine.models.qwen2_5_omni.checkpoint import Checkpoint
from engine.models.qwen2_5_omni.made_up import TINY, make_up, make_up_voice
from engine.models.qwen2_5_omni.sizes import Token2WavSizes, of_config, shapes
from engine.models.qwen2_5_omni.timelines import BEFORE_CODES, token2wav
from engine.models.qwen2_5_omni.unit import Token2Wav
from engine.models.qwen2_5_omni.windows import Window, Windows
from engine.plan import Plan, plan
from engine.replay import ReplayRuntime
from engine.stage import Lifetime, Ticking, Timeline
from engine.step import Step, carry_out
from engine.stock.qwen2_5_omni import ReleasedWindows, released_configs, released_modules
from tests.bench.pretended import EagerCapturer
from tests.fakes import ManualClock

CPU = torch.device("cpu")
CODES = Timeline("talker", Ticking(Rate(50), speech=True), "code", chunk=1)
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def weights(one_thread):
    return make_up(TINY, CPU)


class Session:
    """Ours, in an arena of its own, and the windows of a planned session."""

    def __init__(self, weights, script: str) -> None:
        self.lines = token2wav("talker", mels=TINY.flow.channels)
        self.plan: Plan = plan((CODES, *self.lines), script=script)
        self.arena = HostArena(self.plan)
        self.arena.commit_needed(self.plan.ahead(self.plan.start))
        self.mel = self.arena.view("vocoder.mel")
        self.mel.fill_(torch.nan)  # what is read before it has been written shows
        self.ours = Token2Wav(Checkpoint.of(TINY, weights), {"vocoder.mel": self.mel})
        self.ours.prepare(make_up_voice(TINY))
        self._generator = torch.Generator().manual_seed(11)

    def windows(self) -> Windows:
        return Windows(self.lines[0], lambda n: torch.randn(1, n, TINY.flow.channels, generator=self._generator))

    def units(self, count: int) -> Iterator[list[Window]]:
        """Windows unit by unit, as the plan's script has it; resets follow turns."""
        windows = self.windows()
        for index in range(count):
            unit = self.plan.unit(index)
            codes = torch.randint(0, TINY.codes - 1, (1, unit.stages["talker"].ticks), generator=self._generator)
            made = windows.add(codes, last=unit.event == "F")
            assert [(one.codes.shape[1], one.takes, one.last) for one in made] == [
                (one.fed, one.takes, one.last) for one in unit.stages["flow"].launches
            ]
            yield made
            if unit.event == "F":
                windows = self.windows()
                self.ours.reset()


@pytest.mark.slow
def test_sixty_units_with_a_reset_are_the_released_modules_bit_for_bit(weights):
    session = Session(weights, f"S30 {'S ' * 45}F17 S3 (S)")
    theirs = ReleasedWindows(TINY, *released_modules(TINY, weights))
    theirs.prepare(make_up_voice(TINY))
    address, heard = session.mel.data_ptr(), 0

    for index, made in enumerate(session.units(60)):
        unit, sounds = session.plan.unit(index), 0
        for window in made:
            expected = theirs(window)
            found = session.ours(window)
            assert torch.equal(found, expected), f"unit {index}"
            held = session.ours.vocoder.held
            assert torch.equal(session.mel[:held].permute(1, 2, 0), theirs.carried)
            sounds += found.shape[1]
            heard += 1
            assert 0.01 < found.abs().mean() < 0.5, "neither silent nor clipped, or equality would say little"
        # The plan counts released samples; a tiny frame has fewer.
        assert sounds * 240 == sum(one.yields for one in unit.stages["vocoder"].launches) * TINY.vocoder.frame
        if unit.event == "F":
            theirs.reset()

    assert heard > 55
    assert session.mel.data_ptr() == address


def test_from_graphs_captured_before_the_session_nothing_runs_eagerly(weights):
    session = Session(weights, "S30 S S S (S)")
    plain = [session.ours(window) for made in session.units(6) for window in made]
    replayed = Session(weights, "S30 S S S (S)")

    def rehearse(stage: str, shape: tuple[int, ...], last: bool) -> Step:
        return replayed.ours.rehearse(stage, shape, last=last)

    runtime = ReplayRuntime(ManualClock(), EagerCapturer(), rehearse)
    prepared = runtime.prepare(one for one in replayed.plan.shapes if one.stage != "talker")
    sounds = []
    for made in replayed.units(6):
        for window in made:
            sound = carry_out(replayed.ours.steps(window), lambda step: runtime.execute(step, 0)[0])
            sounds.append(sound.clone())  # a graph writes over it when it is replayed

    assert prepared.graphs == 6, "three lengths of either stage"
    assert not runtime.eager
    assert [torch.equal(*pair) for pair in zip(plain, sounds, strict=True)] == [True] * len(plain)


def test_a_frame_starts_from_the_same_noise_whenever_it_is_worked_out(weights):
    first, second = Session(weights, "(S)").units(2)

    assert torch.equal(first[0].noise[:, 2 * (first[0].takes - BEFORE_CODES) :],
                       second[0].noise[:, : 2 * (BEFORE_CODES + 12)])  # fmt: skip


def test_matrices_that_say_what_time_says_are_not_held():
    tensors = make_up(TINY, CPU)
    moved, held = (
        weakref.ref(tensors[f"code2wav_dit_model.transformer_blocks.0.{name}.weight"])
        for name in ("attn_norm.linear", "ff.ff.0")
    )
    ours = Token2Wav(Checkpoint.of(TINY, tensors), {"vocoder.mel": torch.zeros(40, 1, TINY.flow.channels)})
    tensors.clear()
    gc.collect()

    assert moved() is None
    assert held() is not None
    ours.prepare(make_up_voice(TINY))


def test_all_that_is_carried_belongs_to_the_turn(weights):
    states = Session(weights, "(S)").plan.states

    assert [state.name for state in states] == ["vocoder.mel"]
    assert states[0].reset is Lifetime.TURN
    assert states[0].max_ticks == 40


def test_released_names_and_shapes_and_sizes_are_those_of_the_released_code():
    """On the meta device, at full size; and the released configuration's defaults come to the same."""
    flow_config, vocoder_config = released_configs(Token2WavSizes())
    read = of_config({"dit_config": flow_config.to_dict(), "bigvgan_config": vocoder_config.to_dict()})

    from transformers.models.qwen2_5_omni import configuration_qwen2_5_omni as released
    from transformers.models.qwen2_5_omni.modeling_qwen2_5_omni import Qwen2_5OmniToken2WavModel

    with torch.device("meta"):
        module = Qwen2_5OmniToken2WavModel(released.Qwen2_5OmniToken2WavConfig())

    assert read == Token2WavSizes()
    assert {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()} == shapes(read)


def test_a_checkpoint_that_is_not_whole_is_refused(weights):
    named = {"token2wav." + name: tensor for name, tensor in weights.items()}
    Checkpoint.of(TINY, named)
    del named["token2wav.code2wav_dit_model.proj_out.bias"]

    with pytest.raises(BadWeights, match=r"no code2wav_dit_model\.proj_out\.bias"):
        Checkpoint.of(TINY, named)


@pytest.mark.parametrize("changed", [{"repeats": 4}, {"mel_dim": None}])
def test_a_configuration_that_asks_for_something_else_is_refused(changed):
    flow, vocoder = (config.to_dict() for config in released_configs(TINY))

    with pytest.raises(BadWeights, match="token2wav_config"):
        of_config({"dit_config": flow | changed, "bigvgan_config": vocoder})
