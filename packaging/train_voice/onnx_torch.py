"""Run an ONNX graph with torch, in float, on any device: so the teacher speaks on the GPU.

Knows the operators of the teacher's graph and no others. Quantised weights become floats when the graph is loaded,
and what quantises activations is left out: the result is that of the float model with the quantised weights. Shapes
and other integers stay on the CPU, so that reading a length waits for nothing.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

Attributes = dict[str, Any]
Operator = Callable[..., Tensor | tuple[Tensor, ...]]
DTYPES = {1: torch.float32, 6: torch.int32, 7: torch.int64, 9: torch.bool}


def _ints(t: Tensor) -> list[int]:
    return t.reshape(-1).tolist()


def _gather(a: Attributes, x: Tensor, at: Tensor) -> Tensor:
    axis = a.get("axis", 0)
    if at.ndim == 0:
        return x.select(axis, int(at)) if not at.is_cuda else x.index_select(axis, at.view(1)).squeeze(axis)
    flat = x.index_select(axis, torch.where(at < 0, at + x.shape[axis], at).reshape(-1))
    return flat.unflatten(axis, at.shape)


def _reshape(a: Attributes, x: Tensor, shape: Tensor) -> Tensor:
    return x.reshape([x.shape[i] if n == 0 else n for i, n in enumerate(_ints(shape))])


def _slice(a: Attributes, x: Tensor, starts: Tensor, ends: Tensor, *more: Tensor) -> Tensor:
    axes = _ints(more[0]) if more else range(starts.numel())
    steps = _ints(more[1]) if len(more) > 1 else [1] * starts.numel()
    for begin, end, axis, step in zip(_ints(starts), _ints(ends), axes, steps, strict=True):
        size = x.shape[axis]
        if step < 0:
            raise NotImplementedError("a slice that walks backwards")
        begin, end = (min(max(v + size if v < 0 else v, 0), size) for v in (begin, end))
        x = x[(slice(None),) * (axis % x.ndim) + (slice(begin, end, step),)]
    return x


def _squeeze(a: Attributes, x: Tensor, axes: Tensor) -> Tensor:
    for axis in sorted((i % x.ndim for i in _ints(axes)), reverse=True):
        x = x.squeeze(axis)
    return x


def _unsqueeze(a: Attributes, x: Tensor, axes: Tensor) -> Tensor:
    for axis in sorted(i % (x.ndim + axes.numel()) for i in _ints(axes)):
        x = x.unsqueeze(axis)
    return x


def _alike(pads: list[int]) -> int:
    """One number for both ends."""
    if pads[0] != pads[1]:
        raise NotImplementedError(f"pads {pads}")
    return pads[0]


def _conv(a: Attributes, x: Tensor, w: Tensor, bias: Tensor | None = None) -> Tensor:
    """One product with the columns: no search for a kernel at each new length, which takes longer than all else."""
    if a["group"] != 1 or len(x) != 1:
        raise NotImplementedError("convolution in groups, or of a batch")
    (kernel,), (stride,), (dilation,), pad = a["kernel_shape"], a["strides"], a["dilations"], _alike(a["pads"])
    rows = F.pad(x[0], (pad, pad)) if pad else x[0].contiguous()
    length = (rows.shape[1] - dilation * (kernel - 1) - 1) // stride + 1
    columns = rows.as_strided((len(rows), kernel, length), (rows.stride(0), dilation, stride)).reshape(-1, length)
    y = w.reshape(len(w), -1) @ columns
    return (y if bias is None else y + bias[:, None])[None]


def _conv_transpose(a: Attributes, x: Tensor, w: Tensor, bias: Tensor | None = None) -> Tensor:
    (kernel,), (stride,), pad = a["kernel_shape"], a["strides"], _alike(a["pads"])
    extra, length = a.get("output_padding", [0])[0], x.shape[-1]
    if a["group"] == 1:
        columns = w.reshape(len(w), -1).T @ x[0]  # [outputs * kernel, length]
        full = (length - 1) * stride + kernel
        y = F.fold(columns[None], (1, full), (1, kernel), stride=(1, stride))[:, :, 0]
        y = F.pad(y, (-pad, extra - pad))
    elif a["group"] == x.shape[1] and w.shape[1] == 1:  # each channel on its own: zeros between, then a correlation
        spread = F.pad(x[..., None], (0, stride - 1)).flatten(-2)[..., : (length - 1) * stride + 1]
        spread = F.pad(spread, (kernel - 1 - pad, kernel - 1 - pad + extra))
        y = sum(
            spread[..., k : spread.shape[-1] - kernel + 1 + k] * w[None, :, 0, kernel - 1 - k, None]
            for k in range(kernel)
        )
    else:
        raise NotImplementedError(f"{a['group']} groups")
    return y if bias is None else y + bias[None, :, None]


def _pad(a: Attributes, x: Tensor, pads: Tensor) -> Tensor:
    ends, n = _ints(pads), x.ndim
    if any(ends[i] or ends[n + i] for i in range(n - 1)):
        raise NotImplementedError(f"pads {ends}")
    return F.pad(x, (ends[n - 1], ends[2 * n - 1]), a["mode"].decode())


def _resize(a: Attributes, x: Tensor, _: None, scales: Tensor) -> Tensor:
    mode, size = a["mode"].decode(), int(x.shape[-1] * float(scales[-1]) + 1e-3)  # 300 / 300 may be 0.9999
    if mode == "nearest":
        return F.interpolate(x, size=size, mode="nearest")
    return F.interpolate(x, size=size, mode="linear", align_corners=False)


def _stft(a: Attributes, x: Tensor, step: Tensor, window: Tensor, length: Tensor) -> Tensor:
    """A few points only, so sums of products; exact in what must be zero."""
    points = int(length)
    frames = x.reshape(len(x), -1).unfold(-1, points, int(step)) * window
    turns = torch.arange(points)[:, None] * torch.arange(points // 2 + 1)[None, :] % points
    angle = 2 * torch.pi * turns.double() / points
    cos, sin = angle.cos().float().to(x.device), angle.sin().masked_fill(turns % (points // 2) == 0, 0).float()
    real = (frames[..., None] * cos).sum(-2)
    imaginary = -(frames[..., None] * sin.to(x.device)).sum(-2)
    # Zero beside a negative number is a half turn forwards; the graph's own arctangent needs a sign to see that.
    imaginary = torch.where((imaginary == 0) & (real < 0), 1e-30, imaginary)
    return torch.stack([real, imaginary], dim=-1)


def _fused_matmul(a: Attributes, x: Tensor, y: Tensor) -> Tensor:
    x = x.transpose(-1, -2) if a["transA"] else x
    return a["alpha"] * (x @ (y.transpose(-1, -2) if a["transB"] else y))


def _scatter(a: Attributes, x: Tensor, at: Tensor, values: Tensor) -> Tensor:
    return x.index_put(tuple(at.unbind(-1)), values)


def _rounded(a: Attributes, x: Tensor) -> Tensor:
    """Activations to 8 bits and back, as DynamicQuantizeLinear followed by its inverse; no number becomes the least."""
    finite = x.nan_to_num(0.0)
    low, high = finite.min().clamp(max=0), finite.max().clamp(min=0)
    scale = ((high - low) / 255).clamp(min=1e-30)
    zero = (-low / scale).round()
    return ((x / scale).round() + zero).nan_to_num(0.0).clamp(0, 255).sub(zero) * scale


def _range(a: Attributes, begin: Tensor, end: Tensor, step: Tensor) -> Tensor:
    return torch.arange(begin.item(), end.item(), step.item(), dtype=begin.dtype)


class _LSTM:
    """Bidirectional, one layer; weights are put in torch's order at the first call."""

    def __init__(self, device: torch.device):
        self.device, self.flat = device, None

    def __call__(self, a: Attributes, x: Tensor, w: Tensor, r: Tensor, b: Tensor, *more: Tensor | None) -> Tensor:
        if self.flat is None:
            self.flat = self._module(w, r, b, more, a["hidden_size"])
        y, (h, c) = self.flat(x)  # the graph's initial states are zeros
        return y.unflatten(-1, (2, -1)).transpose(1, 2), h, c

    def _module(self, w: Tensor, r: Tensor, b: Tensor, more: tuple[Tensor | None, ...], hidden: int) -> torch.nn.LSTM:
        w_scale, w_zero, r_scale, r_zero = more[-4:]

        def order(t: Tensor) -> Tensor:  # gates i, o, f, c to i, f, c, o
            i, o, f, c = t.chunk(4)
            return torch.cat([i, f, c, o]).to(self.device)

        def floats(t: Tensor, scale: Tensor, zero: Tensor, way: int) -> Tensor:
            scale, zero = (s.reshape(2, -1)[way].float() if s.numel() > 1 else s.float() for s in (scale, zero))
            return ((t[way].float() - zero) * scale).T

        module = torch.nn.LSTM(w.shape[1], hidden, bidirectional=True).to(self.device).requires_grad_(False)
        for way, suffix in ((0, ""), (1, "_reverse")):
            getattr(module, f"weight_ih_l0{suffix}").copy_(order(floats(w, w_scale, w_zero, way)))
            getattr(module, f"weight_hh_l0{suffix}").copy_(order(floats(r, r_scale, r_zero, way)))
            getattr(module, f"bias_ih_l0{suffix}").copy_(order(b[way, : 4 * hidden]))
            getattr(module, f"bias_hh_l0{suffix}").copy_(order(b[way, 4 * hidden :]))
        module.flatten_parameters()
        return module


OPERATORS: dict[str, Operator] = {
    "Add": lambda a, x, y: x + y,
    "And": lambda a, x, y: x & y,
    "Atan": lambda a, x: x.atan().nan_to_num(0.0),  # of 0 / 0: silence has no phase
    "Cast": lambda a, x: x.to(DTYPES[a["to"]]),
    "Clip": lambda a, x, low=None, high=None: x.clamp(None if low is None else float(low), high),
    "Concat": lambda a, *x: torch.cat(x, dim=a["axis"]),
    "ConstantOfShape": lambda a, shape: torch.full(_ints(shape), a["value"].item()),
    "Conv": _conv,
    "ConvInteger": lambda a, x, w, x_zero, w_zero: _conv(a, x, w.float() - w_zero.float()),
    "ConvTranspose": _conv_transpose,
    "Cos": lambda a, x: x.cos(),
    "CumSum": lambda a, x, axis: x.cumsum(int(axis)),
    "DequantizeLinear": lambda a, x, scale, zero: (x.float() - zero.float()) * scale,
    "Div": lambda a, x, y: x / y if x.is_floating_point() else x // y,
    "Equal": lambda a, x, y: x == y,
    "Exp": lambda a, x: x.exp(),
    "Expand": lambda a, x, shape: x.expand(torch.broadcast_shapes(x.shape, _ints(shape))),
    "FastGelu": lambda a, x, bias: F.gelu(x + bias, approximate="tanh"),
    "Floor": lambda a, x: x.floor(),
    "FusedMatMul": _fused_matmul,
    "Gather": _gather,
    "Greater": lambda a, x, y: x > y,
    "GreaterOrEqual": lambda a, x, y: x >= y,
    "LayerNormalization": lambda a, x, w, b: F.layer_norm(x, x.shape[-1:], w, b, a["epsilon"]),
    "LeakyRelu": lambda a, x: F.leaky_relu(x, a["alpha"]),
    "Less": lambda a, x, y: x < y,
    "MatMul": lambda a, x, y: x @ y,
    "MatMulInteger": lambda a, x, w, x_zero, w_zero: x @ (w.float() - w_zero.float()),
    "Mul": lambda a, x, y: x * y,
    "NonZero": lambda a, x: x.nonzero().T,
    "Pad": _pad,
    "Pow": lambda a, x, y: x * x if float(y) == 2 else x.pow(float(y)),
    "Range": _range,
    "ReduceMean": lambda a, x, axes: x.mean(_ints(axes), keepdim=bool(a["keepdims"])),
    "ReduceSum": lambda a, x, axes: x.sum(_ints(axes), keepdim=bool(a["keepdims"])),
    "Reshape": _reshape,
    "Resize": _resize,
    "Round": lambda a, x: x.round(),
    "STFT": _stft,
    "ScatterND": _scatter,
    "Shape": lambda a, x: torch.tensor(x.shape[a.get("start", 0) : a.get("end")]),
    "Sigmoid": lambda a, x: x.sigmoid(),
    "Sin": lambda a, x: x.sin(),
    "SkipLayerNormalization": lambda a, x, y, w, b: F.layer_norm(x + y, x.shape[-1:], w, b, a["epsilon"]),
    "Slice": _slice,
    "Softmax": lambda a, x: x.softmax(a["axis"]),
    "Split": lambda a, x, sizes: x.split(_ints(sizes), a["axis"]),
    "Sqrt": lambda a, x: x.sqrt(),
    "Squeeze": _squeeze,
    "Sub": lambda a, x, y: x - y,
    "Tanh": lambda a, x: x.tanh(),
    "Transpose": lambda a, x: x.permute(a["perm"]),
    "Unsqueeze": _unsqueeze,
    "Where": lambda a, c, x, y: torch.where(c, x, y),
}
READS_ON_CPU = {  # inputs whose values torch wants as numbers: lengths, axes, shapes
    "ConstantOfShape": {0}, "CumSum": {1}, "Expand": {1}, "Pad": {1}, "Range": {0, 1, 2}, "ReduceMean": {1},
    "ReduceSum": {1}, "Reshape": {1}, "Resize": {2}, "STFT": {1, 3}, "Slice": {1, 2, 3, 4}, "Split": {1},
    "Squeeze": {1}, "Unsqueeze": {1}, "Clip": {1, 2}, "Pow": {1},
}  # fmt: skip


class Graph:
    """A loaded graph; call it with its inputs by name, get its outputs in order (on the device)."""

    def __init__(
        self,
        path: Path,
        device: torch.device,
        outputs: list[str],
        changed: dict[str, Callable[[Tensor], Tensor]] | None = None,
        rounded: bool = False,
    ):
        """Load with `outputs` named among all values of the graph.

        `changed` holds functions that some values go through before they are used; `rounded` keeps activations to
        8 bits, as the file was made for.

        Raises NotImplementedError for an operator that is not known here.
        """
        import onnx
        from onnx import numpy_helper

        graph = onnx.load(str(path)).graph
        self.device, self.changed = device, changed or {}
        self.values: dict[str, Tensor] = {
            t.name: torch.from_numpy(np.array(numpy_helper.to_array(t))) for t in graph.initializer
        }
        renamed: dict[str, str] = {}
        consumers: dict[str, list[Any]] = {}
        for node in graph.node:
            for name in node.input:
                consumers.setdefault(name, []).append(node)
        self.steps: list[tuple[str, Operator, Attributes, list[str], list[str]]] = []
        for node in graph.node:
            inputs = [renamed.get(name, name) for name in node.input]
            kind = node.op_type
            read = {x.name: onnx.helper.get_attribute_value(x) for x in node.attribute}
            if kind == "DynamicQuantizeLinear":  # activations stay floats: scale one, zero point zero
                self.values[node.output[1]], self.values[node.output[2]] = torch.ones(()), torch.zeros(())
                if rounded:
                    self.steps.append(("Rounded", _rounded, {}, inputs, [node.output[0]]))
                else:
                    renamed[node.output[0]] = inputs[0]
                continue
            rounds = kind == "Floor" and all(
                c.op_type == "Cast" and c.attribute[0].name == "to" and c.attribute[0].i == 6
                for c in consumers[node.output[0]]
            )
            if rounds or (kind == "Cast" and read["to"] == 6):  # of a bias, to the quantised sum's units
                renamed[node.output[0]] = inputs[0]
                continue
            if "value" in read:
                read["value"] = numpy_helper.to_array(read["value"])
            operator = _LSTM(device) if kind == "DynamicQuantizeLSTM" else OPERATORS.get(kind)
            if operator is None:
                raise NotImplementedError(f"{kind}, for {node.output[0]}")
            if all(not name or name in self.values for name in inputs):
                self._run(operator, read, inputs, list(node.output), self.values)
            else:
                self.steps.append((kind, operator, read, inputs, list(node.output)))
        self.outputs = [renamed.get(name, name) for name in outputs]
        self._fuse_weights()
        self._place()

    @staticmethod
    def _run(
        operator: Operator, read: Attributes, inputs: list[str], outputs: list[str], values: dict[str, Tensor]
    ) -> None:
        made = operator(read, *[values[name] if name else None for name in inputs])
        results = made if isinstance(made, tuple) else (made,)
        values.update({name: value for name, value in zip(outputs, results, strict=False) if name})

    def _fuse_weights(self) -> None:
        """Quantised products get their float weights once."""
        for i, (kind, _, read, inputs, outputs) in enumerate(self.steps):
            if kind in ("ConvInteger", "MatMulInteger"):
                weight, zero = (self.values[inputs[k]] for k in (1, 3))
                name = f"{outputs[0]}:weight"
                self.values[name] = weight.float() - zero.float()
                plain = "Conv" if kind == "ConvInteger" else "MatMul"
                self.steps[i] = (plain, OPERATORS[plain], read, [inputs[0], name], outputs)

    def _place(self) -> None:
        """Constants go to the device where a step meets them there; say after which step each value is done with."""
        used = {name for step in self.steps for name in step[3]}
        self.values = {name: value for name, value in self.values.items() if name in used}
        self.on_device: dict[str, Tensor] = {}
        last = {name: i for i, step in enumerate(self.steps) for name in step[3]}
        self.done: list[list[str]] = [[] for _ in self.steps]
        for name, i in last.items():
            if name and name not in self.values and name not in self.outputs:
                self.done[i].append(name)

    @torch.inference_mode()
    def __call__(self, **inputs: Tensor) -> list[Tensor]:
        values = dict(inputs)
        fixed, moved, device = self.values, self.on_device, self.device
        for (kind, operator, read, names, outputs), done in zip(self.steps, self.done, strict=True):
            given = [values[n] if n in values else fixed[n] if n else None for n in names]
            if device.type != "cpu" and kind not in ("Shape", "DynamicQuantizeLSTM"):
                kept = READS_ON_CPU.get(kind, ())
                if any(x is not None and x.is_cuda for k, x in enumerate(given) if k not in kept):
                    for k, (n, x) in enumerate(zip(names, given, strict=True)):
                        if k not in kept and x is not None and not x.is_cuda and not (kind == "Gather" and x.ndim == 0):
                            if n in fixed:
                                given[k] = moved.get(n)
                                if given[k] is None:
                                    given[k] = moved[n] = x.to(device)
                            else:
                                given[k] = x.to(device, non_blocking=True)
            made = operator(read, *given)
            for name, value in zip(outputs, made if isinstance(made, tuple) else (made,), strict=False):
                if name:
                    values[name] = self.changed[name](value) if name in self.changed else value
            for name in done:
                values.pop(name, None)
        return [values[name] for name in self.outputs]
