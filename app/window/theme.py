"""Colours and spaces of the window: light, dark and high contrast; what is painted takes them from its palette.

Stages have the colours of the picture that a session is exported as (Okabe and Ito's, which the colour-blind tell
apart), each with an edge that stands out where the fill does not. Fonts are the system's own. [ui]
"""

from dataclasses import dataclass, replace
from functools import cached_property

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QPalette
from PySide6.QtWidgets import QApplication, QStyleFactory

from app.live.settings import Theme

TEXT_CONTRAST = 4.5  # between text and what is behind it, at least
GRAPHIC_CONTRAST = 3.0  # between a shape's edge and what is behind it, at least

_FILLS = ("#0072b2", "#f0c35a", "#56b4e9", "#8fd0bb", "#f5ec9a", "#cc79a7", "#d55e00", "#4a515b")


@dataclass(frozen=True)
class Spaces:
    """Distances in device-independent pixels: they grow with the display's scale."""

    hair: float = 1.0
    small: float = 4.0
    medium: float = 8.0
    large: float = 16.0
    corner: float = 8.0  # of a card
    ring: float = 2.0  # of the focus


SPACES = Spaces()


@dataclass(frozen=True)
class Colours:
    """What the window is painted in; each a "#rrggbb".

    Args:
        window: Behind everything.
        base: Behind lists, cards and what is painted.
        raised: Of buttons, and of what the mouse is over.
        ink: Text and the deadline.
        faint: Text that explains.
        line: Borders and grids, which nobody needs to see.
        accent: Focus, selection, and what is to be pressed.
        on_accent: Text on it.
        alarm: Overruns and faults.
        stages: Fills, in the order in which stages are first met; they come round again.
        hatched: Whether fills are told apart by hatches too.
    """

    window: str
    base: str
    raised: str
    ink: str
    faint: str
    line: str
    accent: str
    on_accent: str
    alarm: str
    stages: tuple[str, ...]
    hatched: bool = False

    @property
    def dark(self) -> bool:
        """Whether ink is lighter than what it is on."""
        return luminance(self.ink) > luminance(self.base)

    @property
    def track(self) -> str:
        """What a bar fills: hollow where contrast is high, so that the bar stands out from it."""
        return self.base if self.hatched else self.line

    def stage(self, number: int) -> str:
        """The fill of the stage met as the `number`th, from 0."""
        return self.stages[number % len(self.stages)]

    def edge(self, number: int) -> str:
        """The edge of that stage: of its hue, and seen on `base`."""
        return self._edges[number % len(self.stages)]

    @cached_property
    def _edges(self) -> tuple[str, ...]:
        """Painted many times a second, and slow to find."""
        return tuple(readable(fill, self.base, GRAPHIC_CONTRAST) for fill in self.stages)


LIGHT = Colours(
    window="#f5f6f8",
    base="#ffffff",
    raised="#e9ecf1",
    ink="#1b222c",
    faint="#596371",
    line="#cdd3dc",
    accent="#2f5bd0",
    on_accent="#ffffff",
    alarm="#b83a00",
    stages=_FILLS,
)
DARK = Colours(
    window="#12161d",
    base="#191e26",
    raised="#262d38",
    ink="#e9edf3",
    faint="#9ba7b6",
    line="#39424f",
    accent="#8fabff",
    on_accent="#0e131c",
    alarm="#ff9466",
    stages=_FILLS,
)
CONTRAST_LIGHT = Colours(
    window="#ffffff",
    base="#ffffff",
    raised="#ffffff",
    ink="#000000",
    faint="#1f1f1f",
    line="#000000",
    accent="#0030c0",
    on_accent="#ffffff",
    alarm="#9c1c00",
    stages=_FILLS,
    hatched=True,
)
CONTRAST_DARK = Colours(
    window="#000000",
    base="#000000",
    raised="#000000",
    ink="#ffffff",
    faint="#e6e6e6",
    line="#ffffff",
    accent="#ffe14d",
    on_accent="#000000",
    alarm="#ff9c73",
    stages=_FILLS,
    hatched=True,
)
_OURS = (LIGHT, DARK, CONTRAST_LIGHT, CONTRAST_DARK)


def apply(application: QApplication, theme: Theme) -> None:
    """Give the application its style and palette; to be called again when the theme or the system's looks change.

    A system that is set to high contrast keeps its own palette, which its user has chosen.
    """
    hints = application.styleHints()
    forced = {Theme.LIGHT: Qt.ColorScheme.Light, Theme.DARK: Qt.ColorScheme.Dark}.get(theme)
    if forced is None:
        hints.unsetColorScheme()
    elif hints.colorScheme() is not forced:
        hints.setColorScheme(forced)
    if application.style().name() != "fusion":
        application.setStyle(QStyleFactory.create("fusion"))
    dark = hints.colorScheme() is Qt.ColorScheme.Dark
    contrast = hints.accessibility().contrastPreference() is Qt.ContrastPreference.HighContrast
    match theme:
        case Theme.LIGHT:
            application.setPalette(palette(LIGHT))
        case Theme.DARK:
            application.setPalette(palette(DARK))
        case Theme.CONTRAST:
            application.setPalette(palette(CONTRAST_DARK if dark else CONTRAST_LIGHT))
        case Theme.SYSTEM if contrast:
            application.setPalette(QPalette())  # the system's own again
            application.setPalette(palette(colours(application.palette())))
        case Theme.SYSTEM:
            application.setPalette(palette(DARK if dark else LIGHT))


def palette(colours: Colours) -> QPalette:
    """The colours in Qt's roles; `BrightText` is the alarm, `Mid` the line, `PlaceholderText` the faint text."""
    role = QPalette.ColorRole
    made = QPalette()
    for roles, colour in (
        ((role.Window,), colours.window),
        ((role.Base, role.ToolTipBase), colours.base),
        ((role.Button, role.Midlight, role.AlternateBase), colours.raised),
        ((role.WindowText, role.Text, role.ButtonText, role.ToolTipText), colours.ink),
        ((role.PlaceholderText,), colours.faint),
        ((role.Mid, role.Dark), colours.line),
        ((role.Light,), colours.base),
        ((role.Shadow,), colours.ink),
        ((role.Highlight, role.Accent, role.Link, role.LinkVisited), colours.accent),
        ((role.HighlightedText,), colours.on_accent),
        ((role.BrightText,), colours.alarm),
    ):
        for each in roles:
            made.setColor(each, QColor(colour))
    made.setColor(role.AlternateBase, QColor(mixed(colours.base, colours.raised, 0.5)))
    for each in (role.WindowText, role.Text, role.ButtonText):
        made.setColor(QPalette.ColorGroup.Disabled, each, QColor(colours.faint))
    made.setColor(QPalette.ColorGroup.Disabled, role.Highlight, QColor(colours.line))
    made.setColor(QPalette.ColorGroup.Disabled, role.HighlightedText, QColor(colours.ink))
    return made


def colours(palette: QPalette) -> Colours:
    """What to paint with on a widget of this palette: ours where it is ours, else its own, mended where it is faint."""
    role = QPalette.ColorRole

    def of(which: QPalette.ColorRole) -> str:
        return palette.color(QPalette.ColorGroup.Active, which).name()

    window, base, ink, accent = of(role.Window), of(role.Base), of(role.Text), of(role.Highlight)
    for known in _OURS:
        if (window, base, ink, accent) == (known.window, known.base, known.ink, known.accent):
            return known
    nearest = CONTRAST_DARK if luminance(ink) > luminance(base) else CONTRAST_LIGHT
    return replace(
        nearest,
        window=window,
        base=base,
        raised=of(role.Button),
        ink=readable(ink, base, TEXT_CONTRAST),
        faint=readable(mixed(base, ink, 0.85), base, TEXT_CONTRAST),
        line=readable(of(role.Mid), base, GRAPHIC_CONTRAST),
        accent=readable(accent, base, GRAPHIC_CONTRAST),
        on_accent=readable(of(role.HighlightedText), readable(accent, base, GRAPHIC_CONTRAST), TEXT_CONTRAST),
        alarm=readable(nearest.alarm, base, TEXT_CONTRAST),
    )


def sized(font: QFont, times: float = 1.0, *, bold: bool = False) -> QFont:
    """The font, larger or smaller, with digits of one width, so that figures do not tremble as they change."""
    made = QFont(font)
    if font.pointSizeF() > 0:
        made.setPointSizeF(font.pointSizeF() * times)
    else:
        made.setPixelSize(max(1, round(font.pixelSize() * times)))
    made.setFeature(QFont.Tag("tnum"), 1)
    if bold:
        made.setWeight(QFont.Weight.DemiBold)
    return made


def luminance(colour: str) -> float:
    """How light a colour is, 0 to 1, as WCAG counts it."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """How much two colours stand apart, 1 to 21, as WCAG counts it."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def mixed(one: str, other: str, share: float) -> str:
    """So much of `other` in `one`, 0 to 1."""
    pairs = ((int(one[at : at + 2], 16), int(other[at : at + 2], 16)) for at in (1, 3, 5))
    return "#" + "".join(f"{round(first + (second - first) * share):02x}" for first, second in pairs)


def readable(colour: str, behind: str, least: float) -> str:
    """The colour itself where it stands out enough, else as little darker or lighter as makes it so."""
    away = "#000000" if contrast("#000000", behind) > contrast("#ffffff", behind) else "#ffffff"
    steps = (mixed(colour, away, step / 20) for step in range(21))
    return next((each for each in steps if contrast(each, behind) >= least), away)
