import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.errors import AskedWrongly, NoRoom
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
    with pytest.raises(NoRoom, match=r"cannot be written \(File name too long\)"):
        write(tmp_path / ("n" * 300))
    for taken in (tmp_path / "out.csv", Path(os.devnull)):
        with pytest.raises(AskedWrongly, match="it is no file"):
            write(taken)
    assert os.listdir(tmp_path) == ["out.csv"]
    assert not Path(os.devnull).is_file()


def test_a_folder_that_takes_nothing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(Path, "unlink", refuse)  # as on a disk that is read-only, even where nothing is to unlink
    with pytest.raises(NoRoom, match="Read-only file system"), whole_file(tmp_path / "out.csv"):
        refuse()


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("the old one")
    (tmp_path / "link.csv").symlink_to("real.csv")
    with whole_file(tmp_path / "link.csv") as part:
        part.write_text("the new one")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "the new one"


def test_what_a_process_left_that_died_is_swept(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    stale, alive, other = (f".[a].wav.{gone.pid}.part", f".[a].wav.{os.getppid()}.part", f".b.wav.{gone.pid}.part")
    for name in (stale, alive, other):
        (tmp_path / name).write_text("")
    with whole_file(tmp_path / "[a].wav") as part:
        part.write_text("x")
    assert sorted(os.listdir(tmp_path)) == sorted([alive, other, "[a].wav"])
