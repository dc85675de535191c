"""HubSource against a small hub on this machine."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from engine.models.weights.hub import HubFiles, HubSource
from engine.models.weights.manifest import Hub, Weight
from engine.models.weights.progress import Quiet
from engine.models.weights.sources import NotHere
from tests.models.weights.made_up import Heard, make_weight, make_wheel
from tests.models.weights.small_hub import SmallHub, serving

REVISION = "0123456789abcdef0123456789abcdef01234567"
CONTENT = {"model.bin": bytes(range(251)) * 4000, "config.json": b'{"width": 384}\n'}
HALF = 500_000


@pytest.fixture
def hub() -> Iterator[SmallHub]:
    with serving(SmallHub(f"/some/where/resolve/{REVISION}/", dict(CONTENT))) as small:
        yield small


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
    return HubSource(tmp_path / "downloads", HubFiles(hub.url))


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
    again = HubSource(tmp_path / "downloads", HubFiles(hub.url))
    again.bring(weight, into, Quiet())
    assert found(into) == CONTENT
    assert hub.asked[0] == ("en/model.bin", f"bytes={weight.file_bytes - left}-")


def test_a_hub_that_falls_silent_is_left_and_what_came_is_kept(
    tmp_path: Path, hub: SmallHub, weight: Weight, into: Path
) -> None:
    hub.breaks_off, hub.silent = [HALF, 0, 0], True
    source = HubSource(tmp_path / "downloads", HubFiles(hub.url, patience_s=0.1))
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
    source = HubSource(tmp_path / "downloads", HubFiles("http://127.0.0.1:9"))
    with pytest.raises(NotHere, match=r"cannot be reached.*refused"):
        source.bring(weight, into, Quiet())
    source.files = HubFiles(hub.url)
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
