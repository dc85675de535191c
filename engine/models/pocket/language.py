"""A causal language model behind one interface, whichever runtime it was built for, from any folder of safetensors.

`CadenceLanguage` runs our own layers, its past in the arena; `LibraryLanguage` runs transformers' class and cache on
the same weights held the same way, and says the same to the bit. Knows tokens and logits, no text. Entered by the
engine thread; a folder never runs code.
"""

import copy
import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from engine.errors import AskedWrongly
from engine.models.layers.decoder_stack import DecoderStack, StackSizes
from engine.models.layers.linear import HalfLinear, Precision, linear
from engine.models.pocket.words_timelines import one_line, read_config


class Language(Protocol):
    """Reads tokens, and tells what may come next."""

    def read(self, tokens: Sequence[int]) -> Tensor:
        """Take in tokens that follow those before; logits float32 `[vocabulary]` of the next one."""
        ...

    def keep(self) -> None:
        """From now on, what has been read so far is what `forget` goes back to."""
        ...

    def forget(self) -> None:
        """Forget what was read after `keep`."""
        ...


class CadenceLanguage:
    """Our own layers.

    Args:
        folder: Of a model for which `unlike_llama` has nothing to say.
        keys_values: float32 `[max_ticks, layers, 2, kv_heads, dim]`; see `DecoderStack`.
        precision: How to hold the matrices.

    Raises:
        AskedWrongly: The folder's tensors are not those that its configuration tells of.
    """

    def __init__(self, folder: Path, keys_values: Tensor, precision: Precision) -> None:
        # What is held as it is, is copied, so that nothing holds on to the file's pages: 200 MB of SmolLM2's.
        weights = {
            name: tensor.clone()
            if tensor.ndim == 1 or name in ("model.embed_tokens.weight", "lm_head.weight")
            else tensor
            for name, tensor in load_weights(folder).items()
        }
        try:
            self._stack = DecoderStack(weights, StackSizes.of(read_config(folder)), keys_values, precision)
            vocabulary = weights.get("lm_head.weight", weights["model.embed_tokens.weight"])
        except (KeyError, ValueError, TypeError) as error:
            raise AskedWrongly(
                f"{folder.name}/config.json is not of the tensors beside it ({one_line(error)})", "one model's files"
            ) from error
        self._vocabulary = HalfLinear(vocabulary.half())
        self._kept = 0

    @torch.inference_mode()
    def read(self, tokens: Sequence[int]) -> Tensor:
        hidden = self._stack(torch.tensor(tokens))
        logits: Tensor = self._vocabulary(hidden[-1])
        return logits

    def keep(self) -> None:
        self._kept = self._stack.ticks

    def forget(self) -> None:
        self._stack.ticks = self._kept


class LibraryLanguage:
    """transformers' class for the model, and the cache that it comes with.

    Args:
        folder: Of any causal language model that transformers knows.
        precision: How to hold the matrices.

    Raises:
        AskedWrongly: transformers cannot load the folder without running code from it.
    """

    def __init__(self, folder: Path, precision: Precision) -> None:
        self._model: Any = load_model(folder)
        hold(self._model, precision)
        self._past = cache_argument(self._model)
        inputs = inspect.signature(self._model.forward).parameters
        self._options = {"use_cache": True} | ({"logits_to_keep": 1} if "logits_to_keep" in inputs else {})
        self._cache: Any = self._fresh()
        self._kept: Any = self._fresh()

    @torch.inference_mode()
    def read(self, tokens: Sequence[int]) -> Tensor:
        out = self._model(torch.tensor([tokens]), **self._options, **{self._past: self._cache})
        logits: Tensor = out.logits[0, -1]
        return logits

    def keep(self) -> None:
        self._kept = copy.deepcopy(self._cache)

    def forget(self) -> None:
        self._cache = copy.deepcopy(self._kept)

    def _fresh(self) -> Any:
        from transformers import DynamicCache

        return DynamicCache(config=self._model.config)


def cache_argument(model: Any) -> str:
    """What a transformers model calls its cache; 5.24 renamed it.

    Raises:
        AskedWrongly: It has none of keys and values.
    """
    inputs = inspect.signature(model.forward).parameters
    for name in ("cache", "past_key_values"):
        if name in inputs:
            return name
    raise AskedWrongly(f"{type(model).__name__} keeps no keys and values", "a language model with a cache of them")


def load_weights(folder: Path) -> dict[str, Tensor]:
    """Every tensor of a folder's safetensors files, one or many.

    Raises:
        AskedWrongly: There are none, or one cannot be read.
    """
    files = sorted(folder.glob("model*.safetensors"))
    if not files:
        raise AskedWrongly(f"{folder.name} holds no safetensors", "weights as safetensors, which cannot run code")
    weights: dict[str, Tensor] = {}
    for file in files:
        try:
            weights |= load_file(file)
        except (SafetensorError, OSError) as error:
            raise AskedWrongly(
                f"{folder.name}/{file.name} cannot be read ({one_line(error)})", "a whole safetensors file"
            ) from error
    return weights


def load_model(folder: Path) -> Any:
    """The model of a folder as transformers has it, in float32.

    Raises:
        AskedWrongly: transformers cannot load it from safetensors without running code from it.
    """
    from transformers import AutoModelForCausalLM

    try:
        return AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.float32, use_safetensors=True, local_files_only=True, trust_remote_code=False
        ).eval()
    except Exception as error:  # transformers, and what validates its settings, raise many kinds
        raise AskedWrongly(
            f"transformers cannot load {folder.name} ({one_line(error)})", "a causal language model, as safetensors"
        ) from error


def hold(model: Any, precision: Precision) -> None:
    """Exchange a transformers model's matrices for the layers that ours runs on; the vocabulary's for float16."""
    head = model.get_output_embeddings()
    for name, module in list(model.named_modules()):
        if type(module) is nn.Linear and module is not head:
            bias = None if module.bias is None else module.bias.detach()
            model.set_submodule(name, linear(module.weight.detach(), bias, precision))
    model.set_output_embeddings(HalfLinear(head.weight.detach().half()))
