"""Puts Pocket together on one runtime's stages, in the order of lifetimes: plan, arena, weights. Loads torch.

Entered by whoever starts a session, before its first unit.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

import torch

from engine.arena import HostArena
from engine.errors import AskedWrongly
from engine.models import weights
from engine.models.layers.decoder_stack import unlike_llama
from engine.models.layers.linear import best_precision
from engine.models.pocket.chat import Chat
from engine.models.pocket.hearing import load_hearing
from engine.models.pocket.language import CadenceLanguage, Language, LibraryLanguage
from engine.models.pocket.model import PocketModel
from engine.models.pocket.stages import Stages, Writes
from engine.models.pocket.stock_words import StockWords
from engine.models.pocket.timelines import timelines
from engine.models.pocket.vad import load_voice_activity
from engine.models.pocket.voice import Voice
from engine.models.pocket.words import Words
from engine.models.pocket.words_timelines import WordsSizes, read_config
from engine.models.registry import Built
from engine.plan import plan

SCRIPT = "LLSSSF"
LIBRARY_THREADS = torch.get_num_threads()  # what torch takes by default: stock runs as the libraries do
THREADS = 1  # two gain a tenth of a second where nothing else runs and lose ten where something does: see decisions
SEED = 0


def local_time() -> datetime:
    """The machine's own."""
    return datetime.now().astimezone()


@weights.blame_damage("pocket")
def build(runtime: str, *, words: Path | None = None, now: Callable[[], datetime] = local_time) -> Built:
    """Pocket, not yet prepared.

    Args:
        runtime: "cadence", "library" or "stock".
        words: A folder with a causal language model in place of SmolLM2.
        now: The wall clock, for those who ask the time.

    Raises:
        AskedWrongly: `words` holds no model that can be loaded.
        MissingWeights, BadWeights: As `engine.models.weights.locate`.
    """
    torch.set_num_threads(LIBRARY_THREADS if runtime == "stock" else THREADS)
    if words is not None and not words.is_dir():
        raise AskedWrongly(f"{words} is not a folder", "a folder as transformers saves a model", "name another")
    words = words or weights.locate("pocket-smollm2")
    config, chat = read_config(words), Chat(words)
    planned = plan(timelines(WordsSizes.of(config, kept=len(chat.kept))), script=SCRIPT)
    arena = HostArena(planned)
    arena.commit_needed(planned.ahead(planned.start))  # preparing writes there
    precision = best_precision()
    writes: Writes
    remarks: tuple[str, ...] = ()
    with ThreadPoolExecutor(1, "voice") as beside:  # it has nothing in common with the rest, and takes half of the time
        voice = beside.submit(
            Voice,
            weights.locate("pocket-joe"),
            seed=SEED,
            threads=0 if runtime == "stock" else 1,
            whole=runtime == "stock",
        )
        if runtime == "stock":
            writes = StockWords(words, chat)
        else:
            language: Language
            unlike = unlike_llama(config)
            if runtime == "library" or unlike:
                language = LibraryLanguage(words, precision)
            else:
                language = CadenceLanguage(words, arena.view("prompt.keys_values"), precision)
            if runtime == "cadence" and unlike:
                remarks = (f"{words.name} runs through transformers, its state outside the arena: it {unlike}",)
            writes = Words(language, chat)
        stages = Stages(
            activity=load_voice_activity(weights.locate("pocket-silero"), arena.view("activity.memory")),
            hearing=load_hearing(
                weights.locate("pocket-whisper"), runtime, arena.view("transcript.written"), arena.view("hearing.heard")
            ),
            words=writes,
            voice=voice.result(),
        )
    settings: dict[str, bool | int | float | str | None] = {
        "torch_threads": torch.get_num_threads(),
        "words": words.name,
        "words_precision": "float32" if runtime == "stock" else str(precision),
        "seed": SEED,
    }
    return Built(PocketModel(stages, planned, now=now), arena, runtime, settings, remarks)
