"""Text and shapes stand out in every theme, stages are told apart by whoever sees colours otherwise, and Qt agrees."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from PySide6.QtGui import QColor, QFontMetricsF, QPalette
from PySide6.QtWidgets import QApplication

from app.live.settings import Theme
from app.window import theme
from app.window.theme import Colours
from engine.export.palette import styles

THEMES = {"light": theme.LIGHT, "dark": theme.DARK, "on white": theme.CONTRAST_LIGHT, "on black": theme.CONTRAST_DARK}
each_theme = pytest.mark.parametrize("colours", THEMES.values(), ids=THEMES)
any_colour = some.integers(0, 0xFFFFFF).map(lambda number: f"#{number:06x}")

# How the red-, green- and blue-blind see linear RGB: Machado, Oliveira and Fernandes (2009), severity 1.
SIGHTS = {
    "usual": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
# Oklab (Ottosson, 2020): distances in it are about as large as they look.
TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def seen(colour: str, sight: str) -> np.ndarray:
    """Where a colour lies for someone of that sight."""
    part = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    return TO_LAB @ np.cbrt(TO_CONES @ np.clip(np.array(SIGHTS[sight]) @ linear, 0, 1))


@each_theme
def test_text_stands_out_from_whatever_it_is_on(colours: Colours) -> None:
    for text, behind in (
        (colours.ink, colours.window),
        (colours.ink, colours.base),
        (colours.ink, colours.raised),
        (colours.faint, colours.window),
        (colours.faint, colours.base),
        (colours.alarm, colours.window),
        (colours.alarm, colours.base),
        (colours.on_accent, colours.accent),
        (colours.accent, colours.window),  # links
        (colours.accent, colours.base),
    ):
        assert theme.contrast(text, behind) >= theme.TEXT_CONTRAST, (text, behind)


@each_theme
def test_shapes_stand_out(colours: Colours) -> None:
    for behind in (colours.window, colours.base):
        assert theme.contrast(colours.accent, behind) >= theme.GRAPHIC_CONTRAST  # the focus ring
        assert theme.contrast(colours.alarm, behind) >= theme.GRAPHIC_CONTRAST
    for number in range(len(colours.stages)):
        assert theme.contrast(colours.edge(number), colours.base) >= theme.GRAPHIC_CONTRAST, number


@each_theme
@pytest.mark.parametrize("sight", SIGHTS)
def test_stages_are_told_apart_whatever_ones_sight(colours: Colours, sight: str) -> None:
    for one, other in combinations(colours.stages, 2):
        assert np.linalg.norm(seen(one, sight) - seen(other, sight)) > 0.08, (one, other)


@each_theme
def test_stages_look_as_they_do_in_the_exported_picture(colours: Colours) -> None:
    names = [
        f"stage {number}" for number in range(7)
    ]  # the eighth is a grey, darker here: the picture's looks like the sixth to some
    assert [colours.stage(number) for number in range(7)] == [styles(names)[name].fill for name in names]


@each_theme
def test_a_palette_tells_its_colours(colours: Colours, qapp: QApplication) -> None:
    assert theme.colours(theme.palette(colours)) == colours


def test_high_contrast_is_higher() -> None:
    for plain, strong in ((theme.LIGHT, theme.CONTRAST_LIGHT), (theme.DARK, theme.CONTRAST_DARK)):
        assert theme.contrast(strong.faint, strong.base) >= 7 > theme.contrast(plain.faint, plain.base)
        assert theme.contrast(strong.line, strong.base) >= theme.GRAPHIC_CONTRAST
        assert strong.hatched


@given(window=any_colour, base=any_colour, ink=any_colour, accent=any_colour)
def test_a_foreign_palette_is_followed_and_mended(window: str, base: str, ink: str, accent: str) -> None:
    palette = QPalette()
    for role, colour in (
        (QPalette.ColorRole.Window, window),
        (QPalette.ColorRole.Base, base),
        (QPalette.ColorRole.Text, ink),
        (QPalette.ColorRole.Highlight, accent),
    ):
        palette.setColor(role, QColor(colour))
    colours = theme.colours(palette)
    assert (colours.window, colours.base) == (window, base)
    assert colours.ink == ink or theme.contrast(ink, base) < theme.TEXT_CONTRAST
    for text in (colours.ink, colours.faint, colours.alarm):
        assert theme.contrast(text, base) >= theme.TEXT_CONTRAST
    assert theme.contrast(colours.on_accent, colours.accent) >= theme.TEXT_CONTRAST
    for shape in (colours.line, colours.accent, *(colours.edge(number) for number in range(len(colours.stages)))):
        assert theme.contrast(shape, base) >= theme.GRAPHIC_CONTRAST


@given(any_colour, any_colour)
def test_readable_changes_only_what_is_not(colour: str, behind: str) -> None:
    made = theme.readable(colour, behind, theme.TEXT_CONTRAST)
    assert theme.contrast(made, behind) >= theme.TEXT_CONTRAST
    assert made == colour or theme.contrast(colour, behind) < theme.TEXT_CONTRAST


@pytest.mark.parametrize(
    ("chosen", "made"),
    [(Theme.LIGHT, theme.LIGHT), (Theme.DARK, theme.DARK), (Theme.CONTRAST, theme.CONTRAST_LIGHT)],
)
def test_the_application_takes_the_theme(qapp: QApplication, chosen: Theme, made: Colours) -> None:
    before = qapp.palette()
    try:
        theme.apply(qapp, chosen)
        assert theme.colours(qapp.palette()) == made
        theme.apply(qapp, Theme.SYSTEM)
        assert theme.colours(qapp.palette()) in THEMES.values()
    finally:
        qapp.setPalette(before)


def test_figures_do_not_tremble(qapp: QApplication) -> None:
    font = theme.sized(qapp.font(), 1.5, bold=True)
    assert font.pointSizeF() == pytest.approx(qapp.font().pointSizeF() * 1.5)
    widths = {round(QFontMetricsF(font).horizontalAdvance(digit), 3) for digit in "0123456789"}
    assert len(widths) == 1
