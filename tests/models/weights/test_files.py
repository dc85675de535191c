import errno
import io
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import BadWeights, CadenceError, NoRoom
from engine.models.weights.files import bytes_under, copy_known, disk_errors_in_words, holds
from tests.models.weights.made_up import sha256


@settings(deadline=None, max_examples=60)
@given(came=st.binary(max_size=300), wanted=st.binary(max_size=300), same=st.booleans())
def test_only_the_very_bytes_that_were_declared_stay(
    tmp_path_factory: pytest.TempPathFactory, came: bytes, wanted: bytes, same: bool
) -> None:
    came = wanted if same else came
    to, counted = tmp_path_factory.mktemp("copy") / "file", []
    if came == wanted:
        copy_known(io.BytesIO(came), to, len(wanted), sha256(wanted), counted.append)
        assert to.read_bytes() == wanted
        assert sum(counted) == len(wanted)
        assert holds(to, len(wanted), sha256(wanted))
    else:
        with pytest.raises(BadWeights):
            copy_known(io.BytesIO(came), to, len(wanted), sha256(wanted), counted.append)
        assert not to.exists()


def test_a_stream_without_an_end_is_cut_off_at_the_declared_size(tmp_path: Path) -> None:
    class Endless(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            return bytes(size)

    written: list[int] = []
    with pytest.raises(BadWeights, match="longer"):
        copy_known(Endless(), tmp_path / "file", 5_000_000, "0" * 64, written.append)  # type: ignore[arg-type]
    assert sum(written) <= 5_000_000
    assert not (tmp_path / "file").exists()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_told_in_one_line(tmp_path: Path, code: int) -> None:
    with pytest.raises(NoRoom, match=r"the disk is full.*DUPLEXCADENCE_CACHE"), disk_errors_in_words(tmp_path):
        raise OSError(code, os.strerror(code), str(tmp_path / "file"))


def test_a_cache_that_cannot_be_written_is_told_with_its_reason(tmp_path: Path) -> None:
    in_the_way = tmp_path / "cache"
    in_the_way.write_text("a file where the folder should be")
    with pytest.raises(NoRoom, match=r"cannot be written.*DUPLEXCADENCE_CACHE"), disk_errors_in_words(in_the_way):
        (in_the_way / "weights").mkdir(parents=True)


def test_trouble_elsewhere_is_not_blamed_on_the_cache(tmp_path: Path) -> None:
    elsewhere = tmp_path / "shelf" / "model.bin"
    with (
        pytest.raises(CadenceError, match=r"model\.bin: No such file") as caught,
        disk_errors_in_words(tmp_path / "cache"),
    ):
        elsewhere.read_bytes()
    assert not isinstance(caught.value, NoRoom)


def test_bytes_are_counted_below_a_folder_and_only_where_they_count(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.whl").write_bytes(b"12345")
    (tmp_path / "b.txt").write_bytes(b"123")
    assert bytes_under(tmp_path) == 8
    assert bytes_under(tmp_path, counts=lambda path: path == Path("deep/a.whl")) == 5
    assert bytes_under(tmp_path / "nowhere") == 0
