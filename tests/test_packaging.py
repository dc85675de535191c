"""What the set-up says and does agrees with what the program declares."""

import math
import re
import subprocess
from pathlib import Path

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
