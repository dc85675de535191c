"""A folder of released files as it was downloaded: found, but never followed out of it.

A Hugging Face cache is a valid folder: its files are links to the blobs beside it. Any other link that leads out, and
any name that would, is refused. No torch, and nothing of what the files hold. Any thread may enter.
"""

from collections.abc import Iterator
from pathlib import Path

from engine.errors import AskedWrongly, BadWeights, MissingWeights

_POINTER, _POINTER_BYTES = b"version https://git-lfs", 1024


class Folder:
    """The folder.

    Args:
        path: As named; a link to the folder itself is followed.

    Raises:
        AskedWrongly: There is no such folder.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_dir():
            raise AskedWrongly(f"{path} is no folder", "a model's folder, as downloaded")
        self.root, self.name = path.resolve(), path.name or str(path)
        self._inside = [self.root]
        if self.root.parent.name == "snapshots":  # of a Hugging Face cache
            self._inside.append(self.root.parent.parent / "blobs")

    def has(self, name: str) -> bool:
        """Whether there is such a file, or a link that should lead to one."""
        path = self.root / name
        return path.is_symlink() or path.exists()

    def file(self, name: str) -> Path:
        """The file of that name, where it really is.

        Raises:
            MissingWeights: It is not there, or not yet.
            BadWeights: It lies elsewhere, or is none.
        """
        path = self.root / name
        try:
            real = path.resolve()
        except (OSError, RuntimeError, ValueError) as error:
            raise BadWeights(f"{name} leads nowhere", "a file of the folder", "download it again") from error
        if not any(real.is_relative_to(place) for place in self._inside):
            raise BadWeights(
                f"{name} leads out of the folder, to {real}", "files that lie in it", "copy the file itself into it"
            )
        if not real.exists():
            half = " (a download was not finished)" if path.is_symlink() or self._unfinished() else ""
            raise MissingWeights(f"{name} is not in {self.name}{half}", "every file of the release", _RESUME)
        if not real.is_file():
            raise BadWeights(f"{name} is no file", "a file of the release", _RESUME)
        if real.stat().st_size <= _POINTER_BYTES and real.read_bytes().startswith(_POINTER):
            raise MissingWeights(f"{name} is a Git LFS pointer, not the file itself", "", "run: git lfs pull")
        return real

    def files(self) -> Iterator[tuple[str, int]]:
        """Every file below the folder with its size, by name; of what leads out or nowhere, nothing."""
        for path in sorted(self.root.rglob("*")):
            real = path.resolve()
            if any(real.is_relative_to(place) for place in self._inside) and real.is_file():
                yield path.relative_to(self.root).as_posix(), real.stat().st_size

    def _unfinished(self) -> bool:
        """Whether something here was left half-downloaded."""
        places = [*self._inside, self.root / ".cache/huggingface/download"]
        return any(True for place in places for _ in place.glob("*.incomplete"))


_RESUME = "run the download again: it goes on where it stopped"
