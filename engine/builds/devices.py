"""How much memory a device has to spare, for whoever asks whether a model will fit. Imports torch."""

import torch

from engine.errors import AskedWrongly
from engine.memory.spare import available_bytes


def device_named(name: str) -> torch.device:
    """The device of a name as commands take it.

    Args:
        name: "auto", a CUDA device where there is one; "cpu", "cuda", "cuda:1".

    Raises:
        AskedWrongly: There is no such device here.
    """
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "auto":
        return torch.device("cuda", 0) if count else torch.device("cpu")
    there = {"cpu", *(["cuda"] if count else []), *(f"cuda:{index}" for index in range(count))}
    if name not in there:
        raise AskedWrongly(f"there is no device {name!r} here", f"auto, or one of {', '.join(sorted(there))}")
    return torch.device(name)


def spare_on(name: str) -> tuple[int, str]:
    """Bytes to be had on a device now, and what to call it.

    Raises:
        AskedWrongly: There is no such device here.
    """
    device = device_named(name)
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return free, "this card"
    return available_bytes(), "this machine"
