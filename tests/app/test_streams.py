"""Whatever standard output is, a command ends with a line at most, never with a traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.__main__ import main

PLAN = [sys.executable, "-m", "app", "plan", "pocket"]


@pytest.mark.slow
def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    for arguments in (["plan", "pocket"], ["--help"]):
        done = subprocess.run([*PLAN[:3], *arguments], stdout=writing, stderr=subprocess.PIPE, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
    os.close(writing)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_an_output_that_is_full_is_one_line() -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(PLAN, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "duplexcadence: the output cannot be written (No space left on device); needed: room for it; send it elsewhere"
    ]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no descriptor is closed at a start there")
def test_closed_streams_are_no_error(tmp_path: Path) -> None:
    script = f"import os, sys; os.close(1); os.close(2); os.execv(sys.executable, {PLAN!r})"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_a_narrow_charset_is_no_error() -> None:
    script = (
        "import sys; from app.streams import *; make_ready(); say('a \\u2503 b \\udcff'); tell('c\\nd \\x1b \\udcff')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("a ? b ?\n", "c?d ? ?\n")


def test_ctrl_c_while_a_start_imports_is_one_line() -> None:
    script = (
        "import sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'numpy': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "from app.__main__ import main\n"
        "sys.exit(main(['plan', 'pocket']))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "duplexcadence: stopped\n")


def test_the_version_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith("duplexcadence 0.")


def test_what_is_asked_wrongly_stays_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", os.fsdecode(b"no\nsuch \xff.wav")]) == 2
    assert (
        capsys.readouterr().err
        == "duplexcadence: no?such ?.wav is not a file; needed: a recording; name one that exists\n"
    )
    assert main(["run", "n" * 300]) == 2
    assert capsys.readouterr().err.count("\n") == 1
