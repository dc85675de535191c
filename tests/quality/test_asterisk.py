import os

import pytest

from tests.quality.asterisk import BAR, measure, table
from tests.quality.recorded import COUNT, LONGEST_S, RATE_HZ, SHORTEST_S, NoRecordings, Prompt, first_prompts
from tests.quality.word_errors import word_error_rate


@pytest.fixture(scope="module")
def prompts() -> list[Prompt]:
    try:
        return first_prompts()
    except NoRecordings as error:
        if os.environ.get("CI"):
            pytest.fail(f"CI hears recorded speech, but {error}", pytrace=False)
        pytest.skip(str(error))


@pytest.mark.slow
def test_they_are_the_first_of_a_length(prompts: list[Prompt]) -> None:
    assert len(prompts) == COUNT
    assert [prompt.name for prompt in prompts] == sorted(prompt.name for prompt in prompts)
    assert all(SHORTEST_S <= len(prompt.audio) / RATE_HZ <= LONGEST_S for prompt in prompts)
    assert all(0.02 < abs(prompt.audio).max() <= 1 for prompt in prompts)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.weights("pocket-whisper", "pocket-silero")
@pytest.mark.usefixtures("one_thread")
def test_recorded_speech_is_heard(prompts: list[Prompt]) -> None:
    results = measure(prompts, "cadence")
    assert word_error_rate((one.said, one.heard) for one in results) <= BAR, table(results)
