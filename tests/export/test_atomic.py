import errno
import os
from pathlib import Path

import pytest

from engine.errors import NoRoom
from engine.export.atomic import whole_file


def test_a_file_appears_only_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("the old one")
    with whole_file(path) as part:
        part.write_text("the new one")
        assert path.read_text() == "the old one"
    assert path.read_text() == "the new one"
    assert os.listdir(tmp_path) == ["out.csv"]


@pytest.mark.parametrize(
    "error", [ValueError("no"), KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device")]
)
def test_what_fails_midway_leaves_nothing_and_spoils_nothing(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "out.csv"
    path.write_text("the old one")

    def write() -> None:
        with whole_file(path) as part:
            part.write_text("half of")
            raise error

    expected = NoRoom if isinstance(error, OSError) else type(error)
    with pytest.raises(expected):
        write()
    assert path.read_text() == "the old one"
    assert os.listdir(tmp_path) == ["out.csv"]


def test_a_folder_that_is_not_there_or_in_the_way_is_said(tmp_path: Path) -> None:
    def write(path: Path) -> None:
        with whole_file(path) as part:
            part.write_text("x")

    with pytest.raises(NoRoom, match=r"cannot be written \(No such file or directory\)"):
        write(tmp_path / "none" / "out.csv")
    (tmp_path / "out.csv").mkdir()
    with pytest.raises(NoRoom, match="cannot be written"):
        write(tmp_path / "out.csv")
    assert os.listdir(tmp_path) == ["out.csv"]
