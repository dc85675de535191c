"""The compare page, walked through: run, gone through by keys and mouse, listened to, saved; and foreign logs."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QAccessible, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMessageBox
from pytestqt.qtbot import QtBot

from app.__main__ import main
from app.demo.candidates import BOTH_SIDES, NO_SOUND, from_file
from app.demo.comparing import Course
from app.live.snapshot import Listened, Phase, Track
from app.window.compare_page import ComparePage
from app.window.compare_view import CompareView, Unwanted, look
from engine.comparison.figures import LETTERS
from tests.demo.test_comparing import Runner
from tests.live.bench import HandWorker
from tests.made_up_sessions import conversation, header, unit, write
from tests.window.rig import Rig, write_run, write_sessions

RUN = "2026-12-07 12-00-00.000000"


@pytest.fixture
def rig(qtbot: QtBot, tmp_path: Path) -> Iterator[Rig]:
    write_sessions(tmp_path / "sessions")
    write_run(tmp_path / "comparisons" / RUN)
    rig = Rig(tmp_path)
    rig.window.go_to(2)
    rig.settle()
    yield rig
    rig.close()


@pytest.fixture
def page(rig: Rig) -> ComparePage:
    return rig.window.compare


@pytest.fixture
def view(rig: Rig, page: ComparePage) -> CompareView:
    """The run, compared."""
    page.choice.list.setFocus()
    rig.click(Qt.Key.Key_Return)
    rig.settle()
    assert page.view.comparison is not None
    return page.view


def ticked(rig: Rig, *numbers: int) -> None:
    """Tick sessions by keyboard: the list's lines from the top, groups counted."""
    choice = rig.window.compare.choice
    choice.list.setFocus()
    for number in numbers:
        rig.click(Qt.Key.Key_Home)
        for _ in range(number):
            rig.click(Qt.Key.Key_Down)
        rig.click(Qt.Key.Key_Space)


def cells(table, line: int) -> list[str]:  # type: ignore[no-untyped-def]
    return [table.topLevelItem(line).text(column) for column in range(table.columnCount())]


def test_by_keyboard_sessions_are_chosen_in_an_order_compared_and_left(rig: Rig, page: ComparePage) -> None:
    assert not page.choice.compare.isEnabled()
    ticked(rig, 6, 3)
    assert [each.session.runtime for each in page.choice.chosen] == ["stock", "cadence"]
    assert page.choice.compare.text() == "Compare (2)"
    page.choice.compare.setFocus()
    rig.click(Qt.Key.Key_Space)
    rig.settle()
    assert page.view.title.text() == "stock and cadence"
    assert rig.focused is page.view.meters
    page.view.back.setFocus()
    rig.click(Qt.Key.Key_Space)
    assert page.choice.isVisible()
    assert rig.focused is page.choice.list
    assert page.choice.compare.text() == "Compare (2)", "what was ticked stays so"
    page.choice.none.click()
    assert not page.choice.chosen


def test_two_of_one_runtime_are_called_by_letters(rig: Rig, page: ComparePage) -> None:
    ticked(rig, 5, 7)
    assert page.choice.list.topLevelItem(1).child(0).text(0) == "A: cadence"
    page.choice.compare.click()
    rig.settle()
    assert page.view.title.text() == "A and B"
    assert page.view.figures.headerItem().text(3) == "B against A"


def test_every_figure_is_what_the_command_prints(
    rig: Rig, view: CompareView, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runtimes = ("stock", "library", "cadence")
    logs = [str(tmp_path / "comparisons" / RUN / f"{runtime}-1.jsonl") for runtime in runtimes]
    assert main(["compare", *logs]) == 0
    printed = capsys.readouterr().out
    rows = [re.split(r" {2,}", line.strip()) for line in printed.splitlines()]
    view.everything.click()
    shown = [cells(view.figures, line) for line in range(view.figures.topLevelItemCount())]
    assert len(shown) >= 30
    for line in shown:
        assert [cell for cell in line if cell] in rows
    headline = printed.splitlines()[0]
    assert view.says.text().startswith(f"{headline[0].upper()}{headline[1:]}. ")
    said = view.says.text()
    for bits in (line for line in printed.splitlines() if line.startswith("the voices of")):
        assert bits[4:] in said
    felt = {label.accessibleName() for label in view.felt.findChildren(type(view.second_title)) if label.isVisible()}
    comparison = view.comparison
    assert comparison is not None
    for key, name in (("speak_mean_ms", "SPEAK second, mean"), ("peak_rss_bytes", "Memory, peak")):
        for runtime, text in zip(runtimes, comparison.figure(key).texts, strict=True):
            assert f"{runtime}, {name}: {text}" in felt


def test_a_second_is_told_side_by_side_by_keys_and_by_mouse(rig: Rig, view: CompareView, qtbot: QtBot) -> None:
    meters, table = view.meters, view.second
    assert cells(table, 2)[1].endswith(" late"), "the worst second is chosen at first"
    interface = QAccessible.queryAccessibleInterface(meters)
    for key, column in ((Qt.Key.Key_Home, 0), (Qt.Key.Key_Right, 1), (Qt.Key.Key_PageDown, 11), (Qt.Key.Key_Left, 10)):
        rig.click(key)
        assert meters.chosen_column == column
        assert view.second_title.text() == f"At 0:{column:02}"
        assert cells(table, 0)[1:] == [f"Unit {column}"] * 3
        child = interface.focusChild()
        assert child.text(QAccessible.Text.Name).startswith(f"0:{column:02}. stock: Unit {column}, ")
        assert child.text(QAccessible.Text.Name) == interface.text(QAccessible.Text.Description)
    assert "hearing" in interface.child(1).text(QAccessible.Text.Value)
    assert "cadence: no second late" in interface.text(QAccessible.Text.Value)
    middle = meters.column_box(4).center().toPoint()
    qtbot.mouseMove(meters, middle)
    assert view.second_title.text() == "At 0:04"
    qtbot.mouseClick(meters, Qt.MouseButton.LeftButton, pos=middle)
    assert meters.chosen_column == 4
    at = interface.childAt(meters.mapToGlobal(middle).x(), meters.mapToGlobal(middle).y())
    assert at.text(QAccessible.Text.Name).startswith("0:04. ")


def test_it_is_looked_at_from_nearer_by_keys_by_wheel_and_by_buttons(rig: Rig, page: ComparePage, qtbot: QtBot) -> None:
    ticked(rig, 5, 6)
    page.choice.compare.click()
    rig.settle()
    view, meters = page.view, page.view.meters
    whole = meters.model.axis.seconds
    assert whole > 1200
    assert not view.where.isVisible()
    assert view.scale.text().startswith("Each bar is the tightest of ")
    rig.click(Qt.Key.Key_Plus)
    assert meters.model.axis.seconds <= whole // 2 + 16
    assert view.where.isVisible()
    wheel = QWheelEvent(
        QPointF(200, 100), QPointF(meters.mapToGlobal(QPoint(200, 100))), QPoint(), QPoint(0, 120),
        Qt.MouseButton.NoButton, Qt.KeyboardModifier.ControlModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    before = meters.model.axis.seconds
    QApplication.sendEvent(meters, wheel)
    assert meters.model.axis.seconds < before
    while view.nearer.isEnabled():
        view.nearer.click()
    assert view.scale.text() == "Each bar is a second"
    view.where.setValue(view.where.maximum())
    assert meters.model.axis.first == view.where.maximum()
    box = meters.column_box(2).center().toPoint()
    QTest.mousePress(meters, Qt.MouseButton.LeftButton, pos=box)
    QTest.mouseMove(meters, meters.column_box(7).center().toPoint())
    QTest.mouseRelease(meters, Qt.MouseButton.LeftButton, pos=box)
    assert meters.model.axis.first < view.where.maximum(), "what is dragged follows"
    meters.setFocus()
    rig.click(Qt.Key.Key_0)
    assert meters.model.axis.seconds == whole


def test_one_is_listened_to_at_a_time_and_what_is_heard_is_said(rig: Rig, view: CompareView) -> None:
    assert BOTH_SIDES in view.sound.text()
    stock, _, cadence = view.felt.listen
    stock.click()
    ((_, track),) = rig.conversation.took("listen")
    assert isinstance(track, Track)
    assert track.from_ns == track.begins_ns == -1_000_000_000
    rig.show(listened=Listened(track.name, 4_200_000_000))
    assert stock.text() == "Stop"
    assert stock.accessibleName() == "Stop listening to stock"
    assert cadence.text() == "Listen"
    cadence.click()
    assert rig.conversation.took("listen")[0][1].name != track.name
    stock.click()
    assert rig.conversation.took("listen") == [("listen", None)]
    view.meters.zoom(nearer=True)
    view.meters.go_to(8)
    cadence.click()
    assert rig.conversation.took("listen")[0][1].from_ns == view.meters.model.axis.begin_s * 1_000_000_000
    rig.window.go_to(0)
    assert ("listen", None) in rig.conversation.took("listen"), "it falls silent where nobody looks"
    rig.window.go_to(2)
    rig.show(listened=None, phase=Phase.TALKING)
    assert not stock.isEnabled()
    assert stock.toolTip() == "Stop the conversation first"


def test_where_a_session_has_no_sound_that_is_said(rig: Rig, page: ComparePage) -> None:
    ticked(rig, 2, 6)
    page.choice.compare.click()
    rig.settle()
    assert f"stock: {NO_SOUND}" in page.view.sound.text()
    assert f"library: {BOTH_SIDES}" in page.view.sound.text()
    assert [button.isEnabled() for button in page.view.felt.listen] == [True, False]


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_picture_is_the_commands(rig: Rig, view: CompareView, tmp_path: Path, ending: str) -> None:
    to = tmp_path / f"taken.{ending}"
    view.save(to)
    rig.settle()
    assert f"The picture is in {to}." in rig.window.status.notice.text()
    logs = [str(tmp_path / "comparisons" / RUN / f"{runtime}-1.jsonl") for runtime in ("stock", "library", "cadence")]
    main(["compare", *logs, "--picture", str(tmp_path / f"printed.{ending}")])
    strip = re.compile(rb'(id="|url\(#|href="#)[^")]*|<clipPath.*?>', re.S)  # ids are drawn anew each time
    taken, printed = (strip.sub(b"", path.read_bytes()) for path in (to, tmp_path / f"printed.{ending}"))
    assert taken == printed
    view.save(tmp_path / "none" / f"a.{ending}")
    rig.settle()
    assert "cannot be written" in rig.window.status.notice.text()


def run_by_hand(rig: Rig, page: ComparePage) -> tuple[Runner, HandWorker]:
    runner, worker = Runner(), HandWorker()
    page.course = Course(page.course.runs, worker, runner, fetch=lambda *_, **__: None)
    page.tick()
    rig.settle()
    return runner, worker


def test_the_comparison_runs_here_tells_how_far_it_is_and_shows_what_came(rig: Rig, page: ComparePage) -> None:
    runner, worker = run_by_hand(rig, page)
    card, told = page.choice.running, []

    def look_on(now) -> None:  # type: ignore[no-untyped-def]
        page.tick()
        if now.number == 1 and now.units == 12:
            told.append((card.says.text(), card.bar.value(), card.cancel.isVisible(), card.run.isVisible()))

    runner.at = look_on
    card.run.setFocus()
    rig.click(Qt.Key.Key_Space)
    assert rig.focused is card.cancel, "the focus goes with the button"
    worker.run()
    ((says, share, cancel, run),) = told
    assert says.startswith("Running library, 2 of 3, ")
    assert "11 seconds held, in real time" in says
    assert 40 < share < 66
    assert (cancel, run) == (True, False)
    page.tick()
    rig.settle()
    assert page.view.isVisible()
    assert page.view.title.text() == "stock, library and cadence"
    assert "40% beside stock" in card.says.text()
    assert "40% beside stock" in page.view.beware.text()
    assert "The comparison: Done" in rig.window.status.notice.text()
    assert page.choice.list.topLevelItemCount() == 3


@pytest.mark.parametrize("how", ["cancel", "talk"])
def test_it_is_called_off_by_a_button_and_by_a_conversation(rig: Rig, page: ComparePage, how: str) -> None:
    runner, worker = run_by_hand(rig, page)

    def look_on(now) -> None:  # type: ignore[no-untyped-def]
        page.tick()
        if now.number == 1 and now.units == 5:
            if how == "cancel":
                page.choice.running.cancel.click()
            else:
                rig.conversation.show(phase=Phase.LOADING)
                page.tick()

    runner.at = look_on
    page.choice.running.run.click()
    worker.run()
    page.tick()
    rig.settle()
    assert page.course.state.held == 1
    assert page.choice.isVisible(), "one alone is no comparison"
    assert page.choice.list.topLevelItemCount() == 3, "but it is kept, to be compared with others"
    says = page.choice.running.says.text()
    if how == "talk":
        assert not page.choice.running.run.isEnabled()
        assert "has the machine for itself" in says
        assert "because a conversation began" in rig.window.status.notice.text()
    else:
        assert "kept: stock" in says


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"a;b;c\n1;2;3\n", "is no timing log"),
        (b"\xff\xfe\x00\x01" * 100, "is no timing log"),
        (b'{"type":"session","schema":7}\n', "schema 7"),
        (b'{"type":"unit","schema":1}\n', "'unit'"),
    ],
)
def test_a_foreign_file_is_refused_in_words(
    rig: Rig, page: ComparePage, tmp_path: Path, content: bytes, words: str
) -> None:
    path = tmp_path / "foreign.jsonl"
    path.write_bytes(content)
    page.choice.added.emit(path)
    rig.settle()
    assert words in rig.window.status.notice.text()
    assert page.choice.list.topLevelItemCount() == 2


def test_a_log_that_is_damaged_further_on_is_named_and_the_rest_can_be_compared(
    rig: Rig, page: ComparePage, tmp_path: Path
) -> None:
    path = write(tmp_path / "damaged.jsonl", conversation(30), header(runtime="library"))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:12], b'{"type":"unit","index":-3}\n', *lines[12:]]))
    page.choice.added.emit(path)
    rig.settle()
    ticked(rig, 1)
    page.choice.compare.click()
    rig.settle()
    assert "damaged.jsonl line 13" in page.view.says.text()
    assert not page.view.body.isVisible()
    assert not page.view.export.isEnabled()
    page.view.back.click()
    ticked(rig, 9, 2)
    page.choice.compare.click()
    rig.settle()
    assert page.view.comparison is not None


def test_a_cut_log_and_one_without_a_second_are_compared_and_said(rig: Rig, page: ComparePage, tmp_path: Path) -> None:
    cut = write(tmp_path / "cut.jsonl", conversation(30), header(runtime="library"))
    cut.write_bytes(cut.read_bytes()[:-300])
    empty = write(tmp_path / "empty.jsonl", [], header(runtime="stock"))
    page.open([from_file(cut), from_file(empty)])
    rig.settle()
    assert "cut short" in page.view.beware.text()
    assert "no unit ran" in page.view.says.text()
    assert cells(page.view.second, 0)[2] == "no unit"
    for key in (Qt.Key.Key_Plus, Qt.Key.Key_Right, Qt.Key.Key_End, Qt.Key.Key_Minus, Qt.Key.Key_0):
        rig.click(key)


def test_a_huge_log_is_let_go_of_where_nobody_waits_any_more(rig: Rig, page: ComparePage, tmp_path: Path) -> None:
    huge = write(tmp_path / "huge.jsonl", (unit(index) for index in range(9000)))
    read: list[int] = []

    def tick() -> None:
        read.append(1)
        if len(read) == 3:
            raise Unwanted("nobody waits for it any more")

    with pytest.raises(Unwanted):
        look([from_file(huge), from_file(huge)], tick)
    page.open([from_file(huge), from_file(huge)])
    page.view.close_comparison()
    rig.settle()
    assert page.view.comparison is None
    assert page.choice.isVisible()


def test_a_run_is_deleted_once_that_is_asked_and_a_conversation_is_not(rig: Rig, page: ComparePage) -> None:
    page.choice.list.setFocus()
    rig.click(Qt.Key.Key_End)
    assert not page.choice.delete.isEnabled()
    rig.click(Qt.Key.Key_Home)
    rig.click(Qt.Key.Key_Down)
    for answer in ("Keep", "Delete"):
        assert (page.course.runs / RUN).exists()
        page.choice.delete.click()
        (box,) = page.choice.findChildren(QMessageBox)
        next(button for button in box.buttons() if button.text().replace("&", "") == answer).click()
        rig.settle()
    assert not (page.course.runs / RUN).exists()
    assert page.choice.list.topLevelItemCount() == 1


def test_six_fit_and_a_seventh_is_not_taken(rig: Rig, page: ComparePage) -> None:
    ticked(rig, 1, 2, 3, 5, 6, 7)
    assert page.choice.compare.isEnabled()
    page.choice.compare.click()
    rig.settle()
    assert page.view.title.text() == "A, B, C, D, E and F"
    assert len(page.view.meters.model.lanes) == len(LETTERS)
