"""What to compare: the comparison run on this computer, what ships, past conversations and logs from files [ui]."""

from pathlib import Path

from PySide6.QtCore import QSignalBlocker, Qt, Signal, SignalInstance
from PySide6.QtWidgets import (
    QFileDialog,
    QHeaderView,
    QLabel,
    QProgressBar,
    QPushButton,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.demo.candidates import Candidate, Group
from app.demo.comparing import Comparing
from app.window import words
from app.window.asking import ask_to_delete
from app.window.layouts import Card, heading, row, text
from engine.comparison.figures import LETTERS, MOST_SESSIONS
from engine.phrases import printable

COLUMNS = ("Session", "Began", "Length", "Late seconds", "Model", "Runtime", "Sound", "Remarks")
FEWEST = 2
FILES = "Logs from files"
Checked = Qt.CheckState.Checked


class RunCard(Card):
    """The comparison run on this computer: a button, how far it is, what came of it."""

    def __init__(self) -> None:
        super().__init__("Run the comparison on this computer")
        self.wide(
            text(
                "Two spoken questions are asked of the same model three times, in real time: as its libraries come "
                "(stock), through the libraries on this engine's windows (library), and on this engine (cadence). One "
                "after the other, each in a process of its own. It takes about two minutes; nothing is recorded but "
                "what this computer says and how long it took.",
                "faint",
            )
        )
        self.run, self.cancel = QPushButton("Run it"), QPushButton("Cancel")
        self.run.setAccessibleName("Run the comparison")
        self.cancel.setAccessibleName("Cancel the comparison")
        self.says = QLabel()
        self.says.setWordWrap(True)
        self.bar = QProgressBar()
        self.bar.setAccessibleName("Progress of the comparison")
        self.bar.setTextVisible(False)
        self.bar.setRange(0, 100)
        line = row(self.run, self.cancel, spacing=12)
        line.addWidget(self.says, 3)
        line.addWidget(self.bar, 2)
        self.wide(line)
        self.show_state(Comparing(), why_not="")

    def show_state(self, state: Comparing, why_not: str) -> None:
        """Show how it stands.

        Args:
            state: The run.
            why_not: Why it cannot be begun; empty where it can.
        """
        progress = state.progress
        for widget, seen in ((self.run, progress is None), (self.cancel, progress is not None)):
            if widget.isVisibleTo(self) != seen:
                focused = widget.hasFocus()
                widget.setVisible(seen)
                if focused:  # whoever pressed the one is on the other
                    (self.cancel if widget is self.run else self.run).setFocus()
        self.bar.setVisible(progress is not None)
        if self.run.isEnabled() == bool(why_not):
            self.run.setEnabled(not why_not)
        said = ". ".join(part for part in (state.message, words.sentence(state.beware)) if part)
        if progress is not None:
            said = words.progress(progress)
            self.bar.setValue(words.percent(progress))
        elif why_not:
            said = why_not
        if said != self.says.text():
            self.says.setText(said)


class ChoiceView(QWidget):
    """The list, with what is ticked in the order in which it was ticked."""

    asked: SignalInstance = Signal(list)  # type: ignore[assignment]  # candidates, to be compared
    added: SignalInstance = Signal(object)  # type: ignore[assignment]  # the path of a log
    deleted: SignalInstance = Signal(object)  # type: ignore[assignment]  # a session of a run that is to go, wholly

    def __init__(self) -> None:
        super().__init__()
        self._groups: list[Group] = []
        self._files: list[Candidate] = []
        self._chosen: list[Path] = []  # logs
        self.running = RunCard()
        self.list = QTreeWidget()
        self.list.setAccessibleName("Sessions to compare")
        self.list.setHeaderLabels(COLUMNS)
        self.list.setUniformRowHeights(True)
        self.list.setAllColumnsShowFocus(True)
        self.list.setMinimumHeight(160)
        self.list.header().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.list.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Interactive)  # ticked, it has a letter more
        self.list.header().resizeSection(0, self.fontMetrics().averageCharWidth() * 40)
        self.list.header().setStretchLastSection(True)
        self.list.setTabKeyNavigation(False)
        self.empty = text("Nothing to compare yet: run the comparison, or hold a conversation.", "faint")
        self.compare = QPushButton()
        self.compare.setObjectName("talk")
        self.none = QPushButton("Choose none")
        self.add = QPushButton("Add a log…")
        self.delete = QPushButton("Delete…")
        self.delete.setAccessibleName("Delete a run of the comparison")
        self.add.setToolTip("A timing log from anywhere: this program's, of this or another computer")
        self.says = text("Tick two to six, the one that the others are held against first.", "faint")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 16, 16, 16)
        layout.setSpacing(12)
        layout.addWidget(heading("Compare", "title"))
        layout.addWidget(self.running)
        layout.addWidget(self.empty)
        layout.addWidget(self.says)
        layout.addWidget(self.list, 1)
        layout.addLayout(row(self.compare, self.none, self.add, self.delete, 1))
        self.list.itemChanged.connect(self._tick)
        self.list.currentItemChanged.connect(self._name)
        self.list.itemActivated.connect(self._activate)
        self.compare.clicked.connect(lambda: self.asked.emit(self.chosen))
        self.none.clicked.connect(self._choose_none)
        self.add.clicked.connect(self._ask_which)
        self.delete.clicked.connect(self._ask_to_delete)
        self._show()

    @property
    def chosen(self) -> list[Candidate]:
        """What is ticked, in the order in which it was."""
        known = {each.log: each for group in self.all_groups() for each in group.candidates}
        return [known[log] for log in self._chosen if log in known]

    def show_groups(self, groups: list[Group]) -> None:
        """Show what there is; what was ticked stays so."""
        self._groups = groups
        self._show()

    def add_file(self, candidate: Candidate) -> None:
        """Show one more, ticked."""
        if all(each.log != candidate.log for each in self._files):
            self._files.append(candidate)
        if candidate.log not in self._chosen and len(self._chosen) < MOST_SESSIONS:
            self._chosen.append(candidate.log)
        self._show()

    def all_groups(self) -> list[Group]:
        """What is listed."""
        files = [Group(FILES, "", tuple(self._files))] if self._files else []
        return [*self._groups, *files]

    def _show(self) -> None:
        current = self.list.currentItem()
        kept = None if current is None else current.data(0, Qt.ItemDataRole.UserRole)
        there = {each.log for group in self.all_groups() for each in group.candidates}
        self._chosen = [log for log in self._chosen if log in there]
        with QSignalBlocker(self.list):
            self.list.clear()
            for group in self.all_groups():
                item = self._group_item(group)
                self.list.addTopLevelItem(item)
                item.setFirstColumnSpanned(True)  # which an item outside of a list forgets
                for candidate in group.candidates:
                    item.addChild(self._item(candidate))
                item.setExpanded(True)
            self._mark()
        for item in self._items():
            if kept is not None and item.data(0, Qt.ItemDataRole.UserRole) == kept:
                self.list.setCurrentItem(item)
        if not self.list.currentIndex().isValid():
            self.list.setCurrentIndex(self.list.model().index(0, 0))
        self.empty.setVisible(not there)
        self.says.setVisible(bool(there))
        self._name()

    def _group_item(self, group: Group) -> QTreeWidgetItem:
        item = QTreeWidgetItem([printable(group.title)])
        item.setToolTip(0, printable(group.trouble or group.about))
        if group.trouble:
            item.setText(0, printable(f"{group.title}: {group.trouble}"))
        if group.whole:
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable | Qt.ItemFlag.ItemIsAutoTristate)
        return item

    def _item(self, candidate: Candidate) -> QTreeWidgetItem:
        session = candidate.session
        late = f"{session.overruns} of {session.units}" if session.overruns else "none"
        cells = (
            candidate.name or candidate.what or session.runtime,
            words.began(session.began),
            words.length(session.seconds),
            late,
            session.model,
            session.runtime,
            "yes" if candidate.blocks else "none",
            session.caveat,
        )
        item = QTreeWidgetItem([printable(cell) for cell in cells])
        item.setToolTip(0, printable(candidate.what))
        item.setToolTip(6, printable(candidate.says))
        for column in (2, 3):
            item.setTextAlignment(column, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        item.setData(0, Qt.ItemDataRole.UserRole, str(candidate.log))
        item.setCheckState(0, Checked if candidate.log in self._chosen else Qt.CheckState.Unchecked)
        return item

    def _items(self) -> list[QTreeWidgetItem]:
        tops = [self.list.topLevelItem(number) for number in range(self.list.topLevelItemCount())]
        found = [top.child(number) for top in tops if top is not None for number in range(top.childCount())]
        return [item for item in found if item is not None]

    def _tick(self, item: QTreeWidgetItem) -> None:
        log = item.data(0, Qt.ItemDataRole.UserRole)
        if log is None:
            return  # a group: its children are told one by one
        path = Path(log)
        ticked = item.checkState(0) is Checked
        if ticked and path not in self._chosen:
            self._chosen.append(path)
        elif not ticked and path in self._chosen:
            self._chosen.remove(path)
        with QSignalBlocker(self.list):
            self._mark()
        self._name()

    def _mark(self) -> None:
        """Say by letters in which order they are ticked."""
        for item in self._items():
            log = Path(item.data(0, Qt.ItemDataRole.UserRole))
            name = item.text(0).split(": ", 1)[-1] if item.data(0, Qt.ItemDataRole.UserRole + 1) else item.text(0)
            place = self._chosen.index(log) if log in self._chosen else None
            lettered = place is not None and place < MOST_SESSIONS
            item.setText(0, f"{LETTERS[place]}: {name}" if lettered and place is not None else name)
            item.setData(0, Qt.ItemDataRole.UserRole + 1, lettered)

    def _name(self) -> None:
        count = len(self._chosen)
        self.compare.setText(f"Compare ({count})" if count else "Compare")
        self.compare.setEnabled(FEWEST <= count <= MOST_SESSIONS)
        self.none.setEnabled(bool(count))
        deletable = self._current_run is not None
        self.delete.setEnabled(deletable)
        self.delete.setToolTip("" if deletable else "Choose a run on this computer; conversations go on their own page")
        self.compare.setToolTip("" if self.compare.isEnabled() else "Tick two to six sessions")

    @property
    def _current_run(self) -> Group | None:
        """The run on this computer that the list is at."""
        item = self.list.currentItem()
        top = item if item is None or item.parent() is None else item.parent()
        number = -1 if top is None else self.list.indexOfTopLevelItem(top)
        group = self.all_groups()[number] if 0 <= number < len(self.all_groups()) else None
        return group if group is not None and group.here else None

    def _ask_to_delete(self) -> None:
        if (group := self._current_run) is not None:
            session = group.candidates[0].session
            what = f"the run of {words.began(session.began)} with its logs and sounds"
            ask_to_delete(self, what, lambda: self.deleted.emit(session))

    def _choose_none(self) -> None:
        self._chosen = []
        self._show()
        self.list.setFocus()

    def _activate(self, item: QTreeWidgetItem) -> None:
        """Enter on a set compares it; on a session, ticks it."""
        if item.data(0, Qt.ItemDataRole.UserRole) is not None:
            unticked = item.checkState(0) is Qt.CheckState.Unchecked
            item.setCheckState(0, Checked if unticked else Qt.CheckState.Unchecked)
            return
        group = self.all_groups()[self.list.indexOfTopLevelItem(item)]
        if group.whole and len(group.candidates) >= FEWEST:
            self.asked.emit(list(group.candidates))

    def _add_all(self, paths: list[str]) -> None:
        for path in paths:
            self.added.emit(Path(path))

    def _ask_which(self) -> None:
        dialog = QFileDialog(self, "Add a timing log")
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.setNameFilters(["Timing logs (*.jsonl)", "All files (*)"])
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.filesSelected.connect(self._add_all)
        dialog.open()
