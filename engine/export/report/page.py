"""The report as one HTML file that needs nothing but itself, and may ask for nothing: its own policy forbids it.

Pictures are inline and take the page's colours, light or dark; sounds are inside as FLAC. Any thread, one at a time.
"""

import base64
import hashlib
import re
from importlib import resources
from pathlib import Path

import jinja2
from markupsafe import Markup

from engine.comparison import felt, headline, steps
from engine.comparison.words import cautions
from engine.export.atomic import whole_file
from engine.export.palette import ALARM, FAINT, GRID, INK
from engine.export.report.parts import Report, Shown
from engine.phrases import printable
from engine.timing import Transcript

# The picture's colours become the page's.
VARIABLES = {INK: "ink", FAINT: "faint", GRID: "grid", ALARM: "alarm", "#ffffff": "paper", "#eeeeee": "other"}
WHO = {"heard": "You", "said": "Agent", "unsaid": "Agent, not heard any more"}


def write_page(report: Report, path: Path) -> None:
    """Write the page.

    Raises:
        NoRoom: The file cannot be written.
    """
    text = page_of(report)
    with whole_file(path) as part:
        part.write_text(text, encoding="utf-8")


def page_of(report: Report) -> str:
    """The page's text."""
    from engine.export.meters import NARROW_IN, Scale, edges, svg_of  # matplotlib, which takes a second

    comparison = report.comparison
    scale, (left, right) = Scale.of(comparison), edges(NARROW_IN)
    script, style = _file("page.js"), _file("page.css")
    said = headline(comparison)
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    return environment.from_string(_file("page.html.jinja")).render(
        report=report,
        comparison=comparison,
        headline=said[0].upper() + said[1:],
        shown=[
            {
                "number": number,
                "name": printable(each.session.name),
                "what": each.what,
                "felt": felt(each.session),
                "late": bool(each.session.figures.overruns),
                "picture": Markup(_themed(svg_of(each.session, scale), f"s{number}")),
                "alternative": _alternative(each),
                "sound": each.sound,
                "source": each.sound and "data:audio/flac;base64," + base64.b64encode(each.sound.flac).decode(),
                "lines": [_line(line) for line in each.session.said],
            }
            for number, each in enumerate(report.shown)
        ],
        sounds=list(dict.fromkeys(each.sound.words for each in report.shown if each.sound)),
        axis={"left": left, "right": right, "begin_s": scale.begin_s, "end_s": scale.end_s},
        main=[figure for figure in comparison.figures if figure.main],
        repeated=list(report.repeated()),
        rounds=[len(each.rounds) for each in report.shown],
        steps=list(zip(steps(comparison), report.changes, strict=True)),
        stages=[figure for figure in comparison.figures if figure.stage and figure.key.endswith("_median_ms")],
        cautions=cautions(comparison.sessions),
        style=Markup(style),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _file(name: str) -> str:
    return resources.files("engine.export.report").joinpath(name).read_text("utf-8")


def _themed(svg: str, prefix: str) -> str:
    """A picture for the inside of a page: its colours are the page's, its names its own, its type the reader's."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r' xmlns:xlink="[^"]*"', "", svg).replace("xlink:href", "href")
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = re.sub(r"url\(#", f"url(#{prefix}-", svg)
    svg = re.sub(r'href="#', f'href="#{prefix}-', svg)
    svg = re.sub(r"'DejaVu Sans'[^;\"]*", "system-ui, sans-serif", svg)
    for colour, name in VARIABLES.items():
        svg = svg.replace(colour, f"var(--{name})")
    # The figure's text says what the picture shows; a reader of screens is spared its every tick.
    return re.sub(r'<svg [^>]*viewBox="([^"]*)"[^>]*>', r'<svg viewBox="\1" aria-hidden="true" focusable="false">', svg)


def _alternative(shown: Shown) -> str:
    """What the picture shows, in words."""
    session = shown.session
    late = [row for row in session.rows if row.overruns]
    told = [f"Meter of {printable(session.name)}: {felt(session)}."]
    if late:
        names = ", ".join(f"{row.begin_ns / 1e9:.0f} s ({-row.slack_ms / 1000:.2f} s)" for row in late[:12])
        told.append(f"Late seconds begin at {names}{' and others' if len(late) > 12 else ''}.")
    told += [
        f"From {gap.start_ns / 1e9:.2f} s to {gap.end_ns / 1e9:.2f} s speech was due and none was heard."
        for gap in session.gaps[:12]
    ]
    return " ".join(told)


def _line(line: Transcript) -> tuple[str, str]:
    return WHO.get(line.kind, line.who), printable(line.text)
