import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.models.layers.linear import (
    GROUP,
    Float32Linear,
    HalfLinear,
    Int4Linear,
    Precision,
    best_precision,
    linear,
)

SEEDS = st.integers(0, 10_000)
few = settings(deadline=None, max_examples=25)


def random(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@few
@given(SEEDS, st.integers(1, 5), st.integers(1, 4), st.integers(1, 9))
def test_four_bit_weights_lose_nothing_to_four_bits(seed: int, blocks: int, groups: int, count: int) -> None:
    rows, columns = 16 * blocks, GROUP * groups
    codes = torch.randint(0, 16, (rows, groups, GROUP), generator=torch.Generator().manual_seed(seed))
    codes[..., 0], codes[..., 1] = 0, 15  # a grid reaches from its lowest weight to its highest
    step = 2.0 ** -torch.randint(3, 9, (rows, groups, 1), generator=torch.Generator().manual_seed(seed + 1))
    weight = ((codes - 7) * step).flatten(1)
    x = random(seed, count, columns).bfloat16().float()
    exact = x.double() @ weight.double().T
    scale = x.double().abs() @ weight.double().abs().T
    assert (Int4Linear(weight)(x) - exact).abs().le(scale * 2**-8).all()  # what bfloat16 keeps of the result


@few
@given(SEEDS, st.booleans())
def test_other_weights_lose_half_a_step(seed: int, with_bias: bool) -> None:
    weight, bias, x = random(seed, 32, 96), random(seed + 1, 32) if with_bias else None, random(seed + 2, 3, 96)
    groups = weight.unflatten(1, (-1, GROUP))
    step = (groups.amax(2) - groups.amin(2)) / 15
    exact = torch.nn.functional.linear(x, weight, bias)
    most = (
        x.abs().unflatten(1, (-1, GROUP)).sum(2) @ (0.55 * step + 0.02 * groups.abs().amax(2)).T
    ) + 0.01 * exact.abs()
    assert (Int4Linear(weight, bias)(x) - exact).abs().le(most).all()


@few
@given(SEEDS, st.integers(2, 40))
def test_a_row_does_not_depend_on_the_rows_beside_it(seed: int, count: int) -> None:
    layer, x = Int4Linear(random(seed, 48, 64), random(seed + 1, 48)), random(seed + 2, count, 64)
    assert torch.equal(layer(x), torch.cat([layer(x[at : at + 1]) for at in range(count)]))
    assert torch.equal(layer(x.view(1, count, 64))[0], layer(x))


@few
@given(SEEDS, st.integers(1, 24))
def test_fused_equals_apart(seed: int, count: int) -> None:
    weights, x = [random(seed + at, 16 * rows, 96) for at, rows in enumerate((5, 1, 3))], random(seed, count, 96)
    fused = Int4Linear(torch.cat(weights))(x)
    assert torch.equal(fused, torch.cat([Int4Linear(weight)(x) for weight in weights], 1))


def test_weights_that_are_all_alike_stay_so() -> None:
    weight = torch.cat((torch.zeros(16, 64), torch.full((16, 64), 0.5), torch.full((16, 64), -3.0)))
    product = Int4Linear(weight)(torch.ones(1, 64))
    assert torch.equal(product, torch.cat((torch.zeros(16), torch.full((16,), 32.0), torch.full((16,), -192.0)))[None])


@pytest.mark.parametrize(("rows", "columns"), [(24, 64), (32, 48)])
def test_what_does_not_fit_four_bit_blocks_is_float32(rows: int, columns: int) -> None:
    weight, x = random(0, rows, columns), random(1, 4, columns)
    assert torch.equal(linear(weight, None, Precision.INT4)(x), x @ weight.T)


def test_precision_is_what_was_asked_for() -> None:
    weight = random(0, 32, 64).half()
    assert isinstance(linear(weight, None, Precision.INT4), Int4Linear)
    assert isinstance(linear(weight, None, Precision.FLOAT32), Float32Linear)


@pytest.mark.parametrize(
    ("platform", "capability", "precision"),
    [
        ("linux", "AVX2", "INT4"),
        ("darwin", "AVX2", "INT4"),
        ("linux", "AVX512", "INT4"),
        ("win32", "AVX2", "FLOAT32"),
        ("win32", "AVX512", "FLOAT32"),
        ("linux", "NO AVX", "FLOAT32"),
        ("linux", "DEFAULT", "FLOAT32"),
        ("linux", "SVE256", "FLOAT32"),
    ],
)
def test_four_bits_need_vector_kernels(
    monkeypatch: pytest.MonkeyPatch, platform: str, capability: str, precision: str
) -> None:
    monkeypatch.setattr("engine.models.layers.linear.sys.platform", platform)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    assert best_precision() is Precision[precision]


def test_a_product_is_rounded_before_its_bias_is_added() -> None:
    weight, bias, x = random(0, 32, 64), random(1, 32), random(2, 3, 64)
    product = Int4Linear(weight)(x)
    assert torch.equal(product, product.bfloat16().float())
    assert torch.equal(Int4Linear(weight, bias)(x), product + bias)


def test_a_vocabulary_is_the_embedding_itself() -> None:
    embedding, x = random(0, 50, 64).half(), random(1, 1, 64)
    layer = HalfLinear(embedding)
    torch.testing.assert_close(layer(x), x @ embedding.float().T, rtol=5e-3, atol=5e-2)
    embedding.zero_()
    assert not layer(x).any()
