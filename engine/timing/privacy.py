"""Takes folders out of text before it is logged: a log is handed round, and a folder names its owner.

Knows nothing of records; works on plain JSON values. A path keeps its last name ("/home/jo/clip.wav" is "clip.wav").
Entered by the engine thread.
"""

import re
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

_ROOT = r"(?:[A-Za-z]:[\\/]|\\\\|~[\\/]|file://|/)"
_QUOTED = re.compile(rf"(['\"])({_ROOT}[^'\"\n]*)\1")
_STOPS = r"\s'\"<>|*?,;()\[\]{}/\\"
# Not after a word, a dot or a slash, nor with two slashes after a colon: "and/or", "../x", "25/2" and "https://host/x"
# are no absolute paths.
_START = rf"(?<![\w./\\~])(?!(?<=:)//){_ROOT}"
# A folder's name may hold spaces: plain words belong to it if a slash follows the last of them, however much of a
# sentence that may take along. The last name ends at its first space.
_FOLDER = rf"[^{_STOPS}]*(?:(?<!:)(?:[ \t]+[^{_STOPS}:]+)+)?[\\/]"
_BARE = re.compile(rf"{_START}(?:{_FOLDER})*[^{_STOPS}]*[^{_STOPS}:.][\\/]?")


def _last_name(path: str) -> str:
    flavour = PureWindowsPath if "\\" in path or path[1:2] == ":" else PurePosixPath
    return flavour(path).name or "root folder"


def _is_path(text: str) -> bool:
    return "\n" not in text and re.match(_ROOT, text) is not None


def without_folders(text: str) -> str:
    """`text` with each absolute path in it cut down to its last name.

    Folders may have spaces in their names; a last name inside a sentence has them only where the path is quoted, as
    Python's own errors do.
    """
    if "/" not in text and "\\" not in text:
        return text
    if _is_path(text) and ": " not in text:
        return _last_name(text)
    text = _QUOTED.sub(lambda match: f"{match[1]}{_last_name(match[2])}{match[1]}", text)
    return _BARE.sub(lambda match: _last_name(match[0]), text)


def scrubbed(value: Any) -> Any:
    """A JSON value with every string in it (keys too) free of folders, and writable as UTF-8."""
    if isinstance(value, str):
        return without_folders(value).encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {scrubbed(key): scrubbed(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [scrubbed(item) for item in value]
    return value
