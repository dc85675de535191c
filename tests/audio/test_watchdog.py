"""A stream whose callbacks stop is lost, said once; a machine that stood still is not."""

from app.audio.watchdog import Turn, Watchdog

MS = 1_000_000


def turns(watchdog, looks):
    """Look at (ms, callbacks) in turn."""
    return [watchdog.look(callbacks, True, ms * MS) for ms, callbacks in looks]


def test_a_stream_that_stops_is_lost_once_and_within_a_third_of_a_second():
    watchdog = Watchdog(20 * MS, 0)
    assert set(turns(watchdog, [(ms, ms // 20) for ms in range(10, 1000, 10)])) == {Turn.NOTHING}
    after = turns(watchdog, [(1000 + ms, 49) for ms in range(0, 2000, 10)])
    assert after.count(Turn.LOST) == 1
    assert after.index(Turn.LOST) * 10 <= 330
    assert watchdog.lost


def test_a_machine_that_stood_still_has_lost_nothing():
    watchdog = Watchdog(20 * MS, 0)
    turns(watchdog, [(20, 1), (40, 2)])
    # Two seconds in which neither callbacks nor looks came; then both do.
    assert turns(watchdog, [(2040, 2), (2050, 2), (2060, 3), (2070, 90)]) == [Turn.NOTHING] * 4


def test_bursts_are_not_losses():
    watchdog = Watchdog(100 * MS, 0)
    assert set(turns(watchdog, [(ms, ms // 290 * 14) for ms in range(0, 5000, 10)])) == {Turn.NOTHING}


def test_a_stream_that_says_it_has_ended_is_lost_at_once():
    watchdog = Watchdog(20 * MS, 0)
    watchdog.look(1, True, 20 * MS)
    assert watchdog.look(1, False, 30 * MS) is Turn.LOST
    assert watchdog.look(1, False, 40 * MS) is Turn.NOTHING


def test_a_stream_that_never_began_is_lost():
    assert Turn.LOST in turns(Watchdog(20 * MS, 0), [(ms, 0) for ms in range(0, 400, 10)])


def test_callbacks_that_come_again_bring_it_back_once():
    watchdog = Watchdog(20 * MS, 0)
    turns(watchdog, [(ms, 0) for ms in range(0, 400, 10)])
    assert turns(watchdog, [(410, 1), (430, 2)]) == [Turn.RETURNED, Turn.NOTHING]
    assert not watchdog.lost
