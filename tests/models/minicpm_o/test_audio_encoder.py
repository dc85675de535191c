"""The streaming audio encoder equals transformers' Whisper layers under the released control flow, over two resets."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from engine.arena import HostArena
from engine.errors import BadWeights
from engine.models.minicpm_o.audio_encoder import STAGE, AudioEncoder
from engine.models.minicpm_o.checkpoint import checked
from engine.models.minicpm_o.made_up import TINY_ENCODER, make_up
from engine.models.minicpm_o.sizes import EncoderSizes, encoder_shapes
from engine.models.minicpm_o.timelines import timelines
from engine.plan import plan
from engine.stock.hearing import ReleasedEncoder

SIZES = TINY_ENCODER
TICKS = 200
pytestmark = pytest.mark.usefixtures("one_thread")


def chunks(count: int) -> Iterator[tuple[Tensor, int]]:
    """So many launches' mel, each with the frames of context before it."""
    generator = torch.Generator().manual_seed(5)
    mel = torch.randn(1, SIZES.mels, 100 * count + 2, generator=generator)
    for index in range(count):
        before = 2 if index else 0
        yield mel[:, :, 100 * index - before : 100 * index + 102], before


def begun(weights: dict[str, Tensor]) -> tuple[AudioEncoder, Tensor]:
    dtype = next(iter(weights.values())).dtype
    state = torch.full((TICKS, *SIZES.tick_shape), torch.nan, dtype=dtype)
    return AudioEncoder(checked("the encoder", weights, encoder_shapes(SIZES)), SIZES, state), state


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@torch.inference_mode()
def test_streamed_over_two_resets_it_is_the_released_encoder_bit_for_bit(dtype):
    weights = make_up(encoder_shapes(SIZES), dtype)
    released, (ours, state) = ReleasedEncoder(weights, SIZES), begun(weights)
    shapes = []
    for mel, before in chunks(10):
        expected = released(mel, before, 2)

        step = ours.step(mel)
        embeddings = step.eagerly()

        shapes.append(step.shape)
        assert embeddings.shape == (10, SIZES.out)
        assert embeddings.dtype == dtype
        assert torch.equal(embeddings, expected)
        assert 0.01 < expected.float().abs().mean() < 10, "or equality would say little"
        assert ours.held == released.held
        theirs = torch.stack([torch.stack((layer.keys[0], layer.values[0])) for layer in released.cache.layers])
        assert torch.equal(state[: ours.held], theirs.permute(3, 0, 1, 2, 4))
    # After a reset the positions count anew, but there is context before the chunk: a shape of its own.
    assert shapes == [
        (102, 0),
        (104, 50),
        (104, 100),
        (104, 150),
        *[(104, 0), (104, 50), (104, 100), (104, 150)],
        (104, 0),
        (104, 50),
    ]
    assert released.resets == 2
    assert state.isfinite().all(), "all four chunks that fit were written, and nothing beyond"


@torch.inference_mode()
def test_a_new_session_hears_as_the_first_did():
    ours, state = begun(make_up(encoder_shapes(SIZES), torch.float32))
    first = [ours.step(mel).eagerly() for mel, _ in chunks(3)]

    ours.begin()
    state.fill_(torch.nan)

    again = [ours.step(mel).eagerly() for mel, _ in chunks(3)]
    assert all(torch.equal(one, other) for one, other in zip(first, again, strict=True))


@torch.inference_mode()
def test_all_that_a_launch_does_is_in_its_key():
    ours, state = begun(make_up(encoder_shapes(SIZES), torch.bfloat16))
    steps = [ours.step(mel) for mel, _ in chunks(6)]
    expected = [step.eagerly() for step in steps]
    state.fill_(torch.nan)

    for step, embeddings in zip(steps, expected, strict=True):
        assert step.captures
        rehearsed = ours.rehearse(step.shape)
        assert rehearsed.key == step.key
        assert rehearsed.ticks == step.ticks == 100
        assert rehearsed.inputs[0].shape == step.inputs[0].shape
        assert torch.equal(rehearsed.run(*step.inputs), embeddings)


def test_released_sizes_run_the_planned_shapes_in_the_planned_state():
    planned = plan(timelines(), script="L", session_s=120)
    arena = HostArena(planned)
    view = arena.view(f"{STAGE}.keys_values")
    assert view.shape[1:] == EncoderSizes().tick_shape
    assert str(view.dtype) == "torch.bfloat16"

    with torch.device("meta"):
        weights = {
            name: torch.empty(shape, dtype=torch.bfloat16) for name, shape in encoder_shapes(EncoderSizes()).items()
        }
    ours = AudioEncoder(
        checked("the encoder", weights, encoder_shapes(EncoderSizes())), EncoderSizes(), view.to("meta")
    )
    for unit in range(90):
        (launch,) = planned.unit(unit).stages[STAGE].launches
        step = ours.step(torch.empty(1, 80, ours.frames, device="meta"))
        assert (step.shape, step.ticks) == (launch.shape, launch.takes), unit
        assert ours.held == planned.unit(unit).held[f"{STAGE}.keys_values"]


def test_what_is_wrong_with_weights_is_said():
    weights = make_up(encoder_shapes(SIZES), torch.float32)
    with pytest.raises(BadWeights, match=r"the encoder holds no apm\.layer_norm\.bias"):
        checked("the encoder", weights, encoder_shapes(SIZES), ignored=["apm.layer_norm.bias"])
    with pytest.raises(BadWeights, match=r"holds apm\.more, which is unknown"):
        checked("the encoder", weights | {"apm.more": torch.ones(1)}, encoder_shapes(SIZES))
    half = weights | {"apm.layer_norm.bias": weights["apm.layer_norm.bias"].bfloat16()}
    with pytest.raises(BadWeights, match="comes as bfloat16 and float32"):
        checked("the encoder", half, encoder_shapes(SIZES))
