"""Word error rate of what Pocket hears of recorded human speech.

    python -m tests.quality.asterisk [--runtime cadence|library|stock]

Each prompt is heard as in a conversation: in chunks of a second, silence around it, cut where voice activity says, with
the model's own margins. The bar is 6%.
"""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from engine.models.pocket.hearing import load_hearing
from engine.models.pocket.hearing_timelines import MEMORY_WIDTH, hearing_timelines
from engine.models.pocket.model import MARGIN
from engine.models.pocket.recording import Recording
from engine.models.pocket.vad import load_voice_activity
from engine.models.weights import locate
from tests.quality.normalise import normalise
from tests.quality.recorded import RATE_HZ, Prompt, first_prompts
from tests.quality.word_errors import word_error_rate, word_errors

BAR = 0.06
MOST_TICKS = 1500  # of half a minute's encoder; tokens are fewer
QUIET = np.zeros(RATE_HZ // 2, np.float32)  # before a prompt; behind it, to the end of a second and one more


@dataclass(frozen=True)
class Result:
    """A prompt, and what was heard of it; both normalised."""

    name: str
    said: str
    heard: str
    wall_s: float

    @property
    def errors(self) -> int:
        """Words that differ."""
        return word_errors(self.said, self.heard)


def voiced_part(audio: NDArray[np.float32], folder: Path) -> NDArray[np.float32]:
    """What the model would hand to hearing: float32 [samples]; empty where no voice was found."""
    activity = load_voice_activity(folder, torch.zeros(1, 2, MEMORY_WIDTH))
    whole = np.concatenate([QUIET, audio, np.zeros(RATE_HZ + -(len(QUIET) + len(audio)) % RATE_HZ, np.float32)])
    recording = Recording(len(whole))
    for chunk in whole.reshape(-1, RATE_HZ):
        recording.append(chunk)
        activity.run(chunk)
    onset, last = activity.onset_after(0), activity.last_voiced_sample
    if onset is None or last is None:
        return whole[:0]
    return recording.cut(max(0, onset - MARGIN), last + MARGIN)


def measure(prompts: list[Prompt], runtime: str, find: Callable[[str], Path] = locate) -> list[Result]:
    """Hear every prompt.

    Args:
        prompts: In the order of the results.
        runtime: "cadence", "library" or "stock".
        find: Finds a weight's folder by its name.
    """
    states = {state.name: state for line in hearing_timelines() for state in line.states}
    written, heard = (torch.zeros(MOST_TICKS, *states[name].item_shape) for name in ("written", "heard"))
    hearing = load_hearing(find("pocket-whisper"), runtime, written, heard)
    silero = find("pocket-silero")
    results = []
    for prompt in prompts:
        speech = voiced_part(prompt.audio, silero)
        start_s = time.perf_counter()
        text = hearing.transcribe(speech).text if len(speech) else ""
        results.append(
            Result(prompt.name, normalise(prompt.text), normalise(text), time.perf_counter() - start_s),
        )
    return results


def table(results: list[Result]) -> str:
    """Every prompt that was misheard, then the figures."""
    lines = [
        f"{one.errors:3d}  {one.name}\n     said   {one.said}\n     heard  {one.heard}" for one in results if one.errors
    ]
    rate = word_error_rate((one.said, one.heard) for one in results)
    errors, words = sum(one.errors for one in results), sum(len(one.said.split()) for one in results)
    walls_s = np.array([one.wall_s for one in results])
    lines.append(
        f"{len(results)} prompts, {words} words, {errors} wrong: {100 * rate:.2f}% (bar: {100 * BAR:.0f}%); "
        f"a prompt took {np.median(walls_s):.2f} s, the slowest {walls_s.max():.2f} s"
    )
    return "\n".join(lines)


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runtime", default="cadence", choices=("cadence", "library", "stock"))
    sys.stdout.write(table(measure(first_prompts(), parser.parse_args().runtime)) + "\n")


if __name__ == "__main__":
    main()
