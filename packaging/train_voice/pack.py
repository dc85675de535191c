"""Checkpoints small enough to commit: matrices as integers of few bits with a scale for every 64 numbers, all else
in bf16.

A file says in its metadata which shapes it holds; `load` gives float32 under the models' own names.
"""

import json
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

GROUP = 64


def _pack(values: Tensor, bits: int) -> tuple[Tensor, Tensor]:
    """Float values to packed bytes and bf16 scales; levels are symmetric about zero."""
    flat = torch.nn.functional.pad(values.float().flatten(), (0, -values.numel() % GROUP)).view(-1, GROUP)
    top = 2 ** (bits - 1) - 1
    scale = (flat.abs().amax(1, keepdim=True) / top).clamp(min=1e-12).to(torch.bfloat16)
    levels = ((flat / scale.float()).round().clamp(-top, top) + top).to(torch.uint8).numpy()
    planes = np.unpackbits(levels.reshape(-1, 1), axis=1)[:, 8 - bits :]
    return torch.from_numpy(np.packbits(planes.reshape(-1))), scale.flatten()


def _unpack(data: Tensor, scale: Tensor, shape: list[int], bits: int) -> Tensor:
    count = len(scale) * GROUP
    planes = np.unpackbits(data.numpy())[: count * bits].reshape(count, bits)
    padded = np.concatenate([np.zeros((count, 8 - bits), np.uint8), planes], axis=1)
    levels = torch.from_numpy(np.packbits(padded, axis=1)[:, 0].astype(np.float32)) - (2 ** (bits - 1) - 1)
    values = (levels.view(-1, GROUP) * scale.float()[:, None]).flatten()
    return values[: int(np.prod(shape))].reshape(shape)


def save(state: dict[str, Tensor], path: Path, bits: int) -> None:
    """Write a packed checkpoint."""
    held: dict[str, Tensor] = {}
    shapes: dict[str, list[int]] = {}
    for name, value in state.items():
        if value.ndim > 1 and value.numel() >= 1024:
            held[name], held[f"{name}.scale"] = _pack(value, bits)
            shapes[name] = list(value.shape)
        else:
            held[name] = value.to(torch.bfloat16).contiguous()
    save_file(held, path, metadata={"bits": str(bits), "shapes": json.dumps(shapes)})


def load(path: Path) -> dict[str, Tensor]:
    """Read a checkpoint, packed or plain, as float32."""
    with safe_open(path, "pt") as file:
        about = file.metadata() or {}
        shapes = json.loads(about.get("shapes", "{}"))
        found = {}
        for name in file.keys():  # noqa: SIM118 - no mapping
            if name in shapes:
                found[name] = _unpack(
                    file.get_tensor(name), file.get_tensor(f"{name}.scale"), shapes[name], int(about["bits"])
                )
            elif name.removesuffix(".scale") not in shapes:
                found[name] = file.get_tensor(name).float()
        return found
