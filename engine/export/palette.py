"""Colours and hatches that stay apart for the colour-blind and on a grey printer. Pure; any thread."""

from dataclasses import dataclass

from engine.cadence.rows import OTHER, WAITING

INK = "#222222"
FAINT = "#6e6e6e"
GRID = "#dddddd"
ALARM = "#c43b00"


@dataclass(frozen=True)
class Look:
    """How one stage's bars look: fill, hatch, and the name in the legend."""

    fill: str
    hatch: str
    label: str


# After Okabe and Ito, ordered so that neighbours differ in lightness too; hatches tell apart what grey makes alike.
_LOOKS = (
    ("#0072b2", ""),
    ("#f0c35a", ""),
    ("#56b4e9", "////"),
    ("#8fd0bb", "...."),
    ("#f5ec9a", "||||"),
    ("#cc79a7", "\\\\\\\\"),
    ("#d55e00", ""),
    ("#999999", "xxxx"),
)


def styles(stages: list[str]) -> dict[str, Look]:
    """A look for each stage in order, and for what is no stage; past eight stages they come round again."""
    looks = {}
    for number, name in enumerate(stages):
        fill, hatch = _LOOKS[number % len(_LOOKS)]
        looks[name] = Look(fill, hatch, name)
    looks[OTHER] = Look("#eeeeee", "", "other work")
    looks[WAITING] = Look("#ffffff", "----", "waiting for the unit before")
    return looks
