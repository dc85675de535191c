"""What a stage declares: what drives it, how it cuts that into launches, and the state it carries.

Declarations only: frozen, checked in full sentences, free of torch and of time. `engine.plan` turns them into shapes
and bytes; nothing here knows how. Any thread may read them.

A *tick* is one step of a stage's own clock (a mel frame, a codec token). A *launch* is one run of the stage: it is
*fed* some ticks, *takes* some of them for good and *yields* ticks of its output clock. What is fed beyond those taken
is look-ahead and context.
"""

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from engine.clock import Rate
from engine.errors import AskedWrongly

T = "t"  # the time axis in a state's shape
DTYPE_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "int64": 8, "int32": 4, "int8": 1, "uint8": 1, "bool": 1}


class Order(StrEnum):
    """Where a state's new ticks stand."""

    AFTER = "after the old"
    BEFORE = "before the old"


class Lifetime(StrEnum):
    """Who brings a state back to its initial ticks."""

    SESSION = "session"
    TURN = "turn"


class AtLimit(StrEnum):
    """What happens when a launch would take a state over its limit."""

    RESET = "reset"  # it starts again from its initial ticks, before the launch
    END = "end"  # the session ends, or must have ended its turn


class Span(StrEnum):
    """How much of a state a launch's kernels run over, hence how its length enters the launch's shape."""

    EXACT = "exact"  # the ticks held: every length is a shape of its own
    CLOCKED = "clocked"  # the ticks held, written into the graph before each launch: no shape of its own
    WHOLE = "whole"  # always the same number of slots


@dataclass(frozen=True)
class Ticking:
    """Driven by a clock.

    Args:
        rate: Ticks a second.
        first: Ticks of the session's first unit, where it is longer than the others.
        speech: The clock runs only while the model speaks (SPEAK and FLUSH units) and starts anew with each turn.
    """

    rate: Rate
    first: int | None = None
    speech: bool = False


@dataclass(frozen=True)
class Quota:
    """Driven by what was said, within a bound: at most so many ticks a unit, by the unit's event.

    Args:
        listen: Ticks at most of each launch in a LISTEN unit, in order.
        speak: The same for a SPEAK unit.
        flush: The same for a FLUSH unit.
        opens: Launches that come first in the unit in which a turn begins to speak.
        sizes: Where a launch has one of a few sizes and only the input tells which: all of them. The plan reckons with
            what the events say, and ranks every size.
    """

    listen: tuple[int, ...] = ()
    speak: tuple[int, ...] = ()
    flush: tuple[int, ...] = ()
    opens: tuple[int, ...] = ()
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True)
class After:
    """Driven by what another stage puts out.

    Args:
        stage: That stage's name; it stands before this one.
        ratio: Ticks of this stage's clock to each of that stage's output.
        each: One launch of that stage hands on at once; otherwise a unit's ticks are handed on together.
    """

    stage: str
    ratio: Fraction = Fraction(1)
    each: bool = False


Drive = Ticking | Quota | After
Segment = tuple[int, int | None]  # start and stop, counted from either end, as a slice counts


@dataclass(frozen=True)
class Trim:
    """Once a state is longer than `over`, only segments of it are kept, in the order given.

    Args:
        over: The longest state that is left alone, in ticks of the sequence that is trimmed.
        keep: Segments kept, as slices of the sequence that is trimmed.
        each_unit: Trimmed once, at a unit's end; otherwise after every launch.
        repeats: The sequence that is trimmed is the state so many times in a row, of which the first part is then read
            again (Step-Audio 2's released conformer does so); 1 is the state itself.
    """

    over: int
    keep: tuple[Segment, ...]
    each_unit: bool = False
    repeats: int = 1

    def sources(self, ticks: int) -> tuple[range, ...]:
        """Which of `ticks` ticks are kept, in their new order."""
        length = ticks * self.repeats
        if length <= self.over:
            return (range(ticks),)
        kept = [range(*slice(start, stop).indices(length)) for start, stop in self.keep]
        left = sum(len(piece) for piece in kept) // self.repeats
        sources = []
        for piece in kept:
            start, stop = piece.start, min(piece.stop, piece.start + left)
            while start < stop:  # a piece of the repeated sequence, cut where the state begins again
                end = min(stop, (start // ticks + 1) * ticks)
                sources.append(range(start % ticks, start % ticks + end - start))
                left -= end - start
                start = end
        return tuple(sources)

    def kept(self, ticks: int) -> int:
        """How many of `ticks` ticks are kept."""
        return sum(len(piece) for piece in self.sources(ticks))


@dataclass(frozen=True)
class Ring:
    """A ring of slots: a new tick overwrites the oldest in place.

    Args:
        ticks: Slots.
    """

    ticks: int


@dataclass(frozen=True)
class Tail:
    """The last ticks only: a convolution's context, which a launch reads before its input and then writes over.

    Args:
        ticks: How many.
    """

    ticks: int


Keep = Trim | Ring | Tail


@dataclass(frozen=True)
class StateSpec:
    """A tensor with a time axis that a stage carries from launch to launch.

    Args:
        name: Its name within the stage.
        shape: Its shape as released, `T` marking the time axis: `(36, 2, T, 8, 128)`.
        dtype: A name of `DTYPE_BYTES`.
        growth: Ticks it grows by for each tick that its stage takes.
        initial: Ticks it holds at the start and after a reset: a prompt's, or a convolution's zeros.
        order: Where new ticks stand.
        keep: What is left after a launch; None keeps everything.
        reset: Who brings it back to `initial`.
        limit: The most ticks that it may hold; None where `keep` bounds it, or nothing does.
        at_limit: What happens when a launch would take it over the limit.
        span: How its length enters the shape of a launch.
        group: States of one group grow together and are laid out together, time-major.
        shift_shape: Where a shift overlaps itself, the shape of one tick of the part that is shifted at a time (a
            layer, say); None shifts the whole tick at once.
    """

    name: str
    shape: tuple[int | str, ...]
    dtype: str = "float32"
    growth: Fraction | int = 1
    initial: int = 0
    order: Order = Order.AFTER
    keep: Keep | None = None
    reset: Lifetime = Lifetime.SESSION
    limit: int | None = None
    at_limit: AtLimit = AtLimit.RESET
    span: Span = Span.EXACT
    group: str = ""
    shift_shape: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be planned.

        Raises:
            AskedWrongly: The declaration contradicts itself.
        """
        _need(self.shape.count(T) == 1, f"state {self.name} has shape {self.shape}", f"exactly one time axis {T!r}")
        _need(
            all(d == T or (isinstance(d, int) and d > 0) for d in self.shape),
            f"state {self.name} has shape {self.shape}",
            "whole, positive sizes beside the time axis",
        )
        _need(self.dtype in DTYPE_BYTES, f"state {self.name} is {self.dtype}", f"one of {', '.join(DTYPE_BYTES)}")
        _need(
            self.growth > 0, f"state {self.name} grows by {self.growth}", "a growth above zero; nothing else is state"
        )
        _need(
            self.limit is None or self.initial < self.limit,
            f"state {self.name} starts with {self.initial} ticks",
            f"fewer than its limit of {self.limit}",
        )
        _need(
            self.order is Order.AFTER or not isinstance(self.keep, Ring | Tail),
            f"state {self.name} puts new ticks before the old",
            "a ring or a tail grows at its end",
        )

    @property
    def item_shape(self) -> tuple[int, ...]:
        """The shape of one tick."""
        return tuple(size for size in self.shape if isinstance(size, int))


@dataclass(frozen=True)
class Timeline:
    """A stage's declaration.

    Args:
        name: The stage's name.
        drive: What brings it ticks.
        tick: What one tick of its input is, in words ("mel frame").
        yields: Output ticks to each tick taken.
        chunk: Ticks that a launch takes at most; 1 is a tick at a time; None takes whatever has come.
        least: Ticks below which a chunked stage waits for more, unless a turn ends; `chunk` where not given.
        grain: Without a chunk, a launch takes a whole multiple of so many ticks, and what is over waits.
        look_ahead: Ticks that a chunked launch is fed beyond those it takes; what waits at a turn's end is taken by a
            last launch.
        primed: Ticks that wait before the first has come, at the start of every turn.
        lag: Ticks whose output is held back until the next launch, or the turn's end.
        context: Ticks before and after that the source hands over again with every launch; those before, as far as
            there have been any.
        states: What it carries.
        shares: States of earlier stages, as "stage.state", that it reads and grows too.
        eager: Why no graph may run it; empty where one may.
    """

    name: str
    drive: Drive
    tick: str
    yields: Fraction | int = 1
    chunk: int | None = None
    least: int | None = None
    grain: int = 1
    look_ahead: int = 0
    primed: int = 0
    lag: int = 0
    context: tuple[int, int] = (0, 0)
    states: tuple[StateSpec, ...] = ()
    shares: tuple[str, ...] = ()
    eager: str = ""

    def __post_init__(self) -> None:
        """Refuse what cannot be planned.

        Raises:
            AskedWrongly: The declaration contradicts itself.
        """
        _need(self.chunk is None or self.chunk > 0, f"stage {self.name} has a chunk of {self.chunk}", "a tick or more")
        _need(
            self.least is None or (self.chunk is not None and 0 < self.least <= self.chunk),
            f"stage {self.name} waits for {self.least} ticks of a chunk of {self.chunk}",
            "between 1 and the chunk",
        )
        _need(
            min(self.look_ahead, self.primed, self.lag, *self.context) >= 0,
            f"stage {self.name} has a negative look-ahead, start, lag or context",
            "zero or more ticks",
        )
        _need(
            self.chunk is not None or self.look_ahead == self.primed == 0,
            f"stage {self.name} looks ahead without a chunk",
            "a chunk, so that a launch knows what to leave",
        )
        _need(
            self.grain > 0 and (self.chunk is None or self.grain == 1),
            f"stage {self.name} has a grain of {self.grain}",
            "a tick or more, and no chunk beside it",
        )
        _need(self.yields > 0, f"stage {self.name} yields {self.yields} ticks a tick", "more than none")
        _need(
            not isinstance(self.drive, Ticking) or self.drive.rate > 0,
            f"stage {self.name} ticks at {getattr(self.drive, 'rate', 0)} Hz",
            "a rate above zero",
        )
        names = [state.name for state in self.states]
        _need(len(names) == len(set(names)), f"stage {self.name} names a state twice", "names that differ")


def _need(right: bool, came: str, needed: str) -> None:
    if not right:
        raise AskedWrongly(came, needed, "correct the model's timelines")
