from pathlib import Path

import pytest
import soundfile

from engine.step import Said
from tests.quality.questions import BAR, BY_MODEL_BAR, FOLDER, MUST, Question, Result, Turn, put, questions, table

CADENCE = Question("how_is_your_cadence.wav", "How is your cadence?", "intent", (r"\b(on time|late)\b",))


def test_fifteen_questions_in_three_voices_or_more_most_of_them_the_models() -> None:
    asked, now = questions()
    assert len(asked) == len({one.file for one in asked}) == 15
    assert sum(one.by == "model" for one in asked) >= BY_MODEL_BAR
    assert {one.by for one in asked} == {"model", "intent"}
    assert {one.file for one in asked if one.by == "model"} >= set(MUST)
    assert sorted(path.name for path in FOLDER.glob("*.wav")) == sorted(one.file for one in asked)
    assert now.tzinfo is None
    text = (FOLDER / "questions.toml").read_text()
    assert len({line for line in text.splitlines() if line.startswith("voice =") and "nearest" not in line}) >= 3


@pytest.mark.parametrize("file", sorted(path.name for path in FOLDER.glob("*.wav")))
def test_a_clip_is_what_the_microphone_gives(file: str) -> None:
    info = soundfile.info(FOLDER / file)
    assert (info.samplerate, info.channels, info.subtype) == (16_000, 1, "PCM_16")
    assert 2 < info.duration < 6
    audio, _ = soundfile.read(FOLDER / file)
    assert 0.3 < abs(audio).max() < 0.95


@pytest.mark.parametrize(
    ("understood", "right"),
    [("every 2nd was on time", True), ("3 of 42 seconds were late", True), ("", False), ("i have a slate", False)],
)
def test_only_an_accepted_answer_is_right(understood: str, right: bool) -> None:
    turn = Turn(0, 5, (Said("agent", "Every second was on time.", "said", "intent"),))
    result = Result(CADENCE, turn, understood)
    assert result.right == right
    assert result.source == "intent"
    assert f"{int(right)} of 1 right" in table([result])


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.weights
@pytest.mark.usefixtures("one_thread")
def test_pocket_answers_spoken_questions(tmp_path: Path) -> None:
    results = put("cadence", tmp_path / "reply.wav")
    right = [one for one in results if one.right]
    assert len(right) >= BAR, table(results)
    assert sum(one.source == "model" for one in right) >= BY_MODEL_BAR, table(results)
    assert {one.question.file for one in right if one.source == "model"} >= set(MUST), table(results)
    assert all(one.source == one.question.by for one in results), table(results)
