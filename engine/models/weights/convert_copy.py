"""The converter of weights that are used as they come."""

import shutil
from pathlib import Path


def convert(source: Path, destination: Path) -> None:
    """Copy every file of the folder `source` into the empty folder `destination`."""
    shutil.copytree(source, destination, dirs_exist_ok=True)
