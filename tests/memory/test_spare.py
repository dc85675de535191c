"""What is to be had stays within every limit that a container sets, and is the machine's own where none does."""

from pathlib import Path

import psutil
import pytest

from engine.memory.spare import VERSION_1, VERSION_2, available_bytes, spare_in_groups

GIB = 1 << 30
NO_LIMIT_1 = 9223372036854771712  # what version 1 says where there is none


def group(folder: Path, names: tuple[str, ...], limit: object, used: int, files: int = 0) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / names[0]).write_text(f"{limit}\n")
    (folder / names[1]).write_text(f"{used}\n")
    (folder / "memory.stat").write_text(
        f"anon {used - files}\n{names[2]} {files // 4}\n{names[3]} {files - files // 4}\n"
    )


def spare(root: Path, membership: str) -> list[int]:
    (root / "membership").write_text(membership)
    return spare_in_groups(root / "membership", root)


def test_a_group_and_those_above_it_each_have_a_say(tmp_path: Path) -> None:
    group(tmp_path / "user", VERSION_2, 8 * GIB, 5 * GIB)
    group(tmp_path / "user" / "session", VERSION_2, 4 * GIB, 3 * GIB, files=2 * GIB)
    group(tmp_path / "user" / "session" / "own", VERSION_2, "max", 3 * GIB)
    assert spare(tmp_path, "0::/user/session/own\n") == [3 * GIB, 3 * GIB]


def test_a_container_sees_its_own_group_as_the_root(tmp_path: Path) -> None:
    group(tmp_path, VERSION_2, GIB, GIB // 4)
    assert spare(tmp_path, "0::/\n") == [3 * GIB // 4]


def test_version_1_and_a_name_from_outside_of_the_container(tmp_path: Path) -> None:
    group(tmp_path / "memory", VERSION_1, 2 * GIB, GIB, files=GIB // 2)
    membership = "5:cpu,cpuacct:/docker/f00\n4:memory:/docker/f00\n0::/docker/f00\n"
    assert spare(tmp_path, membership) == [3 * GIB // 2]
    group(tmp_path / "memory", VERSION_1, NO_LIMIT_1, GIB)
    assert min(spare(tmp_path, membership)) > 1 << 60


def test_a_group_past_its_limit_has_nothing_to_spare(tmp_path: Path) -> None:
    group(tmp_path, VERSION_2, GIB, GIB + 4096)
    assert spare(tmp_path, "0::/\n") == [0]


def test_without_groups_nothing_is_said(tmp_path: Path) -> None:
    assert spare_in_groups(tmp_path / "none", tmp_path) == []
    assert spare(tmp_path, "0::/\n") == []


def test_the_tightest_limit_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    group(tmp_path, VERSION_2, 4096, 0)
    (tmp_path / "membership").write_text("0::/\n")
    monkeypatch.setattr("engine.memory.spare.MEMBERSHIP", tmp_path / "membership")
    monkeypatch.setattr("engine.memory.spare.GROUPS", tmp_path)
    assert available_bytes() == 4096
    monkeypatch.setattr("engine.memory.spare.MEMBERSHIP", tmp_path / "none")
    assert 0 < available_bytes() <= psutil.virtual_memory().total
