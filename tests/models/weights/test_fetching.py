import shutil
import threading
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from filelock import FileLock

from engine.errors import BadWeights, MissingWeights, NoRoom
from engine.models.weights import fetching
from engine.models.weights.fetching import fetch, outlook
from engine.models.weights.manifest import Weight
from engine.models.weights.progress import Progress, Quiet
from engine.models.weights.sources import FolderSource, NotHere
from engine.models.weights.store import Store
from tests.models.weights.made_up import CONTENT, Heard, left_in, make_weight, make_wheel, ordering, store_of


@pytest.fixture
def weight(tmp_path: Path) -> Weight:
    return make_weight(make_wheel(tmp_path / "shelf"))


@pytest.fixture
def store(tmp_path: Path, weight: Weight) -> Store:
    return store_of(tmp_path / "cache", weight)


@pytest.fixture
def shelf(tmp_path: Path) -> FolderSource:
    (tmp_path / "shelf").mkdir(exist_ok=True)
    return FolderSource(tmp_path / "shelf")


@dataclass
class Other:
    """A source that would send so many bytes, and then has a reason not to."""

    size: int | None = 1
    reason: str = "closed on Sundays"
    asked: list[str] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)

    def to_download(self, weight: Weight) -> int | None:
        return self.size

    def bring(self, weight: Weight, into: Path, progress: Progress) -> str:
        self.asked.append(weight.name)
        (into / "half").write_bytes(b"half")
        raise NotHere(self.reason)

    def forget(self, weight: Weight) -> None:
        self.forgotten.append(weight.name)


@pytest.mark.slow
def test_weights_are_there_afterwards_and_the_total_was_said_first(store: Store, shelf: FolderSource) -> None:
    heard = Heard()
    fetch(store, ["tiny"], [shelf], heard)
    assert store.verify("tiny")
    assert {path.name: path.read_bytes() for path in store.locate("tiny").iterdir() if path.name in CONTENT} == CONTENT
    assert heard.told[0].startswith("say to fetch: tiny: at most 0 B to download, 100.0 kB kept on disk")
    begun = sum(told.startswith("begin") for told in heard.told)
    assert begun == heard.told.count("end") == 2  # unpacking, converting
    assert "licence CC0-1.0" in heard.told[-1]
    assert not store.scratch.exists()


@pytest.mark.slow
def test_a_second_fetch_asks_nobody_and_says_nothing(store: Store, shelf: FolderSource) -> None:
    fetch(store, ["tiny"], [shelf], Quiet())
    other, heard = Other(), Heard()
    fetch(store, ["tiny"], [other], heard)
    assert not other.asked
    assert not heard.told


@pytest.mark.slow
def test_damaged_weights_are_fetched_again(store: Store, shelf: FolderSource) -> None:
    fetch(store, ["tiny"], [shelf], Quiet())
    model = store.locate("tiny") / "model.bin"
    model.write_bytes(bytes(len(CONTENT["model.bin"])))
    fetch(store, ["tiny"], [shelf], Quiet())
    assert store.verify("tiny")


@pytest.mark.slow
def test_sources_are_asked_in_order_and_say_why_not(store: Store, shelf: FolderSource) -> None:
    first, last, heard = Other(), Other(reason="never asked"), Heard()
    local = Local(shelf.folder, size=5)
    fetch(store, ["tiny"], [first, local, last], heard)
    assert first.asked == ["tiny"]
    assert not last.asked
    assert heard.told.count("say closed on Sundays") == 1
    assert first.forgotten == last.forgotten == ["tiny"]
    assert "half" not in {path.name for path in store.locate("tiny").iterdir()}


@pytest.mark.slow
def test_what_needs_no_network_is_asked_first(store: Store, shelf: FolderSource) -> None:
    other = Other()
    fetch(store, ["tiny"], [other, shelf], Quiet())
    assert not other.asked


def test_where_no_source_has_it_the_line_gives_every_reason(store: Store) -> None:
    sources = [Other(), Other(reason=""), Other(reason="sold out")]
    with pytest.raises(MissingWeights, match=r"tiny could not be fetched: closed on Sundays; sold out"):
        fetch(store, ["tiny"], sources, Quiet())
    assert left_in(store.root) == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("order", "kind", "told"),
    [
        ("refuse", BadWeights, "holds another network; needed: ours"),
        ("stumble", BadWeights, "tiny could not be converted: RuntimeError: a bug, over two lines"),
        ("fill the disk", NoRoom, "the disk is full"),
        ("fill the disk, in Rust", NoRoom, "the disk is full"),
        ("die", BadWeights, "exit code 3"),
        ("write nothing", BadWeights, "wrote nothing for tiny"),
    ],
)
def test_a_conversion_that_fails_leaves_nothing(
    tmp_path: Path, weight: Weight, shelf: FolderSource, order: str, kind: type[Exception], told: str
) -> None:
    ordered = ordering(weight, order, shelf.folder)
    store = store_of(tmp_path / "cache", ordered)
    with pytest.raises(kind, match=told):
        fetch(store, ["tiny"], [shelf], Quiet())
    assert left_in(store.root) == set()


class StopAt(Quiet):
    """Ctrl-C at the n-th word."""

    def __init__(self, after: int) -> None:
        self._left = after

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise KeyboardInterrupt

    def say(self, line: str) -> None:
        self._count()

    def begin(self, what: str, total_bytes: int | None = None) -> None:
        self._count()

    def at(self, done_bytes: int) -> None:
        self._count()


@pytest.mark.slow
def test_stopped_anywhere_nothing_half_written_stays_and_the_next_fetch_does_it(
    tmp_path: Path, store: Store, shelf: FolderSource
) -> None:
    stopped = 0
    for after in range(20):
        shutil.rmtree(store.root, ignore_errors=True)
        try:
            fetch(store, ["tiny"], [shelf], StopAt(after))
        except KeyboardInterrupt:
            stopped += 1
            assert not store.scratch.exists()
            if left_in(store.root):  # stopped after the last rename
                assert {name.split("/")[0] for name in left_in(store.root)} == {"weights"}
                assert store.verify("tiny")
        else:
            break
    assert stopped >= 5
    assert store.verify("tiny")


@pytest.mark.slow
def test_what_a_killed_fetch_left_is_cleared_away(store: Store, shelf: FolderSource) -> None:
    (store.scratch / "tmp1" / "tiny-made").mkdir(parents=True)
    (store.scratch / "tmp1" / "tiny-made" / "model.bin").write_bytes(b"half")
    fetch(store, ["tiny"], [shelf], Quiet())
    assert store.verify("tiny")
    assert not store.scratch.exists()


def test_a_disk_that_is_too_small_is_told_before_anything_is_fetched(
    store: Store, weight: Weight, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, sizes = Other(size=1000), (Other(size=1000),)
    needed = outlook(store, ["tiny"], sizes).peak_bytes
    assert needed > 1000 + weight.file_bytes + weight.converted_bytes
    monkeypatch.setattr(fetching.shutil, "disk_usage", lambda _: SimpleNamespace(free=needed - 1))
    with pytest.raises(NoRoom, match=r"free on the disk.*DUPLEXCADENCE_CACHE"):
        fetch(store, ["tiny"], [other], Quiet())
    assert not other.asked
    monkeypatch.setattr(fetching.shutil, "disk_usage", lambda _: SimpleNamespace(free=needed))
    with pytest.raises(MissingWeights):
        fetch(store, ["tiny"], [other], Quiet())


def test_the_outlook_adds_up_what_is_missing(tmp_path: Path, weight: Weight, shelf: FolderSource) -> None:
    another = replace(make_weight(make_wheel(tmp_path / "far", "far-away"), "far"), converted_bytes=7)
    store = store_of(tmp_path / "cache", weight, another)
    ahead = outlook(store, ["tiny", "far"], [shelf, Other(size=None), Other(size=500), Other(size=400)])
    assert [missing.name for missing in ahead.missing] == ["tiny", "far"]
    assert ahead.download_bytes == 500  # tiny is on the shelf; the other at most so much
    assert ahead.kept_bytes == 100_007
    assert outlook(store, [], [shelf]).peak_bytes == 0


@pytest.mark.slow
def test_two_fetches_at_once_the_second_waits_and_finds_all_done(store: Store, shelf: FolderSource) -> None:
    waiting, second = threading.Event(), Other()

    class Waits(Quiet):
        def say(self, line: str) -> None:
            if "another fetch is at work" in line:
                waiting.set()

    store.root.mkdir(parents=True)
    with FileLock(store.root / "fetch.lock"):
        thread = threading.Thread(target=fetch, args=(store, ["tiny"], [second], Waits()))
        thread.start()
        assert waiting.wait(30)
        first = store_of(store.root, *store.manifest.weights.values())
        shutil.rmtree(store.scratch, ignore_errors=True)
        fetching._fetch_locked(first, ["tiny"], [shelf], Quiet())  # what the first does under its lock
    thread.join(30)
    assert not thread.is_alive()
    assert store.verify("tiny")
    assert not second.asked


def test_a_cache_that_cannot_be_made_is_told_in_one_line(tmp_path: Path, weight: Weight) -> None:
    (tmp_path / "in the way").write_text("a file")
    other = Other()
    with pytest.raises(NoRoom, match=r"cannot be written.*DUPLEXCADENCE_CACHE"):
        fetch(store_of(tmp_path / "in the way" / "cache", weight), ["tiny"], [other], Quiet())
    assert not other.asked


@dataclass(frozen=True)
class Local(FolderSource):
    """A folder that says it is far."""

    size: int = 0

    def to_download(self, weight: Weight) -> int | None:
        return self.size
