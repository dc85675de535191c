"""The released weights: what they say, that our layers say what the library's say, and what four bits cost."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import torch
from torch.nn import functional

from engine.models.layers.decoder_stack import DecoderStack, StackSizes
from engine.models.layers.linear import Precision
from engine.models.pocket.chat import Chat
from engine.models.pocket.language import CadenceLanguage, LibraryLanguage, load_weights
from engine.models.pocket.stock_words import StockWords
from engine.models.pocket.words import Words
from engine.models.pocket.words_timelines import SMOLLM2, TOKENS_A_UNIT, WordsSizes, read_config

pytestmark = [pytest.mark.weights("pocket-smollm2"), pytest.mark.slow]

# The opening of SmolLM2's own chat, as its tokenizer on Hugging Face encodes it.
OPENING = (
    "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
    "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n"
)
OPENING_TOKENS = [
    *(1, 9690, 198, 2683, 359, 253, 5356, 5646, 11173, 3365, 3511, 308, 34519, 28, 7018, 411, 407, 19712, 8182, 2, 198),
    *(1, 4093, 198, 1780, 314, 260, 3575, 282, 4649, 47, 2, 198, 1, 520, 9531, 198),
]
# Facts that are not among the questions of the acceptance test.
FACTS = {
    "What is the capital of Italy?": "Rome",
    "what is the capital of Portugal": "Lisbon",
    "What is the opposite of big?": "small",
    "How many legs does a dog have?": "four",
    "What do cows eat?": "grass",
    "Who invented the telephone?": "Bell",
}


@pytest.fixture(scope="module")
def folder(weights_dir: Callable[[str], Path]) -> Path:
    return weights_dir("pocket-smollm2")


@pytest.fixture(scope="module")
def chat(folder: Path) -> Chat:
    return Chat(folder)


@pytest.fixture(scope="module")
def cadence(folder: Path, chat: Chat) -> CadenceLanguage:
    sizes = WordsSizes.of(read_config(folder), kept=len(chat.kept))
    return CadenceLanguage(folder, torch.zeros(sizes.limit, *sizes.tick_shape), Precision.INT4)


@pytest.fixture(scope="module")
def words(cadence: CadenceLanguage, chat: Chat) -> Words:
    made = Words(cadence, chat)
    made.prepare()
    return made


def answer(words: Words | StockWords, question: str) -> str:
    words.start_turn(words.question(question))
    tokens: list[int] = []
    while not words.finished:
        tokens += words.decode()
    return words.text_of(tokens)


def test_the_tokenizer_is_the_released_one(chat: Chat) -> None:
    assert chat._tokenizer.encode(OPENING, add_special_tokens=False).ids == OPENING_TOKENS


def test_what_is_declared_is_what_the_weights_are(folder: Path, chat: Chat) -> None:
    assert WordsSizes.of(read_config(folder), kept=len(chat.kept)) == SMOLLM2


@pytest.mark.parametrize("question", list(FACTS))
def test_it_knows_simple_facts(words: Words, question: str) -> None:
    assert FACTS[question] in answer(words, question)


def test_the_library_says_the_same_to_the_bit(words: Words, cadence: CadenceLanguage, folder: Path, chat: Chat) -> None:
    words.reset_turn()
    library = LibraryLanguage(folder, Precision.INT4)
    library.read(chat.kept)
    library.keep()
    for question, count in (("Tell me about rain.", 60), ("Hello.", 3)):
        read: list[int] = chat.question(question)
        for _ in range(count):
            ours, theirs = cadence.read(read), library.read(read)
            assert torch.equal(ours, theirs)
            read = [int(ours.argmax())]
        cadence.forget()
        library.forget()


def test_four_bits_keep_what_the_weights_say(folder: Path, chat: Chat) -> None:
    """Against the same weights in float32: how surprised by a text, how far apart, how often of one mind."""
    text = chat.kept
    told = {}
    weights, config = load_weights(folder), read_config(folder)
    for precision in Precision:
        sizes = StackSizes.of(config)
        stack = DecoderStack(weights, sizes, torch.zeros(len(text), *sizes.tick_shape), precision)
        with torch.inference_mode():
            logits = functional.linear(stack(torch.tensor(text)), weights["model.embed_tokens.weight"].float())
        told[precision] = logits.log_softmax(1)
    exact, rounded = told[Precision.FLOAT32], told[Precision.INT4]
    surprise = partial(functional.nll_loss, target=torch.tensor(text[1:]))
    assert surprise(rounded[:-1]) == pytest.approx(float(surprise(exact[:-1])), rel=0.03)
    assert (exact.exp() * (exact - rounded)).sum(1).mean() < 0.02
    assert (exact.argmax(1) == rounded.argmax(1)).float().mean() > 0.93


def test_stock_gives_the_same_answers(words: Words, folder: Path, chat: Chat) -> None:
    stock = StockWords(folder, chat)
    stock.prepare()
    for question in ("What is the capital of Italy?", "What is the opposite of big?"):
        assert answer(stock, question).startswith(answer(words, question))


def test_a_turn_stays_within_what_is_declared(words: Words, cadence: CadenceLanguage) -> None:
    words.start_turn(words.question("Tell me a very long story about all that you have ever heard of. " * 20))
    while not words.finished:
        assert len(words.decode()) <= TOKENS_A_UNIT
    assert cadence._stack.ticks <= SMOLLM2.limit
