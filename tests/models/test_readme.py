"""The page that walks through adding a model does so: its package is made as written, and keeps the laws."""

import re
import tomllib
from pathlib import Path

import pytest

from app.__main__ import main

PAGE = Path(__file__).parents[2] / "engine/models/README.md"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package, installed as pip would leave it."""
    text = PAGE.read_text(encoding="utf-8")
    pieces = text.split("```")
    files = {
        re.findall(r"`(pyproject\.toml|murmur/\w+\.py)`", before)[-1]: block.split("\n", 1)[1]
        for before, block in zip(pieces[::2], pieces[1::2], strict=False)
        if block.startswith(("toml\n", "python\n"))
    }
    assert set(files) == {"pyproject.toml", *(f"murmur/{name}.py" for name in ("entry", "timelines", "specimen"))}
    (tmp_path / "murmur").mkdir()
    (tmp_path / "murmur/__init__.py").touch()
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    project = tomllib.loads(files["pyproject.toml"])["project"]
    info = tmp_path / "cadence_murmur-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    points = [f"{name} = {value}" for name, value in project["entry-points"]["duplexcadence.models"].items()]
    (info / "entry_points.txt").write_text("\n".join(["[duplexcadence.models]", *points, ""]))
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_the_model_of_the_page_is_planned_listed_and_keeps_the_laws_as_it_says(
    package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", "murmur"]) == 0
    assert "last_frames" in capsys.readouterr().out
    assert main(["models", "list"]) == 0
    assert "answers with the mean of the last four frames" in capsys.readouterr().out
    assert main(["models", "verify", "murmur"]) == 0
    told = PAGE.read_text(encoding="utf-8").split("models verify murmur\n```\n\n```\n")[1].split("```")[0]
    assert capsys.readouterr().out == told
