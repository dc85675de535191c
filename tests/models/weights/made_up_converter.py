"""A converter that does what its source file orders: what can befall a real one."""

import errno
import os
from pathlib import Path

from engine.errors import BadWeights


def convert(source: Path, destination: Path) -> None:
    order = (source / "order.txt").read_text()
    (destination / "half-written").write_bytes(b"half")
    match order:
        case "refuse":
            raise BadWeights("order.txt holds another network", "ours")
        case "stumble":
            raise RuntimeError("a bug,\nover two lines")
        case "fill the disk":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(destination / "model.safetensors"))
        case "fill the disk, in Rust":
            raise RuntimeError("Error while serializing: IoError(Os { code: 28, kind: StorageFull }) (os error 28)")
        case "die":
            os._exit(3)
        case "write nothing":
            (destination / "half-written").unlink()
        case _:
            raise AssertionError(order)
