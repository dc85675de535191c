"""Meters over one time axis: the same scale for all, the deadline, overruns and gaps where they fell."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from engine.comparison import Comparison, compare
from engine.errors import AskedWrongly
from engine.export.meters import Scale, _meter, svg_of
from engine.export.side_by_side import write_side_by_side
from engine.timing import AudioRecord, Record, read_log
from tests import made_up_sessions as made_up
from tests.made_up_sessions import conversation, header, unit, write

STARTS = {".png": b"\x89PNG\r\n", ".svg": b"<?xml", ".pdf": b"%PDF"}


def late_and_early(tmp_path: Path) -> Comparison:
    """A stock session whose answer is 1.5 s late, and ours, half a second early."""
    logs = []
    for runtime, work_ms in (("stock", 2500.0), ("cadence", 500.0)):
        done = unit(1, "SPEAK", [("words", work_ms)])
        audio = AudioRecord(playout_ms=1000.0, gap_ms=max(0.0, -done.slack_ms), underflows=int(done.overrun))
        answer = unit(1, "SPEAK", [("words", work_ms)], response_delay_ms=700.0 + work_ms, audio=audio)
        logs.append(read_log(write(tmp_path / f"{runtime}.jsonl", [unit(0), answer], header(runtime=runtime))))
    return compare(logs)


@pytest.mark.slow
@pytest.mark.parametrize("ending", STARTS)
def test_a_picture_of_each_kind_is_written_and_the_same_logs_make_the_same(tmp_path: Path, ending: str) -> None:
    comparison = compare(
        [
            read_log(write(tmp_path / f"{at}.jsonl", conversation(20, seed=4, overruns=True, speed=speed)))
            for at, speed in enumerate((3.0, 1.0))
        ]
    )
    for name in ("a", "b"):
        write_side_by_side(comparison, tmp_path / (name + ending))
    one, other = ((tmp_path / (name + ending)).read_bytes() for name in ("a", "b"))
    assert one.startswith(STARTS[ending])
    assert one == other


def test_a_picture_of_no_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AskedWrongly, match="a name that ends in"):
        write_side_by_side(late_and_early(tmp_path), tmp_path / "p.jpeg")


def test_all_meters_have_one_scale_the_deadline_and_their_own_gaps(tmp_path: Path) -> None:
    comparison = late_and_early(tmp_path)
    scale = Scale.of(comparison)
    assert scale.top_s > 2.5
    assert scale.end_s == pytest.approx(4.5, abs=0.01)
    pages = []
    for session in comparison.sessions:
        page = Figure()
        _meter(page, session, scale, 3.0, 4.0, label=True)
        bars, lanes = page.axes
        assert bars.get_xlim() == lanes.get_xlim() == (scale.begin_s, scale.end_s)
        assert bars.get_ylim() == (0, scale.top_s)
        assert any(set(line.get_ydata()) == {1.0} for line in bars.lines)
        pages.append((bars, lanes))
    (late, late_lanes), (early, early_lanes) = pages
    assert [text.get_text() for text in late.texts if "late" in text.get_text()] == ["1.50 s late"]
    assert not [text for text in early.texts if "late" in text.get_text()]
    gaps = [patch for patch in late_lanes.patches if patch.get_hatch()]
    assert [(round(gap.get_x(), 2), round(gap.get_width(), 2)) for gap in gaps] == [(2.0, 1.5)]
    assert not [patch for patch in early_lanes.patches if patch.get_hatch()]
    assert [text.get_text() for text in late_lanes.texts] == ["1.50 s silent", "answer after 3.20 s"]


def test_what_a_page_shows_holds_its_texts_as_text(tmp_path: Path) -> None:
    comparison = late_and_early(tmp_path)
    svg = svg_of(comparison.sessions[0], Scale.of(comparison))
    assert ">1.50 s late<" in svg
    assert ">deadline<" in svg


@given(st.lists(made_up.records, max_size=4))
@settings(
    deadline=None,
    max_examples=5,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # shrinking a page takes minutes
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@pytest.mark.slow
def test_any_logs_can_be_drawn(tmp_path: Path, records: list[Record]) -> None:
    log = read_log(write(tmp_path / "log.jsonl", records))
    write_side_by_side(compare([log, log]), tmp_path / "page.svg")
    assert (tmp_path / "page.svg").stat().st_size > 1000
