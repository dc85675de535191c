"""The mel, second by second, is the released one to the bit, over two times that ten seconds go."""

import numpy as np
import pytest
import torch

from engine.arena import HostArena
from engine.models.layers.named import Named
from engine.models.minicpm_o.audio_encoder import AudioEncoder
from engine.models.minicpm_o.made_up import TINY_ENCODER, make_up
from engine.models.minicpm_o.mel import STAGE, StreamedMel
from engine.models.minicpm_o.sizes import encoder_shapes
from engine.models.minicpm_o.timelines import FIRST_CHUNK, timelines
from engine.plan import plan
from engine.stock.mel import ReleasedMel

pytestmark = pytest.mark.usefixtures("one_thread")
SECONDS = 55


def spoken(seconds: int) -> np.ndarray:
    """Noise that is loud and quiet by turns, from a session's start on, 35 ms longer than so many seconds."""
    generator = np.random.default_rng(3)
    samples = seconds * 16_000 + FIRST_CHUNK - 16_000
    loudness = 10.0 ** generator.uniform(-5, 0, samples // 800 + 1).repeat(800)[:samples]
    return (generator.standard_normal(samples) * loudness * 0.1).astype(np.float32)


def test_streamed_it_is_the_released_mel_in_the_planned_shapes_and_state():
    planned = plan(timelines(), script="L", session_s=SECONDS)
    arena = HostArena(planned)
    ours = StreamedMel(arena.view("mel.audio"), arena.view("mel.audio.shift"))
    released, sound, heard = ReleasedMel(), spoken(SECONDS), 0
    taken, loud = 0, set()
    for unit in range(SECONDS):
        arena.commit_needed(planned.unit(unit).needed)
        chunk = sound[heard : (heard := heard + (16_000 if unit else FIRST_CHUNK))]
        count = released.chunk_samples
        expected = released(sound[taken : (taken := taken + count)])

        step = ours.step(torch.from_numpy(chunk))
        mel = step.eagerly()

        (launch,) = planned.unit(unit).stages[STAGE].launches
        assert (step.shape, step.ticks) == (launch.shape, launch.takes)
        assert ours.held == planned.unit(unit).held["mel.audio"]
        assert mel.shape == (1, 80, 104 if unit else 102)
        assert torch.equal(mel, expected), unit
        loud.add(round(float(mel.max()), 2))
    assert len(loud) > 5


def test_its_frames_are_as_many_as_the_encoder_is_fed():
    state = torch.zeros(240, *TINY_ENCODER.tick_shape)
    encoder = AudioEncoder(Named(make_up(encoder_shapes(TINY_ENCODER), torch.float32)), TINY_ENCODER, state)
    ours = StreamedMel(torch.zeros(600_000), torch.zeros(400_000))
    for unit in range(3):
        frames = encoder.frames
        mel = ours.step(torch.zeros(16_000 if unit else FIRST_CHUNK)).eagerly()
        assert mel.shape[2] == frames
        encoder.step(mel[:, : TINY_ENCODER.mels])


def test_a_session_begins_anew():
    ours, sound = StreamedMel(torch.zeros(600_000), torch.zeros(400_000)), torch.from_numpy(spoken(3))
    first = [ours.step(sound[:FIRST_CHUNK]).eagerly(), ours.step(sound[FIRST_CHUNK : FIRST_CHUNK + 16_000]).eagerly()]
    ours.begin()
    again = [ours.step(sound[:FIRST_CHUNK]).eagerly(), ours.step(sound[FIRST_CHUNK : FIRST_CHUNK + 16_000]).eagerly()]
    assert all(torch.equal(one, other) for one, other in zip(first, again, strict=True))
