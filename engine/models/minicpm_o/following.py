"""Where a conversation stands in its plan, unit by unit, by what its units came to. Entered by the engine thread."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from engine.arena import Arena
from engine.models.minicpm_o.building import SPOKEN, THOUGHT
from engine.models.minicpm_o.language import DECODE
from engine.models.minicpm_o.model import Parts, Spoken
from engine.models.minicpm_o.speech_decoder import CONDITION
from engine.plan import Plan
from engine.stage import Lifetime


class Following:
    """Follows a plan, and keeps its arena as far committed as the next unit may need.

    Two things are known only once a unit is over: what a window has left, which goes by whole units; and that a forced
    end of a turn leaves the speech decoder what it held, as released.

    Args:
        plan: Of all stages.
        arena: Of the plan.
        parts: Over the arena's views.
    """

    def __init__(self, plan: Plan, arena: Arena, parts: Parts) -> None:
        self._plan, self._arena, self._parts = plan, arena, parts
        turns = [name for name, spec in plan.specs.items() if spec.reset is Lifetime.TURN]
        self._turns, self._sounds = turns, [name for name in turns if name != SPOKEN]
        self._position = plan.start
        self.demanded: dict[str, int] = {}  # ticks of each state that were asked for since it was last given back

    @property
    def ahead(self) -> Mapping[str, int]:
        """The most ticks of each state that the next unit may need."""
        return self._plan.ahead(self._position)

    def begin(self, past_ticks: int = 0) -> None:
        """A session begins: all that was held goes, but for what it starts with.

        Args:
            past_ticks: Ticks of units that came before, which the language model will read again.
        """
        start = self._plan.start
        self._position = replace(
            start, held=MappingProxyType({**start.held, THOUGHT: start.held[THOUGHT] + past_ticks})
        )
        self._give_back(self._plan.specs)
        self._commit_ahead()

    def take(self, spoken: Spoken, index: int = 0) -> None:
        """A unit has ended; commits what the next may need."""
        plan, unit, position = self._plan, spoken.unit, self._position
        if unit.cut:
            position = plan.end_turn(position)
            self._give_back(self._sounds)
        event = "L" if unit.listens else "F" if unit.ends_turn else "S"
        ran = {DECODE: spoken.fed, CONDITION: 0 if unit.listens else len(unit.said) + 1}
        ticks = None if unit.listens else len(spoken.tokens)
        _, position = plan.advance(position, event, index=index, speech_ticks=ticks, ran=ran)
        held = {THOUGHT: self._parts.language.held, SPOKEN: self._parts.speech.held}
        self._position = replace(position, held=MappingProxyType({**position.held, **held}))
        if unit.ends_turn:
            self._give_back(self._turns)
        elif unit.forgets_speech:
            self._give_back([SPOKEN])
        self._commit_ahead()

    def _give_back(self, states: Iterable[str]) -> None:
        for state in states:
            self._arena.reset(state)
            self.demanded.pop(state, None)

    def _commit_ahead(self) -> None:
        ahead = self.ahead
        self._arena.commit_needed(ahead)
        self.demanded = {name: max(ticks, self.demanded.get(name, 0)) for name, ticks in ahead.items()}
