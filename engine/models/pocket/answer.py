"""An answer under way: words become clauses, clauses become speech, speech leaves a unit at a time.

Knows text and samples; no model and no time. Entered by the engine thread.
"""

from engine.models.pocket.clauses import take_clause
from engine.models.pocket.speech import Speech


class Answer:
    """What is being said to one turn of the user's.

    Args:
        source: "intent" or "model".
        speech: An empty queue of the voice's.
        text: What is known of it already; all of it for an intent.
        written: Whether no more text will come.
    """

    def __init__(self, source: str, speech: Speech, text: str = "", *, written: bool = False) -> None:
        self.source, self.speech, self.written = source, speech, written
        self._unspoken = text

    def write(self, text: str, *, written: bool) -> None:
        """More of the answer's text, and whether that was all."""
        self._unspoken += text
        self.written = written

    def take_clause(self, *, hurry: bool, whole: bool = False) -> str:
        """The next clause to pronounce; empty where there is none yet.

        Args:
            hurry: Silence would follow if nothing is pronounced now.
            whole: All of the text at once, and nothing before it is all there.
        """
        if not whole:
            clause, self._unspoken = take_clause(self._unspoken, complete=self.written, hurry=hurry)
        elif self.written:
            clause, self._unspoken = self._unspoken.strip(), ""
        else:
            clause = ""
        return clause

    @property
    def exhausted(self) -> bool:
        """Whether all of it has been handed out as speech."""
        return self.written and not self._unspoken.strip() and self.speech.queued_samples == 0

    def told(self, unplayed_samples: int) -> tuple[str, str]:
        """What of the answer has sounded, and what has not.

        Args:
            unplayed_samples: Of the speech that was handed out, how much never sounded.
        """
        said, unsaid = self.speech.told(unplayed_samples)
        return said, " ".join(part for part in (unsaid, self._unspoken.strip()) if part)
