"""How much memory this process can still have: what the machine has to spare, and what its container may take of it.

A container is a Linux control group (version 2, or 1), seen from inside or from outside of it; elsewhere there are
none. Knows nothing of what the memory is for. Any thread.
"""

from collections.abc import Iterator
from pathlib import Path

import psutil

MEMBERSHIP = Path("/proc/self/cgroup")
GROUPS = Path("/sys/fs/cgroup")
VERSION_1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_active_file", "total_inactive_file")
VERSION_2 = ("memory.max", "memory.current", "active_file", "inactive_file")


def available_bytes() -> int:
    """Memory that can be had without swapping, and without passing the limit of any group that the process is in."""
    return min([int(psutil.virtual_memory().available), *spare_in_groups(MEMBERSHIP, GROUPS)])


def spare_in_groups(membership: Path, groups: Path) -> list[int]:
    """For each group with a limit that the process is in, what it may still take.

    Args:
        membership: Says which groups those are, as /proc/self/cgroup does.
        groups: Where groups are folders.
    """
    try:
        lines = membership.read_text().splitlines()
    except OSError:  # not Linux
        return []
    spare: list[int] = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers in ("", "memory"):
            root, names = (groups / "memory", VERSION_1) if controllers else (groups, VERSION_2)
            own = root / path.lstrip("/")
            within = [group for group in (own, *own.parents) if group.is_relative_to(root)]
            spare += [count for group in within for count in _spare(group, names)]
    return spare


def _spare(group: Path, names: tuple[str, str, str, str]) -> Iterator[int]:
    """What a group with a limit may still take; its files in memory count as used, and give way."""
    limit, usage, *files = names
    try:
        if (most := (group / limit).read_text().strip()) == "max":
            return
        used = int((group / usage).read_text())
        held = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
    except OSError:  # a name from outside of the container, or a group without memory's controller
        return
    yield max(0, int(most) - used + sum(int(held[name]) for name in files))
