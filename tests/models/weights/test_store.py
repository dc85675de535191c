import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from engine.errors import AskedWrongly, BadWeights, MissingWeights
from engine.models.weights import locate, open_store
from engine.models.weights.files import sha256_of
from engine.models.weights.manifest import Weight
from engine.models.weights.store import RECORD, Store
from tests.models.weights.made_up import CONTENT, make_weight, make_wheel, store_of


@pytest.fixture
def weight(tmp_path: Path) -> Weight:
    return make_weight(make_wheel(tmp_path / "shelf"))


@pytest.fixture
def store(tmp_path: Path, weight: Weight) -> Store:
    return store_of(tmp_path / "cache", weight)


def install(store: Store, weight: Weight) -> Path:
    made = store.scratch / "made"
    made.mkdir(parents=True)
    for name, content in CONTENT.items():
        (made / name).write_bytes(content)
    store.install(weight, made, "a test")
    return store.folder(weight)


def test_what_was_installed_is_found(store: Store, weight: Weight) -> None:
    folder = install(store, weight)
    assert store.locate("tiny") == folder
    assert {path.name for path in folder.iterdir()} == {*CONTENT, RECORD}
    assert store.verify("tiny") == sum(map(len, CONTENT.values()))


def test_what_was_not_is_missing_and_the_line_says_what_to_run(store: Store) -> None:
    with pytest.raises(MissingWeights, match="run: duplexcadence models fetch toy"):
        store.locate("tiny")
    assert not store.root.exists()
    with pytest.raises(AskedWrongly):
        store.locate("other")


@pytest.mark.parametrize("damage", ["shorter", "longer", "gone", "record", "no record"])
def test_damage_that_a_look_tells_is_found_on_the_way_to_a_session(store: Store, weight: Weight, damage: str) -> None:
    folder = install(store, weight)
    model, record = folder / "model.bin", folder / RECORD
    match damage:
        case "shorter":
            model.write_bytes(CONTENT["model.bin"][:-1])
        case "longer":
            model.write_bytes(CONTENT["model.bin"] + b"x")
        case "gone":
            model.unlink()
        case "record":
            record.write_text(record.read_text()[:-20])
        case "no record":
            record.unlink()
    for look in (store.locate, store.verify):
        with pytest.raises(BadWeights, match="run: duplexcadence models fetch toy"):
            look("tiny")


@pytest.mark.parametrize("earlier", [False, True])
def test_a_changed_byte_is_found_on_the_way_to_a_session(store: Store, weight: Weight, earlier: bool) -> None:
    model = install(store, weight) / "model.bin"
    changed_ns = model.stat().st_mtime_ns + (-1_000_000 if earlier else 1_000_000)
    content = bytearray(CONTENT["model.bin"])
    content[100] ^= 1
    model.write_bytes(content)
    os.utime(model, ns=(changed_ns, changed_ns))
    for look in (store.locate, store.verify):
        with pytest.raises(BadWeights, match=r"model\.bin has sha256 .*; run: duplexcadence models fetch toy"):
            look("tiny")


def test_a_changed_byte_under_an_unchanged_time_is_found_when_all_is_read(store: Store, weight: Weight) -> None:
    model = install(store, weight) / "model.bin"
    then_ns = model.stat().st_mtime_ns
    model.write_bytes(CONTENT["model.bin"][::-1])
    os.utime(model, ns=(then_ns, then_ns))
    store.locate("tiny")
    with pytest.raises(BadWeights, match=r"model\.bin has sha256"):
        store.verify("tiny")


def test_what_is_untouched_is_not_read_and_a_copy_is_read_once(
    store: Store, weight: Weight, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, read = install(store, weight), list[str]()

    def counted(path: Path) -> str:
        read.append(path.name)
        return sha256_of(path)

    monkeypatch.setattr("engine.models.weights.store.sha256_of", counted)
    store.locate("tiny")
    assert read == []
    os.utime(folder / "model.bin", ns=(10**18, 10**18))
    store.locate("tiny")
    store.locate("tiny")
    assert read == ["model.bin"]


def test_what_was_installed_before_times_were_recorded_is_read_and_found(store: Store, weight: Weight) -> None:
    folder = install(store, weight)
    record = json.loads((folder / RECORD).read_text())
    for entry in record["files"]:
        del entry["mtime_ns"]
    (folder / RECORD).write_text(json.dumps(record))
    assert store.locate("tiny") == folder
    (folder / "model.bin").write_bytes(CONTENT["model.bin"][::-1])
    with pytest.raises(BadWeights, match=r"model\.bin has sha256"):
        store.locate("tiny")


def test_a_broken_folder_gives_way(store: Store, weight: Weight) -> None:
    (install(store, weight) / "model.bin").unlink()
    install(store, weight)
    assert store.verify("tiny")


def test_what_an_older_converter_made_is_neither_found_nor_kept(store: Store, weight: Weight) -> None:
    old = install(store, weight)
    neighbour = old.with_name("tiny-er-0123456789ab")
    neighbour.mkdir()
    newer = replace(weight, convert_revision=2)
    renewed = store_of(store.root, newer)
    with pytest.raises(MissingWeights):
        renewed.locate("tiny")
    install(renewed, newer)
    assert renewed.locate("tiny")
    assert not old.exists()
    assert neighbour.exists()


def test_the_record_says_where_all_came_from(store: Store, weight: Weight) -> None:
    record = json.loads((install(store, weight) / RECORD).read_text())
    assert record["licence"] == "CC0-1.0"
    assert record["source"] == "a test"
    assert record["from"] == {file.name: file.sha256 for file in weight.files}


def test_the_environment_says_where_the_cache_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUPLEXCADENCE_CACHE", str(tmp_path / "mine"))
    assert open_store().root == tmp_path / "mine"
    with pytest.raises(MissingWeights):
        locate("pocket-whisper")
    assert not (tmp_path / "mine").exists()
    monkeypatch.delenv("DUPLEXCADENCE_CACHE")
    assert open_store().root.name == "duplexcadence"
    assert open_store().root.is_absolute()
