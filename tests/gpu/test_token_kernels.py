"""What stands between a token's products: our kernels come to torch's bits at the sizes of released models."""

import pytest
import torch

from engine.models.layers.exact import token as exact
from engine.models.layers.token_stack import normed, turned

pytestmark = pytest.mark.gpu

SIZES = [(4096, 12288, 32, 8), (768, 3072, 12, 12), (1024, 3072, 8, 2), (3584, 18944, 28, 4)]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_bits_are_the_librarys(sizes):
    kernels = exact.fit(sizes, 1e-6, torch.bfloat16, torch.device("cuda"), normed, turned)
    assert kernels is not None


def test_another_type_keeps_to_the_library():
    assert exact.fit(SIZES[0], 1e-6, torch.float16, torch.device("cuda"), normed, turned) is None
