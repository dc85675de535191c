"""Voice activity: batched frames against frame by frame, on random weights; voice found, with the released ones."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from engine.errors import MissingWeights
from engine.models.pocket.convert_silero import SHAPES
from engine.models.pocket.hearing_timelines import FRAME_SAMPLES, MEMORY_WIDTH, hearing_timelines
from engine.models.pocket.vad import Silero, VoiceActivity, load_voice_activity
from engine.plan import plan

RATE_HZ = 16_000
QUESTIONS = Path(__file__).parents[3] / "assets" / "questions"
Samples = NDArray[np.float32]


def random_weights() -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return {
        name: torch.randn(shape, generator=generator) / max(1, int(np.prod(shape[1:]))) ** 0.5
        for name, shape in SHAPES.items()
    }


WEIGHTS = random_weights()


def silero() -> Silero:
    return Silero(WEIGHTS, torch.zeros(1, 2, MEMORY_WIDTH))


def sound(samples: int, seed: int = 0) -> Samples:
    return np.random.default_rng(seed).standard_normal(samples).astype(np.float32) * 0.3


def in_chunks(network: Silero, samples: Samples, chunks: list[int]) -> list[float]:
    told: list[float] = []
    at = 0
    for chunk in [*chunks, len(samples)]:
        frames = network.run(samples[at : at + chunk])
        assert frames.start == len(told) * FRAME_SAMPLES
        told += frames.probabilities
        at += chunk
    return told


@torch.inference_mode()
def frame_by_frame(samples: Samples) -> list[float]:
    """The network as its authors run it: a frame, with the end of the one before in front, then the next."""
    cell = torch.nn.LSTMCell(MEMORY_WIDTH, MEMORY_WIDTH)
    cell.load_state_dict({part: WEIGHTS[f"lstm_cell.{part}"] for part, _ in cell.named_parameters()})
    state, context, told = None, torch.zeros(64), []
    for start in range(0, len(samples) // FRAME_SAMPLES * FRAME_SAMPLES, FRAME_SAMPLES):
        frame = torch.cat([context, torch.from_numpy(samples[start : start + FRAME_SAMPLES])])
        context = frame[-64:]
        x = functional.pad(frame.view(1, 1, -1), (0, 64), "reflect")
        x = functional.conv1d(x, WEIGHTS["stft_conv.weight"], stride=128)
        x = (x[:, :129] ** 2 + x[:, 129:] ** 2).sqrt()
        for number, stride in ((1, 1), (2, 2), (3, 2), (4, 1)):
            weight, bias = WEIGHTS[f"conv{number}.weight"], WEIGHTS[f"conv{number}.bias"]
            x = functional.conv1d(x, weight, bias, stride, padding=1).relu()
        state = cell(x.view(1, -1), state)
        x = functional.conv1d(state[0].relu().view(1, -1, 1), WEIGHTS["final_conv.weight"], WEIGHTS["final_conv.bias"])
        told.append(float(x.sigmoid()))
    return told


def test_a_units_frames_at_once_are_its_frames_one_by_one() -> None:
    samples = sound(3 * RATE_HZ)
    expected = frame_by_frame(samples)

    told = in_chunks(silero(), samples, [RATE_HZ] * 3)

    assert len(told) == len(expected) == 3 * RATE_HZ // FRAME_SAMPLES
    assert max(told) - min(told) > 0.01  # the network does tell frames apart
    assert told == pytest.approx(expected, abs=1e-5)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(0, 3000), max_size=8))
def test_streamed_equals_whole_for_any_chunks(chunks: list[int]) -> None:
    samples = sound(8000)

    assert in_chunks(silero(), samples, chunks) == pytest.approx(in_chunks(silero(), samples, []), abs=1e-6)


def test_a_session_meets_the_frames_that_were_planned() -> None:
    network, planned = silero(), plan(hearing_timelines())
    activity = VoiceActivity(network)
    for unit in range(2 * planned.cycle):
        promised = activity.frames_in(RATE_HZ)

        assert activity.run(sound(RATE_HZ, unit)) == promised == planned.unit(unit).stages["activity"].ticks


def test_its_state_stays_where_it_was_handed_in() -> None:
    memory = torch.zeros(5, 2, MEMORY_WIDTH)[2:3]
    address = memory.data_ptr()
    network = Silero(WEIGHTS, memory)
    first = network.run(sound(RATE_HZ))
    assert memory.abs().sum() > 0

    network.reset()

    assert memory.data_ptr() == address
    assert memory.abs().sum() == 0
    assert network.run(sound(RATE_HZ)) == first


def test_missing_weights_are_named_with_their_remedy(tmp_path: Path) -> None:
    with pytest.raises(MissingWeights, match="models fetch pocket"):
        load_voice_activity(tmp_path / "pocket-silero", torch.zeros(1, 2, MEMORY_WIDTH))


# With the released weights --------------------------------------------------------------------------------------


@pytest.mark.weights("pocket-silero")
def test_voice_is_found_where_it_is_and_nowhere_else(weights_dir: Callable[[str], Path]) -> None:
    samples, rate_hz = soundfile.read(QUESTIONS / "tell_me_about_rain.wav", dtype="float32")
    question = np.asarray(soxr.resample(samples, rate_hz, RATE_HZ), np.float32)
    loud = np.flatnonzero(np.abs(question) > 0.01 * np.abs(question).max())
    before, length = 2 * RATE_HZ, 6 * RATE_HZ
    session = np.random.default_rng(0).standard_normal(length).astype(np.float32) * 1e-3
    session[before : before + len(question)] += question
    activity = load_voice_activity(weights_dir("pocket-silero"), torch.zeros(1, 2, MEMORY_WIDTH))

    for start in range(0, length, RATE_HZ):
        activity.run(session[start : start + RATE_HZ])

    tenth = RATE_HZ // 10
    assert activity.onset_after(0) == pytest.approx(before + loud[0], abs=tenth)
    assert activity.last_voiced_sample == pytest.approx(before + loud[-1], abs=1.5 * tenth)
    assert activity.onset_after(activity.last_voiced_sample + 1) is None
    assert activity.voiced_samples_after(before) > 0.7 * (loud[-1] - loud[0])
    assert activity.voiced_samples_after(before) == activity.voiced_samples_after(0)
