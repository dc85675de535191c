import subprocess
import sys

from engine.models.pocket.hearing_timelines import hearing_timelines
from engine.models.pocket.windows import MAX_PIECE_S, PROMPT_TOKENS, SAMPLE_RATE_HZ, TICKS_PER_S, max_tokens, window_s
from engine.plan import plan
from engine.stage import Lifetime


def test_every_window_of_a_piece_is_declared() -> None:
    sizes = hearing_timelines()[1].drive.sizes

    assert {window_s(samples) * TICKS_PER_S for samples in range(1, MAX_PIECE_S * SAMPLE_RATE_HZ, 997)} == set(sizes)


def test_bytes_by_hand() -> None:
    planned = plan(hearing_timelines(12))
    tick = 4 * 2 * 6 * 64 * 4  # layers, keys and values, heads, dim, float32
    states = {state.name: state for state in planned.states}

    assert states["hearing.heard"].max_bytes == 15 * 50 * tick
    assert states["transcript.written"].max_bytes == (PROMPT_TOKENS + 8 * 15) * tick
    assert states["activity.memory"].max_bytes == 2 * 128 * 4
    assert planned.max_bytes == sum(state.max_bytes for state in states.values())


def test_a_window_lasts_no_longer_than_its_unit_and_voice_activity_as_long_as_the_session() -> None:
    planned = plan(hearing_timelines())

    for unit in range(8):
        assert planned.unit(unit).held == {"activity.memory": 1, "hearing.heard": 0, "transcript.written": 0}
    assert {state.name: state.reset for state in planned.states} == {
        "activity.memory": Lifetime.SESSION,
        "hearing.heard": Lifetime.TURN,
        "transcript.written": Lifetime.TURN,
    }


def test_any_unit_has_room_for_the_longest_piece() -> None:
    planned = plan(hearing_timelines())
    longest = window_s(MAX_PIECE_S * SAMPLE_RATE_HZ)

    ahead = planned.ahead(planned.start)

    assert ahead["hearing.heard"] == longest * TICKS_PER_S
    assert ahead["transcript.written"] == PROMPT_TOKENS + max_tokens(longest)


def test_declaring_needs_no_torch() -> None:
    module = "engine.models.pocket.hearing_timelines"
    code = f"import sys, {module}; {module}.hearing_timelines(); sys.exit('torch' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
