"""A language model small enough to make in a moment, in a folder as transformers saves one."""

import json
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoConfig, AutoModelForCausalLM

TEXT = """the cat sat on the mat and the dog ran after it. What is the capital of France? Tell me about rain.
a question has an answer, an answer has a few words; numbers such as 12, 345 and 6789 are said digit by digit."""
CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SIZES = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 512,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 2,
}


def tokenizer() -> Tokenizer:
    """Byte-level BPE the way SmolLM cuts text up, control tokens first."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=CONTROL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator([TEXT] * 4, trainer)
    return made


def save_tokenizer(folder: Path, chat_template: object = CHAT_TEMPLATE) -> None:
    tokenizer().save(str(folder / "tokenizer.json"))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|im_end|>", "chat_template": chat_template}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))


def save_model(folder: Path, kind: str = "llama", seed: int = 0, **settings: Any) -> Any:
    """A random model of a kind; returned as transformers has it, in float32."""
    config = AutoConfig.for_model(kind, **{**SIZES, "vocab_size": 320, **settings})
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.1)
    model.save_pretrained(folder)
    return model


def save(folder: Path, kind: str = "llama", **settings: Any) -> Path:
    """A whole folder: weights, configuration, tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    save_model(folder, kind, **settings)
    save_tokenizer(folder)
    return folder
