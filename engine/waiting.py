"""How long the user waits: from the end of their voice until an answer can be heard.

What a person feels of a conversation, as the response delay of an answer that has come, and as dead air while none has.
Knows samples and times, no model and no sound card. Entered by [engine]; `dead_air_ms` by any thread.
"""

import numpy as np

from engine.clock import NS
from engine.step import AUDIBLE_LEVEL, Outcome


class Waiting:
    """Since when the user waits, and until when.

    Args:
        input_rate_hz: Of what the model hears.
        output_rate_hz: Of what it speaks.
    """

    def __init__(self, input_rate_hz: int, output_rate_hz: int) -> None:
        self._input_rate_hz, self._output_rate_hz = input_rate_hz, output_rate_hz
        self._unanswered_ns: int | None = None  # when the voice ended that an answer under way belongs to
        self._waits: tuple[int, int | None] | None = None  # when the voice ended, and when the answer sounds

    def dead_air_ms(self, now_ns: int) -> float:
        """How long the user has been waiting for an answer at `now_ns`; zero where nobody waits [any]."""
        waits = self._waits
        if waits is None or (waits[1] is not None and waits[1] <= now_ns):
            return 0.0
        return max(0, now_ns - waits[0]) / 1e6

    def unit(
        self,
        outcome: Outcome,
        *,
        awaited_since: int | None,
        heard_samples: int,
        heard_ns: int,
        sounds_at_ns: int | None,
    ) -> float | None:
        """Take in what a unit came to.

        Args:
            outcome: What it came to.
            awaited_since: The model's own `awaited_since`, as the unit ended.
            heard_samples: Session samples heard so far, the unit's chunk among them.
            heard_ns: When the last of them was heard.
            sounds_at_ns: When the unit's audio begins to sound; None where it does not.

        Returns:
            The response delay in milliseconds, from the user's last voiced sample to the first audible one of the
            answer; None where no answer begins in this unit.
        """

        def when(sample: int) -> int:
            return heard_ns - (heard_samples - sample) * NS // self._input_rate_hz

        if outcome.flush:
            self._unanswered_ns = self._waits = None
        if outcome.last_voiced_sample is not None:
            self._unanswered_ns = when(outcome.last_voiced_sample)
        audible = np.flatnonzero(np.abs(outcome.audio) >= AUDIBLE_LEVEL)
        if self._unanswered_ns is None or sounds_at_ns is None or not len(audible):
            ended_ns = self._unanswered_ns if awaited_since is None else when(awaited_since)
            if ended_ns is not None:
                self._waits = (ended_ns, None)
            elif self._waits is not None and self._waits[1] is None:  # else the answer is about to sound
                self._waits = None
            return None
        ended_ns, self._unanswered_ns = self._unanswered_ns, None
        begins_ns = sounds_at_ns + int(audible[0]) * NS // self._output_rate_hz
        self._waits = (ended_ns, begins_ns)
        return (begins_ns - ended_ns) / 1e6
