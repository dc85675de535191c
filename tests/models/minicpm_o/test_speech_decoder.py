"""The speech-token decoder equals transformers' Llama under the released control flow, over units, turns and ends."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.parametrizations import weight_norm
from transformers import DynamicCache, LlamaConfig, LlamaModel

from engine.errors import BadWeights
from engine.models.minicpm_o.checkpoint import SPEECH_UNUSED, checked
from engine.models.minicpm_o.made_up import TINY_SPEECH, make_up
from engine.models.minicpm_o.sampling import SpeechRules, draw
from engine.models.minicpm_o.sizes import SpeechSizes, speech_shapes
from engine.models.minicpm_o.speech_decoder import CONDITION, DRAWS, STAGE, SpeechDecoder
from engine.models.pocket.language import cache_argument

pytestmark = pytest.mark.usefixtures("one_thread")
SIZES, TICKS = TINY_SPEECH, 160


class Released:
    """The released control flow over transformers' Llama, its attention eager, its cache dynamic.

    Args:
        weights: By released names.
    """

    def __init__(self, weights: dict[str, Tensor]) -> None:
        stack, dtype = SIZES.stack, next(iter(weights.values())).dtype
        config = LlamaConfig(
            hidden_size=stack.width,
            intermediate_size=stack.inner,
            num_attention_heads=stack.heads,
            num_hidden_layers=stack.layers,
            num_key_value_heads=stack.kv_heads,
            max_position_embeddings=TICKS,
            attn_implementation="eager",
            vocab_size=4,
        )
        tts = {name.removeprefix("tts."): each for name, each in weights.items()}
        self.model = LlamaModel(config).to(dtype).eval()  # the demo casts all of it, rotary rates too
        own = {name.removeprefix("model."): each for name, each in tts.items() if name.startswith("model.")}
        self.model.load_state_dict(own | {"embed_tokens.weight": self.model.embed_tokens.weight})
        self.texts = nn.Embedding.from_pretrained(tts["emb_text.weight"])
        self.tokens = nn.Embedding.from_pretrained(tts["emb_code.0.weight"])
        self.head = weight_norm(nn.Linear(stack.width, SIZES.tokens, bias=False).to(dtype))
        self.head.load_state_dict({n.removeprefix("head_code.0."): w for n, w in tts.items() if "head_code" in n})
        first, second = nn.Linear(SIZES.llm, stack.width), nn.Linear(stack.width, stack.width)
        self.projector = nn.Sequential(first, nn.ReLU(), second).to(dtype)
        for at, name in ((0, "linear1"), (2, "linear2")):
            part = {kind: tts[f"projector_semantic.{name}.{kind}"] for kind in ("weight", "bias")}
            self.projector[at].load_state_dict(part)
        self.begin()

    def begin(self) -> None:
        self.cache, self.start = None, 0

    def __call__(self, texts: Tensor, meanings: Tensor, chance: Tensor, least: int) -> Tensor:
        """Speech tokens; `least` as the released code's, of draws that may not end."""
        said = self.texts(torch.tensor([SIZES.begin]))
        if len(texts):
            meant = functional.normalize(self.projector(meanings), p=2, dim=-1)
            said = torch.cat((self.texts(texts) + meant, said))
        drawn: list[int] = []
        for index in range(26):
            x = self.tokens(torch.tensor([drawn[-1]])) if index else said
            past = self.start + (len(said) + index - 1 if index else 0)
            self.cache = self.cache or DynamicCache()
            options = {cache_argument(self.model): self.cache}
            positions = torch.arange(past, past + len(x))[None]
            hidden = self.model(inputs_embeds=x[None], position_ids=positions, use_cache=True, **options)[0]
            logits = self.head(hidden)[:, -1].float() / torch.tensor([[0.8]])
            if drawn:
                counts = functional.one_hot(torch.tensor([drawn[-16:]]), SIZES.tokens).sum(1)
                alpha = torch.pow(1.05, counts)
                logits = torch.where(logits < 0, logits.multiply(alpha), logits.divide(alpha))
            if index < least:
                logits[:, SIZES.tokens - 1] = -torch.inf
            token = int((functional.softmax(logits, -1) / chance[index]).argmax())
            if token == SIZES.tokens - 1:
                break
            drawn.append(token)
        spoken = torch.tensor(drawn[:25], dtype=torch.int64)
        self.start += len(said) + len(spoken)
        return spoken


def made_up(dtype: torch.dtype) -> dict[str, Tensor]:
    weights = make_up(speech_shapes(SIZES), dtype, seed=3)
    weights["tts.head_code.0.parametrizations.weight.original0"] *= 1.5  # some tokens likelier than others
    return weights


def begun(weights: dict[str, Tensor]) -> tuple[SpeechDecoder, Tensor]:
    dtype = next(iter(weights.values())).dtype
    state = torch.full((TICKS, *SIZES.stack.tick_shape), torch.nan, dtype=dtype)
    return SpeechDecoder(checked("the speech decoder", weights, speech_shapes(SIZES)), SIZES, state), state


def units(dtype: torch.dtype) -> Iterator[tuple[int, Tensor, Tensor, Tensor, bool]]:
    """Units of three turns: number, texts, meanings, chance, whether speech may end (and a turn's first unit may)."""
    for unit, count in enumerate([4, 10, 0, 1, 3, 17, 6]):
        generator = torch.Generator().manual_seed(unit)
        texts = torch.randint(0, SIZES.texts, (count,), generator=generator)
        meanings = torch.randn(count, SIZES.llm, generator=generator).to(dtype)
        chance = draw(DRAWS, SIZES.tokens, torch.float32, generator)
        if unit in (4, 6):  # what ends speech comes sooner than by chance: in the middle, and at once
            chance[9 if unit == 4 else 0, -1] = 1e-9
        yield unit, texts, meanings, chance, unit in (0, 3, 4, 6)


def follow(steps) -> tuple[Tensor, list]:
    result, seen = None, []
    while True:
        try:
            step = steps.send(result)
        except StopIteration as done:
            return done.value, seen
        seen.append((step.stage, step.shape, step.ticks))
        result = step.eagerly()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@torch.inference_mode()
def test_turns_are_the_released_decoders_bit_for_bit(dtype):
    weights = made_up(dtype)
    released, (ours, state) = Released(weights), begun(weights)
    lengths = []
    for unit, texts, meanings, chance, may_end in units(dtype):
        if unit in (3, 5):
            released.begin()
            ours.begin()
            state.fill_(torch.nan)
        expected = released(texts, meanings, chance, 0 if may_end else 26)

        spoken, seen = follow(ours.steps(texts, meanings, chance, may_end=may_end))

        assert torch.equal(spoken, expected), unit
        assert ours.held == released.start
        assert seen == [(CONDITION, (len(texts) + 1,), len(texts) + 1), *[(STAGE, (1,), 1)] * 25]
        keys = torch.stack([torch.stack((layer.keys[0], layer.values[0])) for layer in released.cache.layers])
        assert torch.equal(state[: ours.held], keys.permute(3, 0, 1, 2, 4)[: ours.held]), unit
        lengths.append(len(spoken))
        # What was drawn past an end is nobody's: what comes next must write it before it reads it.
        state[ours.held :] = torch.nan
    assert lengths == [25, 25, 25, 25, 9, 25, 0]


@torch.inference_mode()
def test_without_chance_it_says_the_likeliest_and_repeats_itself():
    ours, _ = begun(made_up(torch.bfloat16))
    _, texts, meanings, _, _ = next(units(torch.bfloat16))

    first, _ = follow(ours.steps(texts, meanings, None, may_end=False))
    ours.begin()
    again, _ = follow(ours.steps(texts, meanings, None, may_end=False))

    assert torch.equal(first, again)
    assert len(set(first.tolist())) > 3
    assert SIZES.end not in first


@torch.inference_mode()
def test_a_unit_of_a_turn_that_goes_on_is_not_asked_anything(monkeypatch):
    ours, _ = begun(made_up(torch.float32))
    _, texts, meanings, chance, _ = next(units(torch.float32))
    for name in ("item", "tolist", "nonzero", "__bool__", "__int__", "__float__", "__index__", "cpu"):
        monkeypatch.setattr(Tensor, name, lambda *_, name=name: pytest.fail(f"the host reads: {name}"))

    spoken, _ = follow(ours.steps(texts, meanings, chance, may_end=False))

    monkeypatch.undo()
    assert spoken.shape == (25,)


def test_what_a_released_checkpoint_brings_along_is_left_out():
    weights = make_up(speech_shapes(SIZES), torch.bfloat16)
    more = {"tts.projector_spk.linear1.weight": torch.ones(2, 2), "tts.model.embed_tokens.weight": torch.ones(2, 2)}

    with pytest.raises(BadWeights, match=r"tts\.projector_spk\.linear1\.weight, which is unknown"):
        checked("the speech decoder", weights | more, speech_shapes(SIZES))
    named = checked("the speech decoder", weights | more, speech_shapes(SIZES), SPEECH_UNUSED)
    assert named.tensors.keys() == weights.keys()


def test_released_sizes():
    shapes = speech_shapes(SpeechSizes())

    assert shapes["tts.emb_code.0.weight"] == (6562, 768)
    assert SpeechSizes().end == 6561
    assert SpeechSizes().stack.tick_shape == (20, 2, 12, 64)  # as the timelines declare them
    assert SpeechRules() == SpeechRules(0.8, 1.05, 16)
