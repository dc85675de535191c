import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from engine.cadence.rows import rows_of, thinned
from engine.errors import AskedWrongly, BadLog
from engine.export import write_picture
from engine.export.palette import Look, styles
from engine.export.seconds import draw_seconds, draw_turns
from engine.export.time_axis import clock_time, label_times
from engine.timing import Record, UnitRecord, read_log
from tests import made_up_sessions as made_up
from tests.made_up_sessions import conversation, unit, write

STARTS = {".png": b"\x89PNG\r\n", ".svg": b"<?xml", ".pdf": b"%PDF"}


@pytest.mark.parametrize("ending", STARTS)
def test_a_page_of_each_kind_is_written_and_one_log_makes_one_picture(tmp_path: Path, ending: str) -> None:
    log = read_log(write(tmp_path / "log.jsonl", conversation(15, seed=4, overruns=True)))
    for name in ("a", "b"):
        write_picture(log, tmp_path / (name + ending))
    one, other = ((tmp_path / (name + ending)).read_bytes() for name in ("a", "b"))
    assert one.startswith(STARTS[ending])
    assert one == other


@given(st.lists(made_up.records, max_size=5))
@settings(
    deadline=None,
    max_examples=8,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # shrinking a page takes minutes
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_any_log_can_be_drawn(tmp_path: Path, records: list[Record]) -> None:
    log = read_log(write(tmp_path / "log.jsonl", records))
    write_picture(log, tmp_path / "page.svg")
    assert (tmp_path / "page.svg").stat().st_size > 1000


def axes_of(units: list[UnitRecord], most: int = 100):
    rows, group = thinned(rows_of(units), most)
    axes = Figure().add_subplot()
    draw_seconds(axes, rows, styles(["voice_activity", "hearing", "words", "voice"]), group)
    return axes


def test_bars_are_as_high_as_the_stages_took_and_the_deadline_lies_at_the_cadence() -> None:
    axes = axes_of([unit(0, work=[("words", 400.0), ("voice", 200.0)]), unit(1, work=[("words", 100.0)])])
    heights = sorted(round(bar.get_height(), 3) for bar in axes.patches)
    assert heights == [0.1, 0.2, 0.4]
    (deadline,) = axes.lines
    assert set(deadline.get_ydata()) == {1.0}
    assert axes.get_ylim()[1] > 1.0


def test_each_overrun_is_marked_and_the_worst_said() -> None:
    late = {3: 1200.0, 4: 1050.0, 40: 1500.0}
    axes = axes_of([unit(index, work=[("words", late.get(index, 300.0))]) for index in range(60)])
    marks = [line for line in axes.lines if line.get_marker() == "v"]
    assert sorted(round(float(mark.get_xdata()[0]), 1) for mark in marks) == [3.5, 4.5, 40.5]
    said = [text.get_text() for text in axes.texts if "late" in text.get_text()]
    assert said == ["0.50 s late", "0.20 s late"]  # the third would run into its neighbour's


def test_listening_and_speaking_have_lanes_of_their_own() -> None:
    axes = Figure().add_subplot()
    axes.set_xlim(0, 3)
    draw_turns(axes, list(rows_of([unit(0), unit(1, "SPEAK", response_delay_ms=1830.0), unit(2, "FLUSH")])))
    lanes = [label.get_text() for label in axes.get_yticklabels()]
    assert lanes == ["listen", "flush", "SPEAK", "delay, s"]
    filled = {(int(bar.get_x()), int(bar.get_y())) for bar in axes.patches if bar.get_height() > 0}
    assert filled == {(0, 0), (1, 2), (2, 1)}
    assert [text.get_text() for text in axes.texts] == ["1.83"]


def test_stages_differ_in_more_than_colour() -> None:
    def grey(look: Look) -> float:
        red, green, blue = (int(look.fill[at : at + 2], 16) for at in (1, 3, 5))
        return (0.299 * red + 0.587 * green + 0.114 * blue) / 255

    looks = list(styles([f"stage {number}" for number in range(8)]).values())
    for number, look in enumerate(looks):
        for other in looks[:number]:
            assert look.hatch != other.hatch or abs(grey(look) - grey(other)) > 0.1


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00"), (65, "1:05"), (3599.6, "1:00:00"), (7322, "2:02:02"), (-5, "-0:05")]
)
def test_times_read_as_a_clock_does(seconds: float, text: str) -> None:
    assert clock_time(seconds) == text


@given(st.floats(0.001, 1e7))
@settings(deadline=None, max_examples=30)
def test_an_axis_of_any_length_has_few_ticks(length: float) -> None:
    axes = Figure().add_subplot()
    axes.set_xlim(0, length)
    label_times(axes, most=12)
    assert sum(0 <= tick <= length * 1.0001 for tick in axes.get_xticks()) <= 13


def test_a_name_of_no_known_ending_is_refused(tmp_path: Path) -> None:
    log = read_log(write(tmp_path / "log.jsonl", []))
    with pytest.raises(AskedWrongly, match=r"ends in \.svg, \.png, \.pdf"):
        write_picture(log, tmp_path / "page.jpeg")


def test_a_log_with_a_wrong_line_makes_no_picture(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", conversation(5))
    path.write_bytes(path.read_bytes() + b"{}\n")
    with pytest.raises(BadLog):
        write_picture(read_log(path), tmp_path / "page.svg")
    assert [each.name for each in tmp_path.iterdir()] == ["log.jsonl"]


@pytest.mark.slow
def test_matplotlib_and_torch_stay_out_until_a_picture_is_asked_for() -> None:
    code = "import sys, engine.export, engine.cadence; sys.exit('matplotlib' in sys.modules or 'torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
