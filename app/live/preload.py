"""Maps torch's shared libraries without holding up other threads. Entered by [engine].

Python holds its lock while an import maps a library: 170 to 300 ms for torch's, in which a window stands still. Mapped
first by a call that gives the lock up, they are found in place by the import, whose longest stretch is then 85 ms
(two cores, 2026-12-01).
"""

import ctypes
import importlib.util
import os
import sys
from pathlib import Path

# In the order in which they need each other.
PACKAGES = {"torch": ("lib/libgomp*.so*", "lib/libc10.so", "lib/libtorch_cpu.so", "lib/libtorch_python.so")}


def preload() -> int:
    """Map what is there, on systems where a library's name says which file it is; returns how many were mapped."""
    if sys.platform != "linux":
        return 0
    system = ctypes.CDLL(None)  # a call through it gives up Python's lock, which loading by `CDLL` does not
    mapped = 0
    for package, patterns in PACKAGES.items():
        found = importlib.util.find_spec(package)
        if found is None or found.origin is None:
            continue
        for pattern in patterns:
            for library in sorted(Path(found.origin).parent.glob(pattern)):
                mapped += system.dlopen(os.fsencode(library), os.RTLD_LAZY | os.RTLD_GLOBAL) != 0
    return mapped
