"""Moshi's course: Mimi's 12 and 13 frames on a one-second cadence, one on its own, and the bytes by hand."""

import pytest

from engine.clock import Rate
from engine.models.moshi.timelines import timelines
from engine.plan import plan

KIB = 1024

# Convolution tails by hand, in floats: ticks x channels, from the samples to 25 Hz and back.
ENCODER_TAILS = (
    6 * 1  # a kernel of 7
    + (2 + 4) * 64  # a residual kernel of 3, then one of 8 that strides by 4
    + (2 + 5) * 128
    + (2 + 6) * 256
    + (2 + 8) * 512
    + 2 * 1024  # a kernel of 3
    + 2 * 512  # a kernel of 4 that strides by 2, from 25 to 12.5 Hz
)
DECODER_TAILS = (
    2 * 512  # back to 25 Hz
    + 6 * 512
    + (8 + 2) * 512
    + (6 + 2) * 256
    + (5 + 2) * 128
    + (4 + 2) * 64
    + 2 * 64
)
TAILS = 4 * (ENCODER_TAILS + DECODER_TAILS)  # fp32
MIMI = 8 * 2 * 8 * 64 * 4  # a 25 Hz tick: layers, keys and values, heads, width, fp32
TEMPORAL = 32 * 2 * 32 * 128 * 2  # a frame, bf16
DEPTH = 8 * (6 * 2 * 16 * 64 * 2)  # eight codebooks of a frame, bf16


def test_mimi_takes_twelve_and_thirteen_frames_in_turn():
    made = plan(timelines(), script="L")
    encoded = [made.unit(unit).stages["mimi_encoder"] for unit in range(8)]

    assert [unit.ticks for unit in encoded] == [12, 13, 12, 13, 12, 13, 12, 13]
    assert [unit.shape for unit in encoded[:2]] == [(12 * 1920,), (13 * 1920,)]
    assert (made.cycles["mimi_encoder"].warm_up, made.cycles["mimi_encoder"].length) == (0, 2)


def test_the_answer_is_a_frame_late_and_then_as_many_as_came():
    made = plan(timelines(), script="L")

    decoded = [made.unit(unit).stages["mimi_decoder"] for unit in range(5)]
    assert [unit.shape for unit in decoded] == [(11,), (13,), (12,), (13,), (12,)]
    assert [unit.ticks for unit in decoded] == [1920 * frames for frames in (11, 13, 12, 13, 12)]
    assert (made.warm_up, made.cycle) == (1, 2)


@pytest.mark.parametrize("event", ["L", "S", "F"])
def test_a_frame_is_never_lost_nor_begun_twice(event):
    made = plan(timelines(), script=event)

    frames = 0
    for unit in range(400):
        frames += made.unit(unit).stages["temporal"].ticks
        assert frames == (unit + 1) * 24_000 // 1920


def test_on_its_own_cadence_a_unit_is_a_frame():
    made = plan(timelines(), cadence=Rate(25, 2), script="L")

    assert [made.unit(unit).stages["mimi_encoder"].shape for unit in range(4)] == [(1920,)] * 4
    assert [made.unit(unit).stages["mimi_decoder"].shape for unit in range(3)] == [(), (1,), (1,)]
    assert made.cycle == 1


def test_bytes_grow_with_the_frames_until_the_rings_are_full():
    made = plan(timelines(), script="L")

    assert TEMPORAL == 512 * KIB
    assert MIMI == 32 * KIB
    assert made.bytes_at(0) == TAILS + 2 * 12 * MIMI + 12 * TEMPORAL + DEPTH + 2 * 11 * MIMI
    assert made.bytes_at(1) == TAILS + 2 * 25 * MIMI + 25 * TEMPORAL + DEPTH + 2 * 24 * MIMI
    # Ten seconds fill Mimi's rings of 250 ticks (the decoder's, a frame behind, in the eleventh), four minutes the
    # temporal one of 3000 frames: 6.5 MB a second, where the released code takes 1.57 GB from the first.
    assert made.bytes_at(9) == TAILS + 250 * MIMI + 125 * TEMPORAL + DEPTH + 248 * MIMI
    assert made.bytes_at(238) == TAILS + 500 * MIMI + 2987 * TEMPORAL + DEPTH
    assert made.bytes_at(239) == TAILS + 500 * MIMI + 3000 * TEMPORAL + DEPTH
    assert made.bytes_at(5000) == made.bytes_at(239) == made.max_bytes


def test_seven_graphs_serve_a_whole_session():
    made = plan(timelines(), script="LS")

    assert {(one.stage, one.shape) for one in made.shapes} == {
        ("mimi_encoder", (23_040,)), ("mimi_encoder", (24_960,)), ("temporal", (1,)), ("depth", (8,)),
        ("mimi_decoder", (11,)), ("mimi_decoder", (12,)), ("mimi_decoder", (13,)),
    }  # fmt: skip
    assert [one.shape for one in made.shapes if one.a_unit == 0] == [(11,)]
