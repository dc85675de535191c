"""A comparison as a table in text, for a terminal. Pure; any thread."""

from itertools import pairwise

from engine.cadence.verdict import verdict
from engine.comparison.figures import Comparison
from engine.comparison.words import cautions, headline
from engine.phrases import aligned, printable


def text_table(comparison: Comparison) -> str:
    """The headline, all figures with what each is to the first session's, verdicts, and what spoils the comparison."""
    sessions = comparison.sessions
    names = [printable(session.name) for session in sessions]
    head = ["", names[0]]
    for name in names[1:]:
        head += [name, f"{name} against {names[0]}"]
    rows = [head]
    for label, field in (("model", "model"), ("runtime", "runtime"), ("device", "device"), ("began", "wall_clock")):
        rows.append(_row(label, [printable(getattr(session.header, field)) for session in sessions]))
    rows += [_row(figure.label, list(figure.texts), list(figure.against)) for figure in comparison.figures]
    lines = ["", *aligned(rows, gap="   "), ""]
    lines += [f"{session.name}: {verdict(session.figures)}" for session in sessions]
    for (one, other), bits in zip(pairwise(sessions), comparison.bits[1:], strict=True):
        assert bits is not None
        lines.append(f"the voices of {one.name} and {other.name}, to the bit: {bits.words}")
    lines = [headline(comparison), *lines, *(f"beware: {line}" for line in cautions(sessions))]
    return "\n".join(lines)


def _row(label: str, texts: list[str], against: list[str] | None = None) -> list[str]:
    cells = [label, texts[0]]
    for text, gain in zip(texts[1:], (against or [""] * len(texts))[1:], strict=True):
        cells += [text, gain]
    return cells
