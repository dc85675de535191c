"""What is shown of a record: README's figures are the files' figures, and nobody's hand's."""

import pytest

from engine.bench.readme import ROOT, records
from engine.bench.report import BEGIN, END, readme_block, with_figures
from engine.errors import AskedWrongly

RECORD = {
    "model": "minicpm-o-4.5",
    "stage": "tail",
    "device": "A Card",
    "command": "duplexcadence bench --model minicpm-o-4.5",
    "date": "2026-12-07",
    "versions": {"torch": "2.11.0"},
    "sizes": "released",
    "solver_steps": 5,
    "missing": {},
    "cases": [
        {
            "prompt_s": 3.37,
            "prompt_tokens": 85,
            "runtimes": {"stock_released": {"median_ms": 114.04}, "stock_pinned": {"median_ms": 120.0},
                         "stock_graphs": {"median_ms": 40.0}, "cadence": {"median_ms": 15.36}},
            "ratio": {"speed": 7.42, "speed_graphs": 2.6, "state_and_activations": 0.183},
            "equal": {"units": 64, "equal": 64},
            "equal_low_memory": {"units": 64, "equal": 63},
        },
        {"prompt_s": 10.0, "prompt_tokens": 250, "runtimes": {}, "ratio": {}},
    ],
}  # fmt: skip


def test_the_figures_in_readme_are_those_of_the_files():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert with_figures(readme, records()) == readme, "run: python -m engine.bench.readme"


def test_kept_files_are_whole_and_of_released_sizes():
    for record in records():
        assert record["complete"]
        assert record["sizes"] == "released"


def test_a_row_a_prompt_with_what_was_measured():
    lines = readme_block([RECORD]).splitlines()
    first, second = (line for line in lines if line.startswith("| minicpm"))
    assert first == (
        "| minicpm-o-4.5, 5 | 3.37 s | 114.0 ms | 120.0 ms | 40.0 ms (2.60x) | 15.4 ms | 7.42x | 18% | 127 of 128 |"
    )
    assert second == "| minicpm-o-4.5, 5 | 10 s | - | - | - | - | - | - | - |"
    assert "`duplexcadence bench --model minicpm-o-4.5`" in lines[-1]


def test_figures_stand_between_the_marks_and_nowhere_else():
    marked = f"before\n{BEGIN}\nold figures\n{END}\nafter\n"
    once = with_figures(marked, [RECORD])
    assert once.startswith(f"before\n{BEGIN}\n")
    assert once.endswith(f"{END}\nafter\n")
    assert "old figures" not in once
    assert with_figures(once, [RECORD]) == once
    assert "7.42x" not in with_figures(once, [])


def test_a_readme_without_marks_is_left_alone_or_refused():
    assert with_figures("no marks\n", []) == "no marks\n"
    with pytest.raises(AskedWrongly, match="no place"):
        with_figures("no marks\n", [RECORD])


UNIT = {
    "model": "minicpm-o-4.5",
    "stage": "unit",
    "device": "A Card",
    "command": "duplexcadence bench --stage unit",
    "date": "2026-12-07",
    "versions": {"torch": "2.11.0"},
    "cases": [
        {
            "runtimes": {
                "stock_released": {"usual": {"SPEAK": {"mean_ms": 3000.0}}, "language": {"200": {"median": 95.0}}},
                "stock_pinned": {"usual": {"SPEAK": {"mean_ms": 2000.0}}, "language": {"200": {"median": 45.0}}},
                "cadence": {"usual": {"SPEAK": {"mean_ms": 400.0}}, "language": {"200": {"median": 9.0, "equal": 32}}},
            },
            "ratio": {"usual SPEAK": 5.0, "language 200": 5.0},
            "equal": {"units": 60, "equal": 60},
        }
    ],
}


def test_whole_units_have_a_table_of_their_own():
    for kept in ([UNIT], [RECORD, UNIT]):
        lines = readme_block(kept).splitlines()
        assert "| it speaks, 10 text tokens | 3000.0 ms | 2000.0 ms | 400.0 ms | 5.00x | - |" in lines
        assert "| a token of the language model, 200 before it | 95.0 ms | 45.0 ms | 9.0 ms | 5.00x | 32 |" in lines
        assert "| units equal to the bit | | | | | 60 of 60 |" in lines
        assert "by `duplexcadence bench --stage unit`" in lines[-1]
        assert len([line for line in lines if line.startswith("| minicpm")]) == (2 if RECORD in kept else 0)
