"""Pocket: hears, finds words, speaks. One unit's story, told in steps that a runtime executes.

Speech is heard out until a pause ends the turn. In a shorter pause the answer is drafted ahead, in a LISTEN unit that
has the time; if the user goes on, the draft is forgotten. An answer is spoken a second at a time while it is still
being written; the unit in which it has sounded to its end, or in which the user's voice cuts it short, is a FLUSH.
Entered by the engine thread.
"""

import re
from collections.abc import Callable, Generator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

import numpy as np

from engine.chunk import Chunk
from engine.models.pocket.answer import Answer
from engine.models.pocket.floor import Floor, Manners, decide
from engine.models.pocket.hearing_timelines import FRAME_SAMPLES
from engine.models.pocket.intents import Context, Figures, Intent, find_intent
from engine.models.pocket.recording import Recording
from engine.models.pocket.stages import Stages
from engine.models.pocket.timelines import LONGEST_HEARD_S
from engine.models.pocket.windows import TICKS_PER_S, window_s
from engine.plan import Plan
from engine.step import Event, Outcome, Said, SoFar, Step, UnitSteps

INPUT_HZ, OUTPUT_HZ = 16_000, 24_000
MARGIN = INPUT_HZ // 5  # heard around the voice: a consonant has little of it
PIECE_S = 5.0  # from this much speech on, what a pause brought is kept as heard, and only the rest is heard again
LONGEST_PIECE_S = 8.0  # without a pause at a chunk's end, so much is heard all the same: at most 10 s with the rest
SENTENCE = re.compile(r"(?<=[.?!])\s+")
AHEAD = 2 * OUTPUT_HZ  # speech pronounced ahead: this unit's second and the next one's


@dataclass
class Turn:
    """What the user is saying, or has just said.

    Args:
        onset: Session sample at which what has not been heard yet begins.
        heard: Words of the pieces heard so far.
    """

    onset: int
    heard: str = ""

    def with_words(self, text: str) -> str:
        """All words of the turn, where `text` is what was heard last."""
        return f"{self.heard} {text}".strip()


@dataclass(frozen=True)
class Draft:
    """What was thought in a pause: good while the user's last voiced sample stays where it was."""

    last_voiced: int
    text: str
    answer: Answer | None
    pace: float | None = None  # the voice's from now on, once the draft is answered

    @property
    def finished(self) -> bool:
        """Whether the user's words sound like the end of a sentence."""
        return self.text.endswith((".", "?", "!"))


class PocketModel:
    """The model that talks on a fresh machine; implements `engine.step.Model`.

    Args:
        stages: Voice activity, hearing, words and voice, of one runtime.
        plan: Of the same stages.
        now: The wall clock, for those who ask the time.
        manners: How long a pause means what.
    """

    name = "pocket"
    input_rate_hz, output_rate_hz = INPUT_HZ, OUTPUT_HZ

    def __init__(
        self,
        stages: Stages,
        plan: Plan,
        *,
        now: Callable[[], datetime],
        manners: Manners | None = None,
    ) -> None:
        self.plan = plan
        self._stages, self._now, self._manners = stages, now, manners or Manners()
        self.begin()

    def prepare(self) -> None:
        self._stages.prepare()

    def begin(self) -> None:
        self._stages.activity.reset()
        self._stages.voice.pace = 1.0
        self._recording = Recording(LONGEST_HEARD_S * INPUT_HZ)
        self._turn: Turn | None = None
        self._draft: Draft | None = None
        self._answer: Answer | None = None
        self._asked: Turn | None = None  # what is being answered
        self._unanswered: int | None = None  # its last voiced sample, until the answer is heard
        self._answered = 0  # session sample; voice from here on belongs to a turn that is not answered yet
        self._last_reply = ""
        self._figures = Figures()
        self._forgets = False

    @property
    def idle(self) -> bool:
        return self._turn is None and self._answer is None

    @property
    def awaited_since(self) -> int | None:
        if self._answer is not None:
            return self._unanswered
        last_voiced = self._stages.activity.last_voiced_sample
        if self._turn is None or last_voiced is None:
            return None
        silent_samples = self._recording.end - 1 - last_voiced
        return last_voiced if silent_samples >= self._manners.draft_s * INPUT_HZ else None

    def end_turn(self) -> None:
        self._turn = self._draft = self._answer = None
        self._answered = self._recording.end

    def unit(self, chunk: Chunk, so_far: SoFar) -> UnitSteps:
        self._pass_over(chunk.start_sample - self._recording.end)
        samples = np.pad(chunk.samples, (chunk.start_sample - self._recording.end, 0))  # silence for what was dropped
        self._recording.append(samples)
        self._figures = Figures(so_far.units, so_far.overruns, so_far.slack_ms)
        self._forgets = False
        activity = self._stages.activity
        yield Step("activity", (activity.frames_in(len(samples)),), int, lambda: activity.run(samples))
        if self._answer is not None:
            if so_far.interrupted or self._interrupted():
                return self._close(
                    self._answer,
                    unplayed_samples=so_far.unplayed_samples,
                    flush=True,
                    goes_on=not so_far.interrupted,
                )
            if self._answer.exhausted and not so_far.unplayed_samples:
                return self._close(self._answer, unplayed_samples=0, flush=False)
            yield from self._write(self._answer)
            return (yield from self._speak(self._answer))
        turn, draft = yield from self._listen()
        if draft is None:
            return Outcome(Event.LISTEN, forgets=self._forgets)
        self._stages.voice.pace = draft.pace or self._stages.voice.pace
        heard = (Said("user", draft.text, "heard"),) if draft.text else ()
        if draft.answer is None:
            return Outcome(Event.LISTEN, transcript=heard, forgets=self._forgets)
        self._answer, self._asked = draft.answer, turn
        self._unanswered = self._recording.last_loud(draft.last_voiced)
        return (yield from self._speak(draft.answer, heard))

    def _pass_over(self, missed_samples: int) -> None:
        """Of a long time in which nothing was heard, let all but its end go by unheard."""
        whole = (missed_samples - LONGEST_HEARD_S * INPUT_HZ) // FRAME_SAMPLES * FRAME_SAMPLES
        if whole > 0:
            self._recording.pass_over(whole)
            self._stages.activity.pass_over(whole)

    # Listening -------------------------------------------------------------------------------------------------------

    def _listen(self) -> Generator[Step, Any, tuple[Turn | None, Draft | None]]:
        """Hear the user out; returns the turn, and what was thought of it once it is over."""
        activity, manners = self._stages.activity, self._manners
        onset, last_voiced = activity.onset_after(self._answered), activity.last_voiced_sample
        if onset is None or last_voiced is None:
            return None, None
        if self._turn is None:
            self._turn = Turn(max(self._answered, onset - MARGIN))
        turn, silence_s = self._turn, (self._recording.end - 1 - last_voiced) / INPUT_HZ
        if not turn.heard and activity.voiced_samples_after(turn.onset) < manners.least_s * INPUT_HZ:
            if silence_s >= manners.endpoint_s:  # a click, a breath
                self.end_turn()
            return None, None
        draft = self._still_good(turn, last_voiced)
        floor = decide(silence_s, manners, finished=draft.finished if draft else None)
        if floor is Floor.WAIT:
            yield from self._hear_a_piece(turn)
            return turn, None
        draft = draft or (yield from self._think(turn, last_voiced))
        self._draft = draft
        if decide(silence_s, manners, finished=draft.finished) is not Floor.ANSWER:
            return turn, None
        self.end_turn()
        return turn, draft

    def _still_good(self, turn: Turn, last_voiced: int) -> Draft | None:
        """The draft at hand, unless the user went on; then a long one's words are kept, and not heard again."""
        draft = self._draft
        if draft is None or draft.last_voiced == last_voiced:
            return draft
        self._draft = None
        if draft.last_voiced - turn.onset >= PIECE_S * INPUT_HZ:
            turn.heard, turn.onset = draft.text, draft.last_voiced + 1
        return None

    def _hear_a_piece(self, turn: Turn) -> Generator[Step, Any, None]:
        """Hear what a long turn has brought, up to its last pause where there was one, so that little is left."""
        if self._recording.end - turn.onset < LONGEST_PIECE_S * INPUT_HZ:
            return
        last_onset = self._stages.activity.last_onset
        pause = last_onset - MARGIN // 2 if last_onset is not None else 0
        until = pause if pause - turn.onset >= PIECE_S * INPUT_HZ else self._recording.end
        turn.heard = turn.with_words((yield from self._hear(turn.onset, until)))
        turn.onset = until

    def _hear(self, start: int, end: int) -> Generator[Step, Any, str]:
        speech, hearing = self._recording.cut(start, end), self._stages.hearing
        window = window_s(len(speech))
        yield Step("hearing", (window * TICKS_PER_S,), int, lambda: hearing.listen(speech))
        heard = yield Step("transcript", (1,), lambda heard: len(heard.tokens), hearing.write)
        text: str = heard.text
        return text

    def _think(self, turn: Turn, last_voiced: int) -> Generator[Step, Any, Draft]:
        """Hear the turn to its end and begin an answer, spoken as far as its first second."""
        text = turn.heard
        if last_voiced >= turn.onset:  # else all of it was heard in pieces
            text = turn.with_words((yield from self._hear(turn.onset, last_voiced + MARGIN)))
        if not text:
            return Draft(last_voiced, "", None)
        speech, intent = self._stages.voice.speech(), self._intent(text)
        if intent is None:
            answer = Answer("model", speech)
            yield from self._ask(text)
            yield from self._write(answer)
        elif intent.say:
            answer = Answer("intent", speech, intent.say, written=True)
        else:
            return Draft(last_voiced, text, None, intent.pace)
        yield from self._pronounce(answer, OUTPUT_HZ)
        return Draft(last_voiced, text, answer, intent.pace if intent else None)

    def _intent(self, text: str) -> Intent | None:
        """What a program knows of all that was said, or of its last sentence: "Hello there. What time is it?"."""
        context = Context(self._now(), self._figures, self._last_reply, self._stages.voice.pace)
        return find_intent(text, context) or find_intent(SENTENCE.split(text)[-1], context)

    # Speaking --------------------------------------------------------------------------------------------------------

    def _ask(self, text: str) -> Generator[Step, Any, None]:
        """Put the question to the words, which forget the one before."""
        words, self._forgets = self._stages.words, True
        tokens = words.question(text)
        yield Step("prompt", (len(tokens),), len(tokens), lambda: words.start_turn(tokens))

    def _write(self, answer: Answer) -> Generator[Step, Any, None]:
        """Find the answer's next few words."""
        words = self._stages.words
        if not answer.written:
            tokens = yield Step("words", (1,), len, words.decode)
            answer.write(words.text_of(tokens), written=words.finished)

    def _pronounce(self, answer: Answer, samples: int) -> Generator[Step, Any, None]:
        """Turn clauses into speech until so many samples wait, or no clause can be had yet."""
        voice, speech = self._stages.voice, answer.speech
        while speech.queued_samples < samples:
            clause = answer.take_clause(hurry=speech.queued_samples < OUTPUT_HZ, whole=voice.whole)
            if not clause:
                return
            audio = yield Step("voice", (1,), 1, partial(voice.say, clause))
            speech.add(clause, audio)

    def _speak(self, answer: Answer, heard: tuple[Said, ...] = ()) -> Generator[Step, Any, Outcome]:
        """Hand out a second of speech, and have the next one ready."""
        yield from self._pronounce(answer, AHEAD)
        audio = answer.speech.take(OUTPUT_HZ)
        if not len(audio):
            return Outcome(Event.LISTEN, transcript=heard, forgets=self._forgets)
        begins, self._unanswered = self._unanswered, None
        return Outcome(Event.SPEAK, audio, heard, forgets=self._forgets, last_voiced_sample=begins)

    def _interrupted(self) -> bool:
        lately = max(self._answered, self._recording.end - INPUT_HZ)
        voiced = self._stages.activity.voiced_samples_after(lately)
        return voiced >= self._manners.barge_in_s * INPUT_HZ

    def _close(self, answer: Answer, unplayed_samples: int, *, flush: bool, goes_on: bool = True) -> Outcome:
        """The answer is over: what of it was heard, and what was left unsaid; `goes_on`: a voice has cut it short."""
        said, unsaid = answer.told(unplayed_samples)
        self._answer = self._unanswered = None
        if said:
            self._last_reply = said
        elif flush and goes_on and self._asked and self._recording.end - self._asked.onset < LONGEST_PIECE_S * INPUT_HZ:
            self._turn = self._asked  # nobody heard it, and the user goes on: the turn was not over, and is heard anew
        if not (flush and goes_on):  # a cough under the answer was no turn; a voice that goes on is one
            self._answered = self._voice_going_on() or self._recording.end
        lines = [
            Said("agent", text, kind, answer.source) for text, kind in ((said, "said"), (unsaid, "unsaid")) if text
        ]
        return Outcome(Event.FLUSH, transcript=tuple(lines), flush=flush)

    def _voice_going_on(self) -> int | None:
        """Where the voice began that has not paused yet; None where the user is silent."""
        activity, last_voiced = self._stages.activity, self._stages.activity.last_voiced_sample
        if last_voiced is None or self._recording.end - last_voiced > self._manners.draft_s * INPUT_HZ:
            return None
        return activity.last_onset
