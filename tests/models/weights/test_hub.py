"""HubSource against a small hub on this machine."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from engine.models.weights.hub import HubSource
from engine.models.weights.manifest import Hub, Weight
from engine.models.weights.progress import Quiet
from engine.models.weights.sources import NotHere
from tests.models.weights.made_up import Heard, make_weight, make_wheel

REVISION = "0123456789abcdef0123456789abcdef01234567"
CONTENT = {"model.bin": bytes(range(251)) * 4000, "config.json": b'{"width": 384}\n'}
HALF = 500_000


@dataclass
class SmallHub:
    """What it serves, and what it was asked for.

    Args:
        content: File by path.
        breaks_off: For each answer in turn: after how many bytes it ends, or None.
        silent: An answer that breaks off falls silent instead of closing.
        ranges: Whether it knows them.
    """

    content: dict[str, bytes]
    breaks_off: list[int | None] = field(default_factory=list)
    silent: bool = False
    ranges: bool = True
    asked: list[tuple[str, str]] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    url: str = ""


@pytest.fixture
def hub() -> Iterator[SmallHub]:
    small = SmallHub(dict(CONTENT))

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            path = self.path.removeprefix(f"/some/where/resolve/{REVISION}/")
            asked = self.headers.get("Range", "")
            small.asked.append((path, asked))
            content = small.content.get(path)
            if content is None:
                self.send_error(404)
                return
            start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and small.ranges else 0
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            end = small.breaks_off.pop(0) if small.breaks_off else None
            self.wfile.write(content[start : None if end is None else start + end])
            if end is not None and small.silent:
                self.wfile.flush()
                small.over.wait(60)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    small.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield small
    small.over.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def weight(tmp_path: Path) -> Weight:
    weight = make_weight(make_wheel(tmp_path / "shelf", content=CONTENT), content=CONTENT)
    files = tuple(replace(file, in_hub=f"en/{file.name}") for file in weight.files)
    return replace(weight, files=files, hub=Hub("some/where", REVISION))


@pytest.fixture(autouse=True)
def _content_below_a_folder(hub: SmallHub) -> None:
    hub.content = {f"en/{name}": content for name, content in CONTENT.items()}


@pytest.fixture
def into(tmp_path: Path) -> Path:
    (tmp_path / "into").mkdir()
    return tmp_path / "into"


@pytest.fixture
def source(tmp_path: Path, hub: SmallHub) -> HubSource:
    return HubSource(tmp_path / "downloads", hub.url)


def found(into: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in into.iterdir()}


def test_files_come_at_their_commit_and_go_once_forgotten(
    tmp_path: Path, source: HubSource, weight: Weight, into: Path
) -> None:
    heard = Heard()
    assert source.to_download(weight) == weight.file_bytes
    assert source.bring(weight, into, heard) == f"Hugging Face some/where at {REVISION[:12]}"
    assert found(into) == CONTENT
    assert f"at {weight.file_bytes}" in heard.told
    assert source.to_download(weight) == 0
    source.forget(weight)
    assert not list((tmp_path / "downloads").iterdir())


def test_a_line_that_breaks_off_is_taken_up_where_it_broke(
    source: HubSource, hub: SmallHub, weight: Weight, into: Path
) -> None:
    hub.breaks_off = [HALF, 7]
    source.bring(weight, into, Quiet())
    assert found(into) == CONTENT
    assert [asked for _, asked in hub.asked] == ["", f"bytes={HALF}-", f"bytes={HALF + 7}-", ""]


def test_a_hub_without_ranges_is_read_from_the_start_again(
    source: HubSource, hub: SmallHub, weight: Weight, into: Path
) -> None:
    hub.breaks_off, hub.ranges = [HALF], False
    source.bring(weight, into, Quiet())
    assert found(into) == CONTENT


def test_a_fetch_that_was_stopped_is_resumed_by_the_next(
    tmp_path: Path, source: HubSource, hub: SmallHub, weight: Weight, into: Path
) -> None:
    class Stop(Quiet):
        def at(self, done_bytes: int) -> None:
            if done_bytes:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        source.bring(weight, into, Stop())
    left = source.to_download(weight)
    assert left is not None
    assert 0 < left < weight.file_bytes
    hub.asked.clear()
    again = HubSource(tmp_path / "downloads", hub.url)
    again.bring(weight, into, Quiet())
    assert found(into) == CONTENT
    assert hub.asked[0] == ("en/model.bin", f"bytes={weight.file_bytes - left}-")


def test_a_hub_that_falls_silent_is_left_and_what_came_is_kept(
    tmp_path: Path, hub: SmallHub, weight: Weight, into: Path
) -> None:
    hub.breaks_off, hub.silent = [HALF, 0, 0], True
    source = HubSource(tmp_path / "downloads", hub.url, patience_s=0.1)
    with pytest.raises(NotHere, match=r"broke off 3 times in en/model\.bin"):
        source.bring(weight, into, Quiet())
    assert not found(into)
    assert source.to_download(weight) == weight.file_bytes - HALF


@pytest.mark.parametrize("came", [CONTENT["model.bin"][::-1], CONTENT["model.bin"] + b"more"])
def test_other_bytes_are_not_taken_and_not_kept(
    tmp_path: Path, source: HubSource, hub: SmallHub, weight: Weight, into: Path, came: bytes
) -> None:
    hub.content["en/model.bin"] = came
    with pytest.raises(NotHere, match="something else"):
        source.bring(weight, into, Quiet())
    assert not found(into)
    assert not list((tmp_path / "downloads").iterdir())


def test_a_file_that_is_not_there_is_told_and_other_weights_are_still_asked_for(
    source: HubSource, hub: SmallHub, weight: Weight, into: Path
) -> None:
    model = hub.content.pop("en/model.bin")
    with pytest.raises(NotHere, match=r"did not send en/model\.bin \(it answered 404\)"):
        source.bring(weight, into, Quiet())
    hub.content["en/model.bin"] = model
    source.bring(weight, into, Quiet())
    assert found(into) == CONTENT


def test_a_hub_out_of_reach_is_asked_once(tmp_path: Path, hub: SmallHub, weight: Weight, into: Path) -> None:
    source = HubSource(tmp_path / "downloads", "http://127.0.0.1:9")
    with pytest.raises(NotHere, match=r"cannot be reached.*refused"):
        source.bring(weight, into, Quiet())
    source.endpoint = hub.url
    with pytest.raises(NotHere, match="cannot be reached"):
        source.bring(weight, into, Quiet())
    assert not hub.asked


def test_what_is_not_on_the_hub_is_not_asked_for(source: HubSource, hub: SmallHub, weight: Weight, into: Path) -> None:
    elsewhere = replace(weight, hub=None)
    assert source.to_download(elsewhere) is None
    with pytest.raises(NotHere) as nothing_to_tell:
        source.bring(elsewhere, into, Quiet())
    assert not str(nothing_to_tell.value)
    assert not hub.asked


def test_the_hub_is_not_asked_where_its_own_setting_says_so(
    source: HubSource, hub: SmallHub, weight: Weight, into: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(NotHere, match="HF_HUB_OFFLINE"):
        source.bring(weight, into, Quiet())
    assert not hub.asked
