"""A report's main figures as a LaTeX table, for a paper. Any thread."""

from pathlib import Path

from engine.export.atomic import whole_file
from engine.export.report.parts import Report
from engine.phrases import printable

ESCAPES = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$",
}  # fmt: skip


def write_latex(report: Report, path: Path) -> None:
    """Write the table; it needs the package booktabs.

    Raises:
        NoRoom: The file cannot be written.
    """
    with whole_file(path) as part:
        part.write_text(_table(report), encoding="utf-8")


def _table(report: Report) -> str:
    comparison = report.comparison
    names = [session.name for session in comparison.sessions]
    rows = [_row(["", *names]), r"\midrule"]
    rows += [_row([figure.label, *figure.texts]) for figure in comparison.figures if figure.main]
    voices = ["" if bits is None else _equal(bits.equal) for bits in comparison.bits]
    rows.append(_row(["voice equal to the column before, to the bit", *voices]))
    counts = sorted({len(each.rounds) for each in report.shown})
    if counts[-1] > 1:
        over = f"mean of {' or '.join(map(str, counts))} rounds, 95% interval"
        rows += [r"\midrule", rf"\multicolumn{{{len(names) + 1}}}{{l}}{{{_escaped(over)}}} \\"]
        rows += [_row([each.label, *each.texts]) for each in report.repeated()]
    caption = " ".join([report.lead, *(f"Beware: {line}." for line in report.beware)])
    about = "; ".join(f"{name}: {value}" for name, value in report.environment)
    return "\n".join(
        [
            f"% {printable(about)}",
            "% DuplexCadence (Gao 2026). Needs \\usepackage{booktabs}.",
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{_escaped(caption)}}}",
            rf"\begin{{tabular}}{{l{'r' * len(names)}}}",
            r"\toprule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _row(cells: list[str]) -> str:
    return " & ".join(map(_escaped, cells)) + r" \\"


def _escaped(text: str) -> str:
    return "".join(ESCAPES.get(sign, sign) for sign in printable(text))


def _equal(equal: bool | None) -> str:
    return "not measured" if equal is None else "yes" if equal else "no"
