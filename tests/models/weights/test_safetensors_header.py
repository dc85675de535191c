"""Headers of any bytes: read, or refused in a line; never believed."""

import json

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file

from engine.errors import BadWeights
from engine.models.weights.safetensors_header import Stored, read_header


def write(path, header: object, data: int = 0) -> None:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(data))


def entry(**values: object) -> dict[str, object]:
    return {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24], **values}


def test_what_the_library_writes_is_read(tmp_path):
    save_file({"a": torch.zeros(2, 3), "b": torch.zeros(5, dtype=torch.bfloat16)}, tmp_path / "x", {"format": "pt"})

    found = read_header(tmp_path / "x")

    assert {name: (each.dtype, each.shape, each.bytes) for name, each in found.items()} == {
        "a": ("F32", (2, 3), 24),
        "b": ("BF16", (5,), 10),
    }


def test_where_a_tensor_begins_is_told(tmp_path):
    write(tmp_path / "x", {"a": entry(), "b": entry(data_offsets=[24, 48])}, 48)
    size = (tmp_path / "x").stat().st_size
    assert read_header(tmp_path / "x") == {"a": Stored("F32", (2, 3), size - 48), "b": Stored("F32", (2, 3), size - 24)}


@pytest.mark.parametrize(
    ("header", "data", "said"),
    [
        ({"a": entry()}, 23, "ends after"),
        ({"a": entry()}, 25, "holds .* needed: "),
        ({"a": entry(dtype="I2")}, 24, "holds a as I2, which is unknown"),
        ({"a": entry(shape=[2, -3])}, 24, "a shape or place that is none"),
        ({"a": entry(shape=[True, 6])}, 24, "a shape or place that is none"),
        ({"a": entry(shape=6)}, 24, "a shape or place that is none"),
        ({"a": entry(shape=[2, 4])}, 24, "gives a 24 bytes for 32"),
        ({"a": entry(data_offsets=[0])}, 24, "does not tell"),
        ({"a": 1}, 24, "does not tell"),
        ([1], 0, "a header that is no table"),
        (b'{"a": 1, "a": 2}', 0, "names a tensor twice"),
        (b'{"a"', 0, "cannot be read"),
        (b"\xff\xfe", 0, "cannot be read"),
        (b"[" * 100_000, 0, "cannot be read"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(tmp_path, header, data, said):
    write(tmp_path / "x", header, data)
    with pytest.raises(BadWeights, match=said) as raised:
        read_header(tmp_path / "x")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("content", [b"", b"123", b"\xff" * 8, (1 << 40).to_bytes(8, "little") + b"{}"])
def test_a_length_is_not_believed(tmp_path, content):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(BadWeights, match="tells of a header of"):
        read_header(tmp_path / "x")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200))
def test_no_bytes_lead_to_anything_else(tmp_path, content):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(BadWeights):
        read_header(tmp_path / "x")
