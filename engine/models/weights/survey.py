"""What a released folder holds against what a model needs, told before anything is loaded. No torch, no file format.

Made by a model's room; read by whoever asks whether the folder will do. Any thread may enter.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.errors import BadWeights, NoRoom
from engine.phrases import aligned, counted, readable, size

NAMED_AT_MOST = 3  # of what is wrong with a part
_AGAIN = "download the folder again"


@dataclass(frozen=True)
class Part:
    """The tensors of a part of a model.

    Args:
        name: "language model".
        needed: How many tensors it needs.
        bytes: What they will take, loaded.
        missing: Names of those that are not there.
        misshapen: Those of another shape, each with both.
        unknown: Names of tensors that should be the part's and that it does not know.
        state_bytes: What it carries through a session, at the most.
    """

    name: str
    needed: int
    bytes: int
    missing: tuple[str, ...] = ()
    misshapen: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    state_bytes: int = 0

    @property
    def wrong(self) -> list[str]:
        """What is wrong with it, each in words."""
        return [
            *(f"no {name}" for name in self.missing),
            *self.misshapen,
            *(f"{name}, which is unknown" for name in self.unknown),
        ]


@dataclass(frozen=True)
class Survey:
    """A folder as it stands.

    Args:
        model: The registry's name.
        folder: The folder's.
        parts: In the order that they work in.
        skipped: What is there, known, and never loaded: what it is, how many, bytes.
        session_s: Seconds of conversation that the parts' states are reckoned for.
        held: Of each part, the tensor types in the folder.
    """

    model: str
    folder: str
    parts: tuple[Part, ...]
    skipped: tuple[tuple[str, int, int], ...]
    session_s: int
    held: Mapping[str, str] = field(default_factory=dict)

    @property
    def weight_bytes(self) -> int:
        """Of all parts, loaded."""
        return sum(part.bytes for part in self.parts)

    @property
    def needed_bytes(self) -> int:
        """Weights, and state of a whole session; graphs and a library's own memory come on top."""
        return self.weight_bytes + sum(part.state_bytes for part in self.parts)

    def require_whole(self) -> None:
        """Refuse a folder in which something is missing, misshapen or unknown.

        Raises:
            BadWeights: Names the first few.
        """
        for part in self.parts:
            if wrong := part.wrong:
                more = f" and {len(wrong) - NAMED_AT_MOST} more" if len(wrong) > NAMED_AT_MOST else ""
                raise BadWeights(
                    f"{self.folder}, {part.name}: {'; '.join(wrong[:NAMED_AT_MOST])}{more}",
                    f"the {part.needed} tensors that its configuration tells of",
                    _AGAIN,
                )

    def require_room(self, available_bytes: int, where: str) -> None:
        """Refuse a device that cannot hold the weights and a session's state.

        Args:
            available_bytes: To be had there now.
            where: "this card", "this machine".

        Raises:
            NoRoom: It cannot.
        """
        if available_bytes < self.needed_bytes:
            raise NoRoom(
                f"{where} has {size(available_bytes)} to spare",
                f"{size(self.needed_bytes)}: {size(self.weight_bytes)} of weights and the state of "
                f"{self.session_s // 60} minutes",
                "end what else uses it, or take a device with more memory",
            )

    def lines(self) -> list[str]:
        """The folder as a table, and below it what is wrong by name."""
        head = ("PART", "PRESENT", "MISSING", "MISSHAPEN", "UNKNOWN", "HELD AS", "WEIGHTS", "STATE")
        rows = [
            (
                part.name,
                str(part.needed - len(part.missing) - len(part.misshapen)),
                *(str(len(wrong)) for wrong in (part.missing, part.misshapen, part.unknown)),
                self.held.get(part.name, ""),
                size(part.bytes),
                size(part.state_bytes),
            )
            for part in self.parts
        ]
        state_bytes = self.needed_bytes - self.weight_bytes
        rows.append(("in all", "", "", "", "", "", size(self.weight_bytes), size(state_bytes)))
        lines = aligned([head, *rows], "lrrrrlrr")
        lines.append(f"state: of a conversation of {self.session_s // 60} minutes; graphs come on top of both")
        lines += [
            f"skipped: {what}: {counted(count, 'tensor' if 'tensor' in what else 'file')}, {readable(count_bytes)}"
            for what, count, count_bytes in self.skipped
        ]
        for part in self.parts:
            wrong = part.wrong
            lines += [f"{part.name}: {each}" for each in wrong[:NAMED_AT_MOST]]
            if len(wrong) > NAMED_AT_MOST:
                lines.append(f"{part.name}: and {len(wrong) - NAMED_AT_MOST} more")
        return lines
