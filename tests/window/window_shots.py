"""Screenshots of every page and state: `python -m tests.window.window_shots --out DIR`.

Light and dark, at 100% and 200%, at the usual size and small. A picture is a process's work, for Qt takes its scale
once.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

LOOKS = ("light", "dark", "contrast")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--look", choices=LOOKS, action="append")
    parser.add_argument("--scale", choices=("1", "2"), action="append")
    parser.add_argument("--only", action="append", help="these shots alone")
    args = parser.parse_args()
    for scale in args.scale or ("1", "2"):
        for look in args.look or ("light", "dark"):
            environment = {**os.environ, "QT_SCALE_FACTOR": scale, "QT_QPA_PLATFORM": "offscreen"}
            command = [sys.executable, "-m", "tests.window.window_shots_of", str(args.out), look, scale]
            subprocess.run([*command, *(args.only or ())], env=environment, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
