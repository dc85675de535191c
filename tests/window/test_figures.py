"""Figures and memory tell what was measured, nothing more, and none of it is ever cut off."""

from dataclasses import replace

import pytest
from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from app.live.snapshot import Snapshot
from app.window.figures import NOTHING, Figure, Figures, facts, spread
from app.window.memory_strip import MemoryStrip, parts
from engine.cadence import Spread
from engine.timing import MemoryRecord
from tests.made_up_sessions import header
from tests.window import scenes

MIB = 1 << 20
GPU = header(device="NVIDIA, 140 GiB")


def told(snapshot: Snapshot) -> dict[str, str]:
    return {fact.name: fact.value for fact in facts(snapshot.figures, snapshot.paths, snapshot.header)}


def test_before_a_session_nothing_is_claimed(qtbot: QtBot) -> None:
    assert set(told(Snapshot()).values()) == {NOTHING}
    assert spread(None) == (NOTHING,) * 4
    assert parts(None) == ()
    strip = MemoryStrip()
    qtbot.addWidget(strip)
    assert strip.value == "not measured yet"


def test_a_spread_is_told_from_the_middle_to_the_worst() -> None:
    assert spread(Spread.of([100.0] * 99 + [250.0])) == ("0.10 s", "0.10 s", "0.10 s", "0.25 s")


def test_a_cpu_has_no_graphs_and_is_not_blamed_for_it() -> None:
    snapshot = scenes.talking()
    assert told(snapshot)["Graph hits"] == "none on a CPU"
    assert told(snapshot)["Eager runs"] == str(snapshot.paths["eager"])
    assert not any(fact.alarms for fact in facts(snapshot.figures, snapshot.paths, snapshot.header))


def test_graph_hits_and_eager_fallbacks_are_counted_and_shown() -> None:
    found = {fact.name: fact for fact in facts(None, {"graph": 90, "clocked": 6, "seam": 2, "eager": 2}, GPU)}
    assert found["Graph hits"].value == "98 of 100"
    assert found["Eager runs"].value == "2"
    assert found["Eager runs"].alarms


def test_what_went_wrong_is_marked() -> None:
    snapshot = scenes.talking(overruns=True)
    wrong = {fact.name for fact in facts(snapshot.figures, snapshot.paths, snapshot.header) if fact.alarms}
    assert wrong == {"Overruns", "Gaps"}


def test_memory_that_has_no_count_is_left_out() -> None:
    cpu = MemoryRecord(arena_reserved=64 * MIB, arena_committed=16 * MIB, rss=900 * MIB)
    assert [(part.name, part.share) for part in parts(cpu, 0.0)] == [("Arena", 0.25), ("Resident", None)]
    assert parts(cpu, 2.0 * MIB)[-1].figure == "900 MiB, +2.0 MiB a minute"
    whole = MemoryRecord(
        arena_reserved=64 * MIB,
        arena_committed=16 * MIB,
        torch_allocated=3 * MIB,
        torch_reserved=4 * MIB,
        graphs=5 * MIB,
        device_used=6 * MIB,
        rss=7 * MIB,
    )
    assert [part.name for part in parts(whole)] == ["Arena", "Torch", "Graphs", "Device", "Resident"]
    assert parts(whole)[1].figure == "3 MiB of 4 MiB held"


def test_an_arena_of_nothing_divides_by_nothing() -> None:
    assert parts(MemoryRecord(arena_reserved=0, arena_committed=0))[0].share == 0.0


@pytest.mark.parametrize("width", [420, 560, 640, 700, 760, 1200])
def test_a_figure_that_grows_is_not_cut_off(qtbot: QtBot, width: int) -> None:
    card = Figures()
    qtbot.addWidget(card)
    card.resize(width, card.sizeHint().height())
    card.show()
    QCoreApplication.processEvents()
    long = scenes.talking(overruns=True)
    assert long.figures is not None
    figures = replace(long.figures, units=86_400, overruns=12_345, underflows=4321, gap_ms=98_765.0)
    card.show_snapshot(replace(long, figures=figures, header=GPU, paths={"graph": 123_456, "eager": 654_321}))
    for _ in range(3):
        QCoreApplication.processEvents()
    for label in card.findChildren(QLabel):
        assert label.width() >= label.sizeHint().width(), label.text()
    assert any(isinstance(label, Figure) and label.text() == "12345 of 86400" for label in card.findChildren(QLabel))
