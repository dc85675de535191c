"""Clocked graphs on a device: every token equal to eager, to the bit, across regimes; what cannot be is refused."""

import contextlib

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from engine.arena import DeviceArena
from engine.clock import Rate
from engine.clocked import NotClocked
from engine.cuda_clocked import ClockedStep
from engine.cuda_vmm import CudaDriver
from engine.models.layers.decoder_stack import StackSizes
from engine.models.layers.token_stack import TokenStack
from engine.plan import plan
from engine.stage import StateSpec, T, Ticking, Timeline

pytestmark = pytest.mark.gpu

DEVICE = torch.device("cuda")
SIZES = StackSizes(width=1024, inner=3072, layers=3, heads=8, kv_heads=2, dim=128, eps=1e-6, rope_theta=1e6)
TICKS = 700


def weights():
    generator = torch.Generator(DEVICE).manual_seed(1)

    def made(*shape):
        return torch.randn(shape, generator=generator, device=DEVICE, dtype=torch.bfloat16) * shape[-1] ** -0.5

    found = {"norm.weight": made(SIZES.width) + 1}
    for index in range(SIZES.layers):
        for name, shape in {
            "input_layernorm": (SIZES.width,),
            "post_attention_layernorm": (SIZES.width,),
            "self_attn.q_norm": (SIZES.dim,),
            "self_attn.k_norm": (SIZES.dim,),
            "self_attn.q_proj": (SIZES.heads * SIZES.dim, SIZES.width),
            "self_attn.k_proj": (SIZES.kv_heads * SIZES.dim, SIZES.width),
            "self_attn.v_proj": (SIZES.kv_heads * SIZES.dim, SIZES.width),
            "self_attn.o_proj": (SIZES.width, SIZES.heads * SIZES.dim),
            "mlp.gate_proj": (SIZES.inner, SIZES.width),
            "mlp.up_proj": (SIZES.inner, SIZES.width),
            "mlp.down_proj": (SIZES.width, SIZES.inner),
        }.items():
            found[f"layers.{index}.{name}.weight"] = made(*shape) + (len(shape) == 1)
    return found


class Decoder:
    """A stack in an arena, fed with its own hidden states, so that any slip shows in all that follows."""

    def __init__(self):
        states = (StateSpec("keys_values", (T, *SIZES.tick_shape), "bfloat16", limit=TICKS),)
        planned = plan((Timeline("llm", Ticking(Rate(25)), "token", states=states),), session_s=TICKS / 25)
        self.arena = DeviceArena(planned, CudaDriver(DEVICE))
        self.keys_values = self.arena.view("llm.keys_values")
        self.stack = TokenStack(weights(), SIZES, self.keys_values)
        self.x = torch.randn(1, SIZES.width, device=DEVICE, dtype=torch.bfloat16)
        self.position = torch.zeros(1, dtype=torch.int64, device=DEVICE)
        self.query = torch.randn(SIZES.heads, 1, SIZES.dim, device=DEVICE, dtype=torch.bfloat16)
        self.start_x = self.x.clone()

    def begin(self, ticks):
        self.arena.commit_ticks("llm.keys_values", ticks)
        generator = torch.Generator(DEVICE).manual_seed(2)
        held = self.keys_values[:ticks]
        held.copy_(torch.randn(held.shape, generator=generator, device=DEVICE))
        self.position.fill_(ticks)
        self.x.copy_(self.start_x)

    def token(self, length):
        found = self.stack(self.x, self.position, length)
        self.x.copy_(found)
        self.position.add_(1)
        return found

    def probe(self, length):
        return self.stack.attend(0, self.query, length)

    @contextlib.contextmanager
    def set_aside(self):
        kept = self.x.clone(), self.position.clone()
        with self.arena.set_aside("llm"):
            yield
        self.x.copy_(kept[0]), self.position.copy_(kept[1])


@pytest.fixture
def decoder():
    with torch.no_grad(), sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        decoder = Decoder()
        yield decoder
        torch.cuda.synchronize()


def clocked(decoder, run):
    whole = decoder.keys_values
    first = whole.untyped_storage().data_ptr()
    arena = range(first, first + whole.untyped_storage().nbytes())
    return ClockedStep(run, decoder.probe, range(16, TICKS), arena, decoder.set_aside, torch.cuda.Stream(DEVICE))


def test_tokens_equal_eager_across_regimes(decoder):
    step = clocked(decoder, decoder.token)
    assert len(step.regimes) > 2
    for start, count in ((20, 150), (250, 20), (500, 40)):
        decoder.begin(start)
        expected = []
        for length in range(start + 1, start + count + 1):
            decoder.arena.commit_ticks("llm.keys_values", length)
            expected.append(decoder.token(length).clone())
        keys = decoder.keys_values[: start + count].clone()
        decoder.begin(start)
        for number, length in enumerate(range(start + 1, start + count + 1)):
            step.prepare(length)
            assert torch.equal(step.launch(length), expected[number]), length
        assert torch.equal(decoder.keys_values[: start + count], keys)


def test_launches_that_wait_keep_their_words(decoder):
    step = clocked(decoder, decoder.token)
    decoder.begin(300)
    decoder.arena.commit_ticks("llm.keys_values", 330)
    for length in range(301, 331):
        decoder.token(length)
    expected = decoder.x.clone()
    decoder.begin(300)
    for length in (301, 330):
        step.prepare(length)
    torch.cuda._sleep(100_000_000)
    for length in range(301, 331):
        step.launch(length)
    torch.cuda.synchronize()
    assert torch.equal(decoder.x, expected)


def test_what_follows_no_clock_is_refused(decoder):
    def odd(length):
        decoder.x.mul_(float(length * length))
        return decoder.token(length)

    with pytest.raises(NotClocked, match="follows no known clock"):
        clocked(decoder, odd).prepare(300)
