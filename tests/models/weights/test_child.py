import contextlib
import errno
import os
from pathlib import Path

import pytest

from engine.errors import BadWeights
from engine.models.weights.child import ChildBroke, in_child


def write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(f"{text} {os.getpid()}")


def refuse() -> None:
    raise BadWeights("a network of another shape", "ours", "fetch it again")


def fill_the_disk() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "somewhere")


def stumble() -> None:
    raise ValueError("a bug,\nover two lines")


def vanish(code: int) -> None:
    os._exit(code)


def be_killed() -> None:
    import signal

    os.kill(os.getpid(), signal.SIGKILL)


def wait_for(path: str) -> None:
    with open(path) as fifo:
        fifo.read()


def test_runs_elsewhere_and_returns_when_done(tmp_path: Path) -> None:
    in_child(write, str(tmp_path / "said"), "hello", tick=lambda: None)
    text, process = (tmp_path / "said").read_text().split()
    assert text == "hello"
    assert int(process) != os.getpid()


def test_errors_of_ours_and_of_the_system_come_back_as_they_were() -> None:
    with pytest.raises(BadWeights) as refused:
        in_child(refuse, tick=lambda: None)
    assert str(refused.value) == "a network of another shape; needed: ours; fetch it again"
    assert refused.value.remedy == "fetch it again"
    with pytest.raises(OSError, match="No space left") as full:
        in_child(fill_the_disk, tick=lambda: None)
    assert (full.value.errno, full.value.filename) == (errno.ENOSPC, "somewhere")


def test_what_nobody_foresaw_becomes_one_line() -> None:
    with pytest.raises(ChildBroke, match=r"^ValueError: a bug, over two lines$"):
        in_child(stumble, tick=lambda: None)
    with pytest.raises(ChildBroke, match="exit code 3"):
        in_child(vanish, 3, tick=lambda: None)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_a_killed_process_is_guessed_to_have_wanted_memory() -> None:
    with pytest.raises(ChildBroke, match="memory"):
        in_child(be_killed, tick=lambda: None)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no named pipe in a folder")
def test_who_stops_waiting_ends_the_other_process(tmp_path: Path) -> None:
    """Ctrl-C while a child works: it is gone before the interrupt goes on."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    reader: list[int] = []

    def stop() -> None:
        with contextlib.suppress(OSError):  # not yet reading
            reader.append(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        in_child(wait_for, str(fifo), tick=stop)
    with pytest.raises(BrokenPipeError):
        os.write(reader[0], b"anybody there?")
    os.close(reader[0])
