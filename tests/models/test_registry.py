import subprocess
import sys

import pytest

from engine.errors import AskedWrongly
from engine.models.registry import ENTRIES, ModelEntry, find

PLANNED = [pytest.param(entry, id=entry.name) for entry in ENTRIES]
PLAN_ONLY = [entry for entry in ENTRIES if not entry.runs]


def test_models_are_found_by_name_in_any_case() -> None:
    for entry in ENTRIES:
        assert find(entry.name) is find(entry.name.upper()) is entry


def test_an_unknown_model_is_refused_with_a_guess() -> None:
    with pytest.raises(AskedWrongly, match=r"one of pocket, .*did you mean moshi\?"):
        find("mosh")


@pytest.mark.slow
@pytest.mark.parametrize("entry", PLANNED)
def test_every_model_can_be_planned_without_torch(entry: ModelEntry) -> None:
    code = (
        "import sys; from engine.models.registry import find; "
        f"made = find({entry.name!r}).load_plan(); assert 'torch' not in sys.modules; print(made.max_bytes)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0


@pytest.mark.parametrize("entry", PLAN_ONLY, ids=lambda entry: entry.name)
def test_what_has_a_plan_only_is_not_built(entry: ModelEntry) -> None:
    with pytest.raises(AskedWrongly, match=f"cannot run {entry.name}, only plan it; needed: one of pocket; see"):
        entry.build("cadence")


def test_pocket_runs() -> None:
    assert find("pocket").runs
