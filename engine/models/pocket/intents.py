"""What a program knows better than a model: the time, the date, sums, its own cadence; and the commands given to it.

Pure functions of the utterance and a context that is passed in. An intent takes an utterance only as a whole, so that
questions about the world stay with the model; no fact about the world lives here. Entered by the engine thread.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from engine.models.pocket.arithmetic import calculate

SLOWEST, FASTEST, PACE_STEP = 0.6, 1.5, 0.8


@dataclass(frozen=True)
class Figures:
    """How the session has gone so far.

    Args:
        units: Seconds done.
        overruns: How many of them finished after their deadline.
        slack_ms: The median of what was left at their end, in milliseconds.
    """

    units: int = 0
    overruns: int = 0
    slack_ms: float = 0.0


@dataclass(frozen=True)
class Context:
    """What an answer may depend on.

    Args:
        now: The wall clock.
        figures: Of the session.
        last_reply: What was said last; empty before anything was.
        pace: How fast the voice speaks, 1 being its own pace.
    """

    now: datetime
    figures: Figures = field(default_factory=Figures)
    last_reply: str = ""
    pace: float = 1.0


@dataclass(frozen=True)
class Intent:
    """What to do about an utterance.

    Args:
        name: Of what was understood: "time", "stop" ...
        say: The reply; empty where silence is the answer.
        pace: A new pace for the voice; None leaves it.
    """

    name: str
    say: str = ""
    pace: float | None = None


def find_intent(text: str, context: Context) -> Intent | None:
    """What a program can answer, or None: the question is the model's.

    Args:
        text: As a recogniser wrote it.
        context: What the answer may depend on.
    """
    said = _tidy(text)
    for asked in (said, _without_manners(said)):
        for name, pattern, answer in INTENTS:
            if pattern.fullmatch(asked):
                return answer(name, asked, context)
        sentence = calculate(asked)
        if sentence is not None:
            return Intent("arithmetic", sentence)
    return None


# What was heard ----------------------------------------------------------------------------------------------------

BEFORE = re.compile(
    r"(?:(?:hey|hi|hello|ok|okay|so|well|oh|um|uh|and|but|now|please|pocket|excuse me|sorry|thanks|thank you|no|yes"
    r"|yeah|(?:can|could|would|will) you(?: please)?(?: tell me| give me| just)?|do you know|do you have|tell me"
    r"|i want to know|i would like to know|let me know|just|quickly) )+"
)
AFTER = re.compile(
    r"(?: (?:please|thanks|thank you|pocket|for me|right now|now|at the moment|then|by the way|exactly|do you know))+$"
)


def _tidy(text: str) -> str:
    """Lower case, apostrophes gone, punctuation gone but for that of numbers, single spaces."""
    text = unicodedata.normalize("NFKC", text).lower().replace("\u2019", "'")
    text = re.sub(r"\b(what|how|who|it|that)'s\b|\b(what|how)s\b", r"\1\2 is", text)
    text = text.replace("you're", "you are").replace("'", "")
    return " ".join(re.sub(r"[?!;:\"()\u2026\u201c\u201d]|(?<!\d)[.,]|[.,](?!\d)", " ", text).split())


def _without_manners(said: str) -> str:
    return BEFORE.sub("", AFTER.sub("", said) + " ", count=1).strip()


# What is answered --------------------------------------------------------------------------------------------------


def _time(name: str, asked: str, context: Context) -> Intent:
    now = context.now
    part = "at night" if not 5 <= now.hour < 22 else "in the morning" if now.hour < 12 else "in the afternoon"
    part = "in the evening" if 18 <= now.hour < 22 else part
    hour = (now.hour - 1) % 12 + 1
    return Intent(name, f"It is {hour}:{now.minute:02d} {part}." if now.minute else f"It is {hour} o'clock {part}.")


def _date(name: str, asked: str, context: Context) -> Intent:
    days = 1 if "tomorrow" in asked else -1 if "yesterday" in asked else 0
    when = context.now + timedelta(days=days)
    subject = {0: "Today is", 1: "Tomorrow is", -1: "Yesterday was"}[days]
    if "year" in asked:
        return Intent(name, f"It is the year {when.year}.")
    if "month" in asked:
        return Intent(name, f"It is {MONTHS[when.month - 1]}.")
    return Intent(name, f"{subject} {WEEKDAYS[when.weekday()]}, {MONTHS[when.month - 1]} {when.day}, {when.year}.")


def _cadence(name: str, asked: str, context: Context) -> Intent:
    figures = context.figures
    if not figures.units:
        return Intent(name, "My first second is not over yet, so nothing has been late.")
    left = f"about {round(figures.slack_ms, -1):.0f} milliseconds"
    if not figures.overruns:
        return Intent(name, f"Every second was on time, with {left} to spare.")
    late = f"{figures.overruns} of {figures.units} seconds {'was' if figures.overruns == 1 else 'were'} late"
    if figures.slack_ms < 0:
        return Intent(name, f"{late}. This machine is too slow for me.")
    return Intent(name, f"{late}. Usually {left} are left.")


def _repeat(name: str, asked: str, context: Context) -> Intent:
    return Intent(name, context.last_reply or "I have not said anything yet.")


def _pace(name: str, asked: str, context: Context) -> Intent:
    slower = name == "slower"
    pace = max(SLOWEST, context.pace * PACE_STEP) if slower else min(FASTEST, context.pace / PACE_STEP)
    if pace == context.pace:
        return Intent(name, f"I cannot speak any {'slower' if slower else 'faster'}.")
    return Intent(name, f"All right, I will speak {'more slowly' if slower else 'faster'}.", pace)


def _own_pace(name: str, asked: str, context: Context) -> Intent:
    return Intent(name, "All right, at my own pace again.", 1.0)


def _say(reply: str = "") -> "Answer":
    return lambda name, asked, context: Intent(name, reply)


WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
          "December"]  # fmt: skip
DAY = r"(?: today| tomorrow| yesterday)"
CADENCE = r"(?:cadence|cadences|cadents|cadense|kadence|cadens|credence|timing)"  # a rare word, variously recognised
YOU_ARE = r"(?:that is|you are|you speak|you talk|you are speaking|you are talking|you are going)"
SLOWLY = r"(?:slow|slower|slowly|more slowly|less fast|less quickly)"
QUICKLY = r"(?:quick|faster|quicker|quickly|more quickly|less slowly)"
SPEAK = r"(?:(?:speak|talk|go|say (?:it|that)|read) )?(?:(?:a little|a little bit|a bit|much|even|some) )?"

Answer = Callable[[str, str, Context], Intent]


def _intent(name: str, answer: Answer, *patterns: str) -> tuple[str, re.Pattern[str], Answer]:
    return name, re.compile("|".join(patterns)), answer


INTENTS = (
    _intent(
        "time",
        _time,
        r"(?:what is )?the (?:current |exact |local )?time(?: is it| it is)?|time",
        r"what time(?: is it| it is| do (?:you|we) have)",
        r"what hour is it",
    ),
    _intent(
        "date",
        _date,
        rf"(?:what (?:is|was|will be) )?(?:the |todays |tomorrows |yesterdays )(?:current )?(?:date|day){DAY}?",
        rf"(?:what|which) (?:day|date|weekday|day of the week)(?: is it| it is| is| was it| was| will it be){DAY}?",
        r"(?:what|which) (?:month|year)(?: is it| is this| it is)(?: now| today)?",
        r"what is the (?:current )?(?:month|year)",
    ),
    _intent(
        "cadence",
        _cadence,
        rf"(?:how|what) (?:is|are|was) (?:your|the|you) {CADENCE}(?: doing| going| today| so far)*",
        rf"(?:how about|what about|show me|about|report) your {CADENCE}",
        rf"are you (?:still )?(?:on time|keeping up|keeping (?:the|your) {CADENCE}|in time|late)",
        r"how much (?:slack|time to spare) (?:is left|do you have(?: left)?)",
    ),
    _intent(
        "stop",
        _say(),
        r"(?:(?:stop|halt|quiet|silence|enough|stop it|stop that|stop (?:talking|speaking)|be quiet|be silent|shut up"
        r"|hush|that is enough|that will do|never mind|stop now)(?: |$))+",
    ),
    _intent(
        "repeat",
        _repeat,
        r"(?:repeat|repeat (?:that|it|yourself|what you said|your answer)|say (?:that|it) again|come again|once more"
        r"|what did you (?:just )?say|what was that|pardon|pardon me|i beg your pardon|sorry|one more time)(?: again)?",
        r"i (?:did not|didnt) (?:hear|get|catch|understand) (?:that|you|it)",
    ),
    _intent(
        "slower",
        _pace,
        rf"{SPEAK}{SLOWLY}",
        r"(?:slow down|slow it down)(?: a bit| a little)?",
        rf"not so fast|{YOU_ARE} too (?:fast|quick|quickly)",
    ),
    _intent(
        "faster",
        _pace,
        rf"{SPEAK}{QUICKLY}",
        r"(?:speed up|speed it up|hurry up)(?: a bit| a little)?",
        rf"not so slow|{YOU_ARE} too (?:slow|slowly)",
    ),
    _intent("pace", _own_pace, rf"{SPEAK}(?:normally|at (?:your|a|the) (?:normal|usual|own) (?:speed|pace))"),
    _intent(
        "greeting",
        _say("Hello! What can I do for you?"),
        r"(?:hello|hi|hey|good (?:morning|afternoon|evening))(?: there| pocket)?",
    ),
    _intent("thanks", _say("You are welcome."), r"(?:thanks|thank you)(?: very much| so much| a lot| pocket)?"),
    _intent(
        "goodbye", _say("Goodbye!"), r"(?:goodbye|good bye|bye|bye bye|see you|good night)(?: later| then| pocket)?"
    ),
    _intent(
        "self",
        _say("I am Pocket, a small voice that runs on your own machine."),
        r"who are you|what are you|what is your name|what are you called|introduce yourself",
    ),
    _intent(
        "help",
        _say("Ask me the time, the date, a sum, or how my cadence is. Anything else I will try to answer too."),
        r"help|help me|what can you do|what can i (?:ask|say)(?: you| to you)?",
    ),
)
