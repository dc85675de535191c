"""A model's own release, from a small hub on this machine: held to the hub's list, resumed, never half there."""

import hashlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.errors import AskedWrongly, BadWeights, CadenceError, MissingWeights, NoRoom
from engine.models.weights import release as releases
from engine.models.weights.hub import HubFiles
from engine.models.weights.manifest import Hub, Manifest, Release, load
from engine.models.weights.progress import Quiet
from engine.models.weights.release import fetch_release, locate_release, release_outlook, verify_release
from engine.models.weights.store import Store
from tests.models.weights.made_up import Heard, left_in, sha256
from tests.models.weights.small_hub import SmallHub, serving

REVISION = "0123456789abcdef0123456789abcdef01234567"
CONTENT = {
    "config.json": b'{"model_type": "toy"}\n',
    "model-00001-of-00002.safetensors": bytes(range(251)) * 4000,
    "model-00002-of-00002.safetensors": bytes(range(241)) * 4000,
    "assets/token2wav/flow.yaml": b"flow: 1\n",
}
OTHERS = {"modeling_toy.py": b"raise AssertionError", "vision/model-0.bin": b"pictures"}
SIZE = sum(len(content) for content in CONTENT.values())
HALF = 500_000
RELEASE = Release(
    model="toy",
    what="a toy",
    licence="CC0-1.0",
    licence_url="https://example.org/licence",
    origin="https://example.org/toy",
    hub=Hub("some/where", REVISION),
    files=("config.json", "model-*.safetensors", "assets/token2wav/flow.yaml"),
)


def entry(name: str, content: bytes) -> dict[str, Any]:
    large = {"lfs": {"sha256": sha256(content), "size": len(content), "pointerSize": 130}}
    sha1 = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
    return {"rfilename": name, "size": len(content), "blobId": sha1, **(large if len(content) > 1000 else {})}


def listing(**files: bytes) -> dict[str, Any]:
    siblings = [entry(name, content) for name, content in {**CONTENT, **OTHERS, **files}.items()]
    return {"sha": REVISION, "cardData": {"license": "cc0-1.0"}, "siblings": siblings}


@pytest.fixture
def hub() -> Iterator[SmallHub]:
    with serving(SmallHub(f"/some/where/resolve/{REVISION}/", {**CONTENT, **OTHERS}, listing())) as small:
        yield small


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(Manifest({}, {"toy": RELEASE}), tmp_path / "cache")


def fetch(store: Store, hub: SmallHub, progress: Any = None, accepts: Callable[[Release], bool] = bool) -> Path:
    return fetch_release(store, RELEASE, HubFiles(hub.url, patience_s=5), progress or Quiet(), accepts)


def found(place: Path) -> dict[str, bytes]:
    return {name: (place / name).read_bytes() for name in left_in(place) if name != releases.RECORD}


def test_what_is_needed_comes_and_nothing_else_and_the_size_and_licence_were_told_first(store, hub):
    heard = Heard()

    place = fetch(store, hub, heard)

    assert found(place) == CONTENT
    assert place == locate_release(store, RELEASE) == store.root / "releases" / f"toy-{REVISION[:12]}"
    assert verify_release(store, RELEASE) == SIZE
    assert heard.told[0].startswith(f"say to fetch: a toy: {SIZE / 1e6:.1f} MB to download, ")
    assert heard.told[1] == "say its licence: CC0-1.0 (https://example.org/licence)"
    assert f"at {SIZE}" in heard.told
    assert not list(store.downloads.iterdir())
    assert release_outlook(store, RELEASE, HubFiles(hub.url)).download_bytes == 0
    hub.asked.clear()
    assert fetch(store, hub) == place
    assert not hub.asked


def test_a_licence_that_is_not_accepted_leaves_everything_as_it_was(store, hub):
    with pytest.raises(AskedWrongly, match=r"licence of toy was not accepted; needed: CC0-1\.0; .*--accept-licence"):
        fetch(store, hub, accepts=lambda _: False)
    assert not store.root.exists()
    assert [path for path, _ in hub.asked] == [f"/api/models/some/where/revision/{REVISION}?blobs=true"]


def test_a_fetch_that_was_stopped_goes_on_where_it_stopped(store, hub):
    class Stop(Quiet):
        def at(self, done_bytes: int) -> None:
            if done_bytes > 1_100_000:  # in the second large file
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(store, hub, Stop())
    with pytest.raises(MissingWeights):
        locate_release(store, RELEASE)
    left = release_outlook(store, RELEASE, HubFiles(hub.url)).download_bytes
    assert 0 < left < SIZE - 1_000_000
    hub.asked.clear()

    assert found(fetch(store, hub)) == CONTENT

    second = "model-00002-of-00002.safetensors"
    size = len(CONTENT[second]) + len(CONTENT["assets/token2wav/flow.yaml"])
    asked = [(path, start) for path, start in hub.asked if not path.startswith("/api/")]
    assert asked == [(second, f"bytes={size - left}-"), ("assets/token2wav/flow.yaml", "")]


def test_a_line_that_breaks_off_is_taken_up_and_then_given_up_with_what_came(store, hub):
    hub.breaks_off = [None, None, HALF, 7]  # the list and the configuration come whole
    assert found(fetch(store, hub)) == CONTENT

    shutil.rmtree(store.root)
    hub.breaks_off = [None, None, HALF, 0, 0]
    with pytest.raises(MissingWeights, match=r"broke off 3 times in model-00001.*goes on where it stopped"):
        fetch(store, hub)
    assert release_outlook(store, RELEASE, HubFiles(hub.url)).download_bytes == SIZE - HALF - len(
        CONTENT["config.json"]
    )


@pytest.mark.parametrize("name", ["config.json", "model-00001-of-00002.safetensors"])
def test_other_bytes_than_the_hub_lists_are_not_kept(store, hub, name):
    hub.content[name] = CONTENT[name][::-1]
    with pytest.raises(BadWeights, match=f"{name} is not what the hub lists"):
        fetch(store, hub)
    assert name not in " ".join(left_in(store.root))
    hub.content[name] = CONTENT[name]
    assert found(fetch(store, hub)) == CONTENT


@pytest.mark.parametrize("damage", [b"", b"half", CONTENT["config.json"][::-1]])
def test_damage_is_found_and_only_what_is_damaged_is_fetched_again(store, hub, damage):
    place = fetch(store, hub)
    (place / "config.json").write_bytes(damage)
    with pytest.raises(BadWeights, match=r"toy: config\.json is gone, or holds something else.*models fetch toy"):
        verify_release(store, RELEASE)
    hub.asked.clear()

    assert found(fetch(store, hub)) == CONTENT

    assert {path for path, _ in hub.asked if not path.startswith("/api/")} == {"config.json"}


def test_a_disk_that_is_too_small_is_told_before_anything_is_fetched(store, hub, monkeypatch):
    monkeypatch.setattr(releases.shutil, "disk_usage", lambda _: SimpleNamespace(free=SIZE))
    with pytest.raises(NoRoom, match=r"2\.0 MB free on the disk .* for toy; .*DUPLEXCADENCE_CACHE"):
        fetch(store, hub)
    assert len(hub.asked) == 1


@pytest.mark.parametrize(
    ("told", "kind", "said"),
    [
        (listing() | {"sha": "f" * 40}, BadWeights, "lists commit 'ffff"),
        (listing() | {"cardData": {"license": "other"}}, BadWeights, "the licence 'other'; needed: CC0-1.0"),
        (listing() | {"siblings": []}, MissingWeights, r"lists no config\.json of toy"),
        (listing() | {"siblings": [{"rfilename": "config.json"}]}, BadWeights, "list of toy cannot be read"),
        (listing() | {"siblings": "none"}, MissingWeights, "lists no"),
        (listing(**{"model-/../../out.safetensors": b"x"}), BadWeights, "outside of the folder"),
        (listing(**{"model-\\..\\..\\out.safetensors": b"x"}), BadWeights, "outside of the folder"),
        (b"<html>", MissingWeights, "sent no list of some/where"),
        (b"[1]", MissingWeights, "sent no list of some/where"),
        (None, MissingWeights, "did not send the list of some/where"),
    ],
)
def test_a_list_that_is_not_to_be_trusted_is_refused_in_a_line(
    store: Store, hub: SmallHub, told: Any, kind: type[CadenceError], said: str
) -> None:
    hub.listing = told
    with pytest.raises(kind, match=said) as raised:
        fetch(store, hub)
    assert "\n" not in str(raised.value)
    assert not store.root.exists()


def test_a_hub_out_of_reach_is_told_with_what_else_can_be_done(store, monkeypatch):
    with pytest.raises(MissingWeights, match=r"cannot be reached.*download https://example\.org/toy yourself"):
        fetch_release(store, RELEASE, HubFiles("http://127.0.0.1:9"), Quiet(), bool)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(MissingWeights, match="HF_HUB_OFFLINE is set"):
        fetch_release(store, RELEASE, HubFiles("http://127.0.0.1:9"), Quiet(), bool)


def test_the_release_that_ships_is_pinned_and_its_files_can_be_told_apart():
    declared = load().releases["minicpm-o-4.5"]
    assert len(declared.hub.revision) == 40
    assert declared.hub.repository == "openbmb/MiniCPM-o-4_5"
    assert declared.origin.endswith(declared.hub.repository)
    assert declared.licence == "Apache-2.0"
