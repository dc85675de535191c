"""Pocket's manners, on stages that tests make up: when it answers, drafts, waits, yields, and what it says it said."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.chunk import Chunk
from engine.models.pocket.hearing import Heard
from engine.models.pocket.model import INPUT_HZ, OUTPUT_HZ, PocketModel
from engine.models.pocket.segments import SpeechSegments
from engine.models.pocket.speech import Speech
from engine.models.pocket.stages import Stages
from engine.step import Event, Outcome, Said, SoFar
from tests.fakes import small_plan

FRAME = 512
Audio = NDArray[np.float32]


class Activity:
    """Voice is where it is loud."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._segments, self._heard = SpeechSegments(), np.zeros(0, np.float32)
        self._frames = 0

    def run(self, chunk: Audio) -> int:
        self._heard = np.concatenate([self._heard, chunk])
        count = (len(self._heard)) // FRAME
        frames = self._heard[: count * FRAME].reshape(count, FRAME)
        self._segments.push(self._frames * FRAME, FRAME, [float(np.abs(frame).max() > 0) for frame in frames])
        self._heard, self._frames = self._heard[count * FRAME :], self._frames + count
        return count

    def frames_in(self, samples: int) -> int:
        return (len(self._heard) + samples) // FRAME

    def pass_over(self, samples: int) -> None:
        assert samples % FRAME == 0
        self._frames += samples // FRAME

    def __getattr__(self, name: str) -> object:
        return getattr(self._segments, name)


class Ears:
    """Hears the words that a level stands for: each loud run of one level is one phrase."""

    def __init__(self, phrases: dict[float, str]) -> None:
        self._phrases, self._piece = phrases, np.zeros(0, np.float32)
        self.listened_s: list[float] = []

    def listen(self, piece: Audio) -> int:
        assert len(piece)
        self._piece = piece
        self.listened_s.append(len(piece) / INPUT_HZ)
        return 50

    def write(self) -> Heard:
        levels = [float(level) for level in np.round(self._piece, 4)]
        runs = [level for index, level in enumerate(levels) if index == 0 or level != levels[index - 1]]
        return Heard(" ".join(self._phrases[level] for level in runs if level))


class Anything(dict[str, str]):
    """Has the same answer to everything."""

    def __missing__(self, key: str) -> str:
        return "That is a long answer to a short question of yours."


class Words:
    """Writes the answer to the last question, six words a unit."""

    def __init__(self, answers: dict[str, str]) -> None:
        self._answers, self._left = answers, list[str]()
        self.finished, self.asked = True, list[str]()

    def prepare(self) -> None: ...

    def question(self, text: str) -> Sequence[int]:
        self.asked.append(text)
        return [0] * len(text.split())

    def start_turn(self, tokens: Sequence[int]) -> None:
        assert len(tokens) == len(self.asked[-1].split())
        self._left = self._answers[self.asked[-1]].split()
        self.finished = False

    def decode(self) -> list[int]:
        self._now, self._left = self._left[:6], self._left[6:]
        self.finished = not self._left
        return [0] * len(self._now)

    def text_of(self, tokens: Sequence[int]) -> str:
        assert len(tokens) == len(self._now)
        return "".join(f" {word}" for word in self._now)

    def reset_turn(self) -> None: ...


class Voice:
    """A third of a second a word."""

    whole, pace = False, 1.0

    def prepare(self) -> None: ...

    def speech(self) -> Speech:
        return Speech()

    def say(self, clause: str) -> Audio:
        return np.full(len(clause.split()) * OUTPUT_HZ // 3, 0.5, np.float32)


@dataclass
class Talk:
    """A conversation, unit by unit; what is handed out plays from the next unit on, as the session lets it."""

    phrases: dict[float, str]
    answers: dict[str, str]
    outcomes: list[Outcome] = field(default_factory=list)
    stages: list[list[str]] = field(default_factory=list)
    unplayed: int = 0
    skipped: int = 0
    interrupted: bool = False

    def __post_init__(self) -> None:
        self.ears, self.words, self.voice = Ears(self.phrases), Words(self.answers), Voice()
        self.model = PocketModel(
            Stages(Activity(), self.ears, self.words, self.voice),  # type: ignore[arg-type]
            small_plan(),
            now=lambda: datetime(2026, 3, 12, 15, 20),
        )

    def hear(self, audio: Audio) -> "Talk":
        assert len(audio) % INPUT_HZ == 0
        for samples in audio.reshape(-1, INPUT_HZ):
            index = self.skipped + len(self.outcomes)
            chunk = Chunk(index, index * INPUT_HZ, samples)
            so_far = SoFar(unplayed_samples=self.unplayed, interrupted=self.interrupted)
            self.interrupted = False
            steps, ran, result = self.model.unit(chunk, so_far), [], None
            try:
                while True:
                    step = steps.send(result)
                    result = step.run()
                    assert step.taken(result) >= 0
                    ran.append(step.stage)
            except StopIteration as end:
                outcome: Outcome = end.value
            self.unplayed = 0 if outcome.flush else max(0, self.unplayed - OUTPUT_HZ)
            self.unplayed += len(outcome.audio)
            self.outcomes.append(outcome)
            self.stages.append(ran)
        return self

    @property
    def events(self) -> str:
        return "".join(outcome.event.value[0] for outcome in self.outcomes)

    @property
    def lines(self) -> list[tuple[str, str]]:
        return [(line.kind, line.text) for outcome in self.outcomes for line in outcome.transcript]


def said(seconds: float, *bursts: tuple[float, float, float]) -> Audio:
    """Silence, with voice of a level from one second to another."""
    audio = np.zeros(int(seconds * INPUT_HZ), np.float32)
    for start_s, end_s, level in bursts:
        audio[int(start_s * INPUT_HZ) : int(end_s * INPUT_HZ)] = level
    return audio


FRANCE, RAIN = "What is the capital of France?", "Tell me about rain."
ANSWERS = {
    FRANCE: "The capital of France is Paris.",
    RAIN: "Rain is water that falls from clouds, and it makes plants grow. It is often cold.",
}


@pytest.mark.parametrize("phase", [tenth / 10 for tenth in range(10)])
def test_an_answer_begins_within_two_and_a_half_seconds_at_any_phase(phase: float) -> None:
    talk = Talk({0.5: FRANCE}, ANSWERS).hear(said(9, (1.0, 2.0 + phase, 0.5)))
    first = talk.events.index("S")
    # The second in which unit n's audio begins to sound starts two cadences after its chunk began.
    delay_s = first + 2 - (2.0 + phase)
    assert 1.4 < delay_s <= 2.6
    assert talk.outcomes[first].last_voiced_sample == pytest.approx((2.0 + phase) * INPUT_HZ, abs=2 * FRAME)
    assert talk.lines == [("heard", FRANCE), ("said", ANSWERS[FRANCE])]
    assert talk.events.count("F") == 1
    assert talk.model.idle


def test_a_short_pause_is_thought_in_and_the_next_unit_speaks_at_once() -> None:
    talk = Talk({0.5: FRANCE}, ANSWERS).hear(said(7, (0.2, 1.8, 0.5)))
    assert talk.events[:3] == "LLS"
    assert talk.stages[1] == ["activity", "hearing", "transcript", "prompt", "words", "voice"]
    assert "hearing" not in talk.stages[2]


def test_going_on_after_a_pause_drops_the_draft_and_hears_it_all() -> None:
    phrases = {0.5: "What is the capital", 0.25: "of France?"}
    answers = {**ANSWERS, "What is the capital": "The capital is the money."}
    talk = Talk(phrases, answers).hear(said(9, (0.2, 1.7, 0.5), (2.1, 2.7, 0.25)))
    assert talk.words.asked == ["What is the capital", FRANCE]
    assert talk.lines == [("heard", FRANCE), ("said", ANSWERS[FRANCE])]


def test_unfinished_words_are_waited_for() -> None:
    phrases = {0.5: "What is the"}
    talk = Talk(phrases, {"What is the": "I do not know."}).hear(said(8, (0.2, 1.4, 0.5)))
    assert talk.events[:3] == "LLS"  # 0.6 s of silence would have ended a finished sentence in unit 1
    assert Talk({0.5: FRANCE}, ANSWERS).hear(said(3, (0.2, 1.4, 0.5))).events[:2] == "LS"


def test_an_answer_is_spoken_second_by_second_without_a_hole() -> None:
    talk = Talk({0.5: RAIN}, ANSWERS).hear(said(14, (0.2, 1.2, 0.5)))
    spoken = [len(outcome.audio) for outcome in talk.outcomes if len(outcome.audio)]
    assert spoken[:-1] == [OUTPUT_HZ] * (len(spoken) - 1)
    assert sum(spoken) == len(ANSWERS[RAIN].split()) * OUTPUT_HZ // 3
    assert talk.events.strip("L") == "S" * len(spoken) + "LF"
    assert talk.lines[-1] == ("said", ANSWERS[RAIN])


def test_a_barge_in_yields_within_the_unit_and_keeps_what_was_unsaid() -> None:
    talk = Talk({0.5: RAIN, 0.25: FRANCE}, ANSWERS).hear(said(14, (0.2, 1.2, 0.5), (4.1, 5.0, 0.25)))
    cut = talk.events.index("F")
    assert cut == 4
    assert talk.outcomes[cut].flush
    (kind, heard_of_it), (other, left) = [line for line in talk.lines if line[0] in ("said", "unsaid")][:2]
    assert (kind, other) == ("said", "unsaid")
    assert ANSWERS[RAIN].startswith(f"{heard_of_it} {left}")
    assert heard_of_it
    assert talk.lines[-2:] == [("heard", FRANCE), ("said", ANSWERS[FRANCE])]


def test_a_cough_does_not_interrupt() -> None:
    talk = Talk({0.5: RAIN, 0.25: "Ahem."}, ANSWERS).hear(said(14, (0.2, 1.2, 0.5), (4.1, 4.3, 0.25)))
    assert ("said", ANSWERS[RAIN]) in talk.lines
    assert not any(outcome.flush for outcome in talk.outcomes)


def test_going_on_before_the_answer_sounded_joins_both_halves() -> None:
    phrases = {0.5: "What is the capital.", 0.25: "of France?"}
    joined = "What is the capital. of France?"
    talk = Talk(phrases, {"What is the capital.": "It is money.", joined: ANSWERS[FRANCE]})
    talk.hear(said(9, (0.1, 1.3, 0.5), (2.1, 2.8, 0.25)))
    assert ("unsaid", "It is money.") in talk.lines
    assert talk.lines[-2:] == [("heard", joined), ("said", ANSWERS[FRANCE])]


def test_questions_that_nobody_waits_an_answer_for_do_not_pile_up() -> None:
    levels = {(index + 1) / 16: f"Question {index}?" for index in range(8)}
    talk = Talk(levels, {})
    talk.words._answers = Anything()  # type: ignore[assignment]
    talk.hear(said(40, *((3 * index + 0.1, 3 * index + 1.3, level) for index, level in enumerate(levels))))
    assert max(len(asked.split("?")) - 1 for asked in talk.words.asked) <= 3
    assert talk.lines[-2][1].endswith("Question 7?")


def test_of_several_sentences_a_program_answers_the_last() -> None:
    talk = Talk({0.5: "Hello there. What time is it?"}, {}).hear(said(7, (0.2, 1.2, 0.5)))
    assert talk.words.asked == []
    assert "3:20" in talk.lines[-1][1]


def test_a_pace_that_was_only_drafted_is_forgotten() -> None:
    phrases = {0.5: "Speak slower.", 0.25: "than a snail is what I said."}
    whole = "Speak slower. than a snail is what I said."
    talk = Talk(phrases, {whole: "I see."}).hear(said(8, (0.2, 1.7, 0.5), (2.05, 3.2, 0.25)))
    assert talk.words.asked == [whole]
    assert talk.voice.pace == 1.0
    assert Talk({0.5: "Speak slower."}, {}).hear(said(8, (0.2, 1.7, 0.5))).voice.pace < 1.0


def test_dropped_chunks_are_silence_at_their_place() -> None:
    talk = Talk({0.5: FRANCE}, ANSWERS).hear(said(2))
    talk.skipped = 3
    talk.hear(said(6, (0.2, 1.2, 0.5)))
    (begins,) = [outcome.last_voiced_sample for outcome in talk.outcomes if outcome.last_voiced_sample is not None]
    assert begins == pytest.approx((5 + 1.2) * INPUT_HZ, abs=FRAME)


def test_a_click_is_no_turn() -> None:
    talk = Talk({0.5: "!"}, {}).hear(said(4, (1.0, 1.09, 0.5)))
    assert talk.events == "LLLL"
    assert talk.ears.listened_s == []
    assert talk.model.idle


def test_what_was_no_speech_is_not_answered() -> None:
    talk = Talk({0.5: ""}, {}).hear(said(5, (1.0, 2.0, 0.5)))
    assert set(talk.events) == {"L"}
    assert talk.lines == []
    assert talk.model.idle


def test_intents_need_no_words_and_stop_says_nothing() -> None:
    talk = Talk({0.5: "What time is it?", 0.25: "Stop."}, {}).hear(said(9, (0.2, 1.2, 0.5), (3.2, 3.8, 0.25)))
    assert talk.words.asked == []
    assert talk.outcomes[1].event is Event.SPEAK
    assert Said("user", "What time is it?", "heard") in talk.outcomes[1].transcript
    assert talk.lines[-1] == ("heard", "Stop.")
    assert talk.model.idle


def test_a_long_turn_is_heard_in_pieces_and_answered_whole() -> None:
    phrases = {0.5: "one", 0.25: "two", 0.75: RAIN}
    whole = f"one two {RAIN}"
    talk = Talk(phrases, {whole: "Good.", "one": "a", "one two": "b", "two": "c"})
    talk.hear(said(20, (0.2, 6.7, 0.5), (7.05, 13.7, 0.25), (14.05, 15.2, 0.75)))
    assert ("heard", whole) in talk.lines
    assert max(talk.ears.listened_s) < 10
    assert talk.ears.listened_s[-1] < 3  # the turn's end waits for little


def test_a_long_turn_that_ends_as_its_last_piece_does_is_answered() -> None:
    talk = Talk({0.5: "One."}, {"One.": "Good."}).hear(said(12, (0.0, 8.0, 0.5)))
    assert talk.lines == [("heard", "One."), ("said", "Good.")]
    assert talk.ears.listened_s == [8.0]


def test_a_stage_that_failed_is_forgotten() -> None:
    talk = Talk({0.5: FRANCE}, ANSWERS).hear(said(2, (0.2, 1.7, 0.5)))
    talk.model.end_turn()
    assert talk.model.idle
    talk.hear(said(6, (0.2, 1.2, 0.5)))
    assert talk.lines == [("heard", FRANCE), ("said", ANSWERS[FRANCE])]


def test_an_interruption_ends_the_turn_as_a_barge_in_does() -> None:
    talk = Talk({0.5: RAIN}, ANSWERS).hear(said(3, (0.2, 1.2, 0.5)))
    assert talk.events == "LSS"
    talk.interrupted = True
    talk.hear(said(3))
    assert talk.events == "LSSFLL"
    assert talk.outcomes[3].flush
    (kind, heard_of_it), (other, left) = [line for line in talk.lines if line[0] in ("said", "unsaid")]
    assert (kind, other) == ("said", "unsaid")
    assert heard_of_it
    assert ANSWERS[RAIN].startswith(f"{heard_of_it} {left}")
    assert talk.model.idle


def test_an_answer_that_was_interrupted_before_it_sounded_is_not_begun_again() -> None:
    talk = Talk({0.5: FRANCE}, ANSWERS).hear(said(2, (0.2, 1.2, 0.5)))
    assert talk.events == "LS"
    talk.interrupted = True
    talk.hear(said(4))
    assert talk.events == "LSFLLL"
    assert talk.lines == [("heard", FRANCE), ("unsaid", ANSWERS[FRANCE])]
    talk.hear(said(5, (0.2, 1.2, 0.5)))
    assert talk.lines[-1] == ("said", ANSWERS[FRANCE])


def test_an_interruption_while_nobody_speaks_is_nothing() -> None:
    talk = Talk({0.5: FRANCE}, ANSWERS)
    talk.interrupted = True
    talk.hear(said(5, (0.2, 1.2, 0.5)))
    assert talk.lines == [("heard", FRANCE), ("said", ANSWERS[FRANCE])]


def test_who_has_stopped_talking_is_waiting_until_the_answer_begins() -> None:
    talk = Talk({0.5: RAIN}, ANSWERS).hear(said(2, (0.2, 1.7, 0.5)))
    assert talk.events == "LL"
    assert talk.model.awaited_since == pytest.approx(1.7 * INPUT_HZ, abs=FRAME)
    assert talk.hear(said(1)).events == "LLS"
    assert talk.model.awaited_since is None
    going_on = Talk({0.5: RAIN}, ANSWERS).hear(said(2, (0.2, 2.0, 0.5)))
    assert going_on.model.awaited_since is None


def test_after_a_long_pause_the_next_question_is_heard_at_its_place() -> None:
    talk = Talk({0.5: FRANCE}, ANSWERS).hear(said(2))
    talk.skipped = 3600
    heard_frames = talk.model._stages.activity._frames  # type: ignore[attr-defined]
    talk.hear(said(6, (0.2, 1.2, 0.5)))
    (begins,) = [outcome.last_voiced_sample for outcome in talk.outcomes if outcome.last_voiced_sample is not None]
    assert begins == pytest.approx((3602 + 1.2) * INPUT_HZ, abs=FRAME)
    assert talk.lines == [("heard", FRANCE), ("said", ANSWERS[FRANCE])]
    assert heard_frames == 2 * INPUT_HZ // FRAME


def test_a_new_session_knows_nothing_of_the_one_before() -> None:
    talk = Talk(
        {0.5: FRANCE, 0.25: RAIN, 0.75: "Speak slower.", 0.125: "Repeat that."}, {**ANSWERS, "Repeat that.": "No."}
    )
    talk.hear(said(11, (0.2, 1.2, 0.5), (6.2, 6.8, 0.75), (9.0, 10.0, 0.25)))
    assert talk.voice.pace < 1
    assert not talk.model.idle
    talk.model.begin()
    assert talk.model.idle
    assert talk.model.awaited_since is None
    assert talk.voice.pace == 1
    fresh = Talk(talk.phrases, talk.answers)
    talk.outcomes, talk.stages, talk.unplayed = [], [], 0
    for each in (talk, fresh):
        each.hear(said(8, (0.0, 1.1, 0.125)))
    assert talk.lines == fresh.lines
    assert talk.events == fresh.events
