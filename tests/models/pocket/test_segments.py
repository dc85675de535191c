from hypothesis import given
from hypothesis import strategies as st

from engine.models.pocket.segments import KEPT, Hysteresis, SpeechSegments

FRAME = 512
Probabilities = list[float]

probabilities = st.lists(st.sampled_from([0.0, 0.2, 0.34, 0.36, 0.45, 0.55, 0.9]), max_size=80)


def heard(frames: Probabilities, rules: Hysteresis | None = None) -> SpeechSegments:
    segments = SpeechSegments(rules)
    segments.push(0, FRAME, frames)
    return segments


def voiced_frames(frames: Probabilities, rules: Hysteresis) -> list[bool]:
    """The same rules over the whole list, told frame by frame from both ends of a stretch."""
    voiced = [False] * len(frames)
    start = 0
    while start < len(frames):
        if frames[start] < rules.starts:
            start += 1
            continue
        end = start
        while end < len(frames) and frames[end] >= rules.lasts:
            end += 1
        if (end - start) * FRAME >= rules.least_samples:
            voiced[start:end] = [True] * (end - start)
        start = end
    return voiced


@given(probabilities)
def test_stretches_are_the_runs_between_the_two_thresholds(frames: Probabilities) -> None:
    rules = Hysteresis()
    segments, voiced = heard(frames, rules), voiced_frames(frames, rules)

    marked = [False] * len(frames)
    for start, end in segments.stretches:
        for frame in range(start // FRAME, end // FRAME):
            marked[frame] = True
    assert marked == voiced
    assert segments.voiced_samples_after(0) == sum(voiced) * FRAME
    last = max((index for index, one in enumerate(voiced) if one), default=None)
    assert segments.last_voiced_sample == (None if last is None else (last + 1) * FRAME - 1)


@given(probabilities, st.integers(0, 80 * FRAME))
def test_questions_after_a_sample_agree_with_counting(frames: Probabilities, sample: int) -> None:
    segments, voiced = heard(frames), voiced_frames(frames, Hysteresis())
    after = [at for at in range(len(frames) * FRAME) if at >= sample and voiced[at // FRAME]]

    assert segments.voiced_samples_after(sample) == len(after)
    assert segments.onset_after(sample) == (after[0] if after else None)
    assert segments.last_onset == (segments.stretches[-1][0] if segments.stretches else None)


@given(probabilities, st.lists(st.integers(0, 80), max_size=5))
def test_how_frames_are_handed_over_changes_nothing(frames: Probabilities, cuts: list[int]) -> None:
    parts, at = SpeechSegments(), 0
    for cut in [*sorted(cuts), len(frames)]:
        part = frames[at:cut]
        parts.push(at * FRAME, FRAME, part)
        at += len(part)

    assert parts.stretches == heard(frames).stretches


def test_a_click_is_no_voice() -> None:
    assert heard([0.0, 0.99, 0.0]).last_voiced_sample is None
    assert heard([0.0, 0.99, 0.99, 0.0]).last_voiced_sample == 3 * FRAME - 1


def test_a_click_after_speech_does_not_prolong_it() -> None:
    assert heard([0.9, 0.9, 0.9, 0.0, 0.0, 0.9, 0.0]).last_voiced_sample == 3 * FRAME - 1


def test_only_the_newest_stretches_are_remembered() -> None:
    segments = heard([0.9, 0.9, 0.0] * (KEPT + 10))

    assert len(segments.stretches) == KEPT
    assert segments.stretches[-1][1] == ((KEPT + 10) * 3 - 1) * FRAME
