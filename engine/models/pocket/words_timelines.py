"""The clocks and states of Pocket's words: a question is read at once, an answer written token by token. No torch.

What every turn begins with (instructions, examples) is read once and kept; the rest belongs to the turn.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import AskedWrongly
from engine.stage import AtLimit, Lifetime, Quota, Span, StateSpec, T, Timeline

TOKENS_A_UNIT = 10  # of an answer; speech takes three or four a second, and the first clause is wanted at once
MAX_QUESTION_TOKENS = 64  # of a long speech, its end is read: 4 ms a token, of the quarter second that words have
MAX_ANSWER_TOKENS = 64


@dataclass(frozen=True)
class WordsSizes:
    """What the plan needs to know of a causal language model: the shape of a tick, and ticks that stay.

    Args:
        layers: Decoder layers.
        kv_heads: Heads of keys and values in each.
        dim: Of a head.
        kept: Tokens that every turn begins with, see `chat`.
    """

    layers: int
    kv_heads: int
    dim: int
    kept: int

    @classmethod
    def of(cls, config: Mapping[str, Any], kept: int) -> "WordsSizes":
        """Read a `config.json` of transformers.

        Raises:
            AskedWrongly: It does not say, in whole numbers, how many layers and heads there are.
        """
        heads = _named(config, "num_attention_heads", "n_head", "num_heads", "n_heads")
        width = _named(config, "hidden_size", "n_embd", "d_model")
        return cls(
            layers=_named(config, "num_hidden_layers", "n_layer", "num_layers", "n_layers"),
            kv_heads=_named(config, "num_key_value_heads", otherwise=heads),
            dim=_named(config, "head_dim", otherwise=width // heads),
            kept=kept,
        )

    @property
    def tick_shape(self) -> tuple[int, int, int, int]:
        """Of one token's keys and values: `[layers, key|value, heads, dim]`."""
        return self.layers, 2, self.kv_heads, self.dim

    @property
    def limit(self) -> int:
        """The most tokens that a turn can reach."""
        return self.kept + MAX_QUESTION_TOKENS + MAX_ANSWER_TOKENS


def _named(config: Mapping[str, Any], *names: str, otherwise: int | None = None) -> int:
    """A setting that model types call by one name or another."""
    name, value = next(((name, config[name]) for name in names if config.get(name) is not None), (names[0], otherwise))
    if value is None:
        raise AskedWrongly(f"a config.json without {name}", "the configuration of a causal language model")
    if not isinstance(value, int) or value < 1:
        raise AskedWrongly(f"a config.json whose {name} is {value!r}", "a whole number of at least 1")
    return value


SMOLLM2 = WordsSizes(layers=30, kv_heads=3, dim=64, kept=152)


def one_line(error: object) -> str:
    """What an error says, on one line of no more than 200 characters."""
    return " ".join(str(error).split())[:200]


def read_config(folder: Path, file: str = "config.json") -> dict[str, Any]:
    """A configuration from a model's folder.

    Raises:
        AskedWrongly: There is none that can be read.
    """
    needed = "a folder as transformers saves a model"
    try:
        config = json.loads((folder / file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise AskedWrongly(f"{folder.name}/{file} cannot be read ({one_line(error)})", needed) from error
    if not isinstance(config, dict):
        raise AskedWrongly(f"{folder.name}/{file} holds no settings", needed)
    return config


def words_timelines(sizes: WordsSizes) -> tuple[Timeline, ...]:
    """Pocket's words: the stages "prompt" and "words", and the keys and values that they share."""
    keys_values = StateSpec(
        "keys_values",
        (T, *sizes.tick_shape),
        initial=sizes.kept,
        reset=Lifetime.TURN,
        limit=sizes.limit,
        at_limit=AtLimit.RESET,
        span=Span.CLOCKED,
    )
    question, answer = (MAX_QUESTION_TOKENS,), (TOKENS_A_UNIT,)
    return (
        Timeline(
            "prompt",
            Quota(listen=question, opens=question, sizes=tuple(range(1, MAX_QUESTION_TOKENS + 1))),
            tick="token",
            states=(keys_values,),
        ),
        Timeline("words", Quota(listen=answer, speak=answer), tick="token", chunk=1, shares=("prompt.keys_values",)),
    )
