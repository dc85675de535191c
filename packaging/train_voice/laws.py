"""The laws that the engine will rely on, checked on the layers: a stream of chunks gives what the whole gives."""

import torch
from decoder import Decoder
from flow import CHUNK_TOKENS, Flow
from layers import State
from mel import BINS, HOP
from torch import Tensor
from vocoder import Vocoder

TOLERANCE = 2e-5  # float32, sums in another order


def _worst(whole: Tensor, streamed: Tensor) -> float:
    assert whole.shape == streamed.shape, (whole.shape, streamed.shape)
    return float((whole - streamed).abs().max())


@torch.no_grad()
def check(levels: list[int], seed: int) -> dict[str, float]:
    """Worst difference between streamed and whole for each stage, over lengths that end anywhere in a chunk."""
    torch.manual_seed(seed)
    found = {"decoder": 0.0, "flow": 0.0, "vocoder": 0.0}
    decoder, flow, vocoder = Decoder(levels).eval(), Flow(levels).eval(), Vocoder().eval()
    for length in (1, CHUNK_TOKENS, CHUNK_TOKENS + 2, 3 * CHUNK_TOKENS + 24, 4 * CHUNK_TOKENS):
        tokens = torch.randint(flow.encoder.token.count, (1, length))
        noise = torch.randn(1, 2 * length, BINS)
        mel = flow.whole(tokens, noise, 3, 0.7)
        found["flow"] = max(found["flow"], _worst(mel, flow.stream(tokens, noise, 3, 0.7)))
        hiss = torch.randn(1, 2 * length * HOP, 9)
        found["vocoder"] = max(found["vocoder"], _worst(vocoder.whole(mel, hiss), vocoder.stream(mel, hiss)))
        told, state = torch.randn(1, length, 256), State()
        parts = [decoder.decode(tokens[:, i : i + 1], told[:, i : i + 1], i, state) for i in range(length)]
        found["decoder"] = max(found["decoder"], _worst(decoder.decode(tokens, told), torch.cat(parts, dim=1)))
    return found
