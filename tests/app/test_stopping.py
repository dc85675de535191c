"""The end of the process: at once and with its code, whatever other threads are at."""

import subprocess
import sys

import pytest

BUSY = """
import sys, threading
from app.stopping import leave
threading.Thread(target=threading.Event().wait, daemon={daemon}).start()
sys.stdout.write("what was said")
leave(7)
"""


@pytest.mark.parametrize("daemon", [True, False])
def test_a_thread_that_never_ends_holds_nobody_up_and_what_was_said_is_out(daemon: bool) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", BUSY.format(daemon=daemon)], capture_output=True, text=True, timeout=30, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (7, "what was said", "")


def test_with_no_other_thread_python_ends_as_it_always_does() -> None:
    code = "import atexit; from app.stopping import leave; atexit.register(print, 'as always'); leave(3)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False)
    assert (ended.returncode, ended.stdout) == (3, "as always\n")
