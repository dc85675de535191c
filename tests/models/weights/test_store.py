import json
from dataclasses import replace
from pathlib import Path

import pytest

from engine.errors import AskedWrongly, BadWeights, MissingWeights
from engine.models.weights import locate, open_store
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


def test_a_changed_byte_is_found_when_all_is_read(store: Store, weight: Weight) -> None:
    model = install(store, weight) / "model.bin"
    content = bytearray(CONTENT["model.bin"])
    content[100] ^= 1
    model.write_bytes(content)
    store.locate("tiny")  # sizes are right: that is all it looks at, so that a session starts in milliseconds
    with pytest.raises(BadWeights, match=r"model\.bin has sha256"):
        store.verify("tiny")


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
