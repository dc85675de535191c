import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.models.pocket.windows import (
    MAX_PIECE_S,
    MAX_TOKENS,
    MAX_WINDOW_S,
    MIN_WINDOW_S,
    SAMPLE_RATE_HZ,
    max_tokens,
    pieces,
    window_s,
)


@given(st.integers(1, MAX_PIECE_S * SAMPLE_RATE_HZ))
def test_a_window_is_whole_seconds_and_leaves_silence_behind_the_speech(samples: int) -> None:
    seconds = window_s(samples)

    assert MIN_WINDOW_S <= seconds <= MAX_WINDOW_S
    assert seconds * SAMPLE_RATE_HZ - samples >= 2 * SAMPLE_RATE_HZ


def test_the_next_second_of_speech_takes_the_next_window() -> None:
    assert window_s(3 * SAMPLE_RATE_HZ) + 1 == window_s(3 * SAMPLE_RATE_HZ + 1)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 100 * SAMPLE_RATE_HZ), st.integers(0, 2**32 - 1))
def test_pieces_hold_every_sample_once_and_fit_a_window(samples: int, seed: int) -> None:
    speech = np.random.default_rng(seed).standard_normal(samples).astype(np.float32)

    cut = pieces(speech)

    assert all(0 < len(piece) <= MAX_PIECE_S * SAMPLE_RATE_HZ for piece in cut)
    assert np.array_equal(np.concatenate([*cut, np.zeros(0, np.float32)]), speech)


def test_a_long_utterance_is_cut_in_its_last_pause() -> None:
    speech = np.full(40 * SAMPLE_RATE_HZ, 0.1, np.float32)
    early, late = 15 * SAMPLE_RATE_HZ, 25 * SAMPLE_RATE_HZ  # only the second lies where a cut may be
    pause = SAMPLE_RATE_HZ // 5
    speech[early : early + pause] = speech[late : late + pause] = 0.0

    first, second = pieces(speech)

    assert late < len(first) < late + pause
    assert len(first) + len(second) == len(speech)


def test_what_fits_is_left_whole() -> None:
    speech = np.ones(MAX_PIECE_S * SAMPLE_RATE_HZ, np.float32)

    assert [len(piece) for piece in pieces(speech)] == [len(speech)]


def test_tokens_follow_the_window_up_to_what_whisper_was_trained_for() -> None:
    assert max_tokens(MIN_WINDOW_S) < max_tokens(MIN_WINDOW_S + 1)
    assert max_tokens(MAX_WINDOW_S) == MAX_TOKENS
