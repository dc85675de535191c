"""What is asked of PortAudio and what is made of its answers; the library is a stand-in, for what no card here does."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from app.audio.backend import StreamRequest
from app.audio.devices import Direction
from app.audio.portaudio import PortAudio
from engine.errors import CadenceError


class PortAudioError(Exception):
    """As sounddevice raises it."""


class Stream:
    """One of the library's."""

    def __init__(self, library, **asked):
        if library.refuses:
            raise PortAudioError("Invalid sample rate\n[PaErrorCode -9997]")
        self.asked, self.did = asked, []
        self.latency, self.active, self.broken = asked["latency"], True, False
        library.streams.append(self)

    def _do(self, what):
        self.did.append(what)
        if self.broken:
            raise PortAudioError("device unavailable")

    def start(self):
        self._do("start")

    def abort(self):
        self._do("abort")

    def close(self):
        self._do("close")

    def block(self, data, *, current=1.0, heard=0.0, sounds=0.0, overflow=False, underflow=False):
        time = SimpleNamespace(currentTime=current, inputBufferAdcTime=heard, outputBufferDacTime=sounds)
        status = SimpleNamespace(input_overflow=overflow, output_underflow=underflow)
        self.asked["callback"](data, len(data), time, status)


class Library:
    """sounddevice, as far as the app asks it."""

    def __init__(self):
        self.PortAudioError = PortAudioError
        self.found = [device("Headset", 1, 2), device("Webcam", 1, 0)]
        self.default = SimpleNamespace(device=[1, 0])
        self.refuses, self.runs = False, True
        self.streams, self.did = [], []

    def query_hostapis(self):
        return [{"name": "ALSA", "default_input_device": 0, "default_output_device": -1}]

    def query_devices(self):
        return self.found

    def InputStream(self, **asked):
        return Stream(self, **asked)

    OutputStream = InputStream

    def _terminate(self):
        self.did.append("terminate")
        if not self.runs:
            raise PortAudioError("not initialized")

    def _initialize(self):
        self.did.append("initialize")


def device(name, inputs, outputs):
    return {
        "name": name,
        "hostapi": 0,
        "max_input_channels": inputs,
        "max_output_channels": outputs,
        "default_samplerate": 48_000.0,
        "default_low_input_latency": 0.01 if inputs else -1.0,
        "default_low_output_latency": 0.02 if outputs else -1.0,
    }


@pytest.fixture
def library(monkeypatch):
    stand_in = Library()
    monkeypatch.setitem(sys.modules, "sounddevice", stand_in)
    return stand_in


def heard_by(found, direction=Direction.INPUT):
    return StreamRequest(found, direction, 48_000, 1, 960, 0.1)


def ignore(*_):
    pass


def test_a_device_is_opened_by_its_name_wherever_a_replug_has_put_it(library):
    webcam = PortAudio().devices().all[1]
    library.found = [device("Television", 0, 2), *reversed(library.found)]
    PortAudio().open(heard_by(webcam), ignore)
    assert library.streams[-1].asked["device"] == 1
    library.found = [device("Television", 0, 2), library.found[2]]
    with pytest.raises(CadenceError, match="'Webcam' is not there any more"):
        PortAudio().open(heard_by(webcam), ignore)


def test_of_several_alike_each_has_a_name_and_opens_as_itself(library):
    library.found = [device("Webcam", 1, 0)] * 3
    listed = PortAudio().devices().all
    assert [each.name for each in listed] == ["Webcam", "Webcam #2", "Webcam #3"]
    for number, each in enumerate(listed):
        PortAudio().open(heard_by(each), ignore)
        assert library.streams[-1].asked["device"] == number


def test_the_librarys_defaults_and_those_of_each_host_api_are_told(library):
    found = PortAudio().devices()
    headset, webcam = found.all
    assert found.defaults == (
        ("", Direction.INPUT, webcam),
        ("", Direction.OUTPUT, headset),
        ("ALSA", Direction.INPUT, headset),
    )
    library.default.device = [-1, -1]
    assert PortAudio().devices().defaults == (("ALSA", Direction.INPUT, headset),)


def test_a_refusal_is_one_line_that_names_device_rate_and_reason(library):
    library.refuses = True
    with pytest.raises(CadenceError) as caught:
        PortAudio().open(heard_by(PortAudio().devices().all[0]), ignore)
    assert "'Headset' (ALSA) does not open at 48000 Hz with 1 channels (Invalid sample rate [PaErrorCode" in str(
        caught.value
    )
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("direction", "times", "away_ns"),
    [
        (Direction.INPUT, {"heard": 0.97}, 30_000_000),
        (Direction.INPUT, {"heard": 0.0, "current": 0.0}, None),  # a driver that fills in zeros
        (Direction.INPUT, {"heard": -1e6}, None),
        (Direction.OUTPUT, {"sounds": 1.2}, 200_000_000),
        (Direction.OUTPUT, {"sounds": 0.0}, None),  # long past
        (Direction.OUTPUT, {"sounds": 1e6}, None),
    ],
)
def test_a_time_that_cannot_be_is_not_told(library, direction, times, away_ns):
    told = []
    PortAudio().open(heard_by(PortAudio().devices().all[0], direction), lambda *block: told.append(block))
    data = np.zeros((960, 1), np.float32)
    library.streams[-1].block(data, **times)
    assert told[0][0] is data
    assert told[0][1] == pytest.approx(away_ns) if away_ns else told[0][1] is None


@pytest.mark.parametrize(("direction", "flag"), [(Direction.INPUT, "overflow"), (Direction.OUTPUT, "underflow")])
def test_only_a_streams_own_flag_counts(library, direction, flag):
    told = []
    PortAudio().open(heard_by(PortAudio().devices().all[0], direction), lambda *block: told.append(block[2]))
    data = np.zeros((960, 1), np.float32)
    for flags in ({}, {"overflow": True}, {"underflow": True}):
        library.streams[-1].block(data, **flags)
    assert told == [False, flag == "overflow", flag == "underflow"]


def test_a_closed_stream_lets_go_of_its_callback_and_a_late_block_harms_nobody(library):
    told = []
    stream = PortAudio().open(heard_by(PortAudio().devices().all[0]), lambda *block: told.append(block))
    stream.start()
    library.streams[-1].broken = True  # a device that is gone cannot be closed in good order
    stream.close()
    assert library.streams[-1].did == ["start", "abort", "close"]
    library.streams[-1].block(np.zeros((960, 1), np.float32))
    assert told == []


def test_a_stream_that_does_not_start_says_why(library):
    stream = PortAudio().open(heard_by(PortAudio().devices().all[0]), ignore)
    library.streams[-1].broken = True
    with pytest.raises(CadenceError, match=r"does not start \(device unavailable\)"):
        stream.start()


def test_the_library_does_not_start_over_while_a_stream_is_open_or_hangs_in_its_close(library):
    backend = PortAudio()
    stream = backend.open(heard_by(backend.devices().all[0]), ignore)
    for _ in range(2):
        with pytest.raises(CadenceError, match=r"hangs.*start it anew"):
            backend.start_over()
        assert library.did == []
        stream.close()
        backend.start_over()
        library.did.clear()
        stream = backend.open(heard_by(backend.devices().all[0]), ignore)


def test_a_library_that_fails_while_a_device_is_looked_for_is_one_line(library):
    headset = PortAudio().devices().all[0]

    def fail():
        raise PortAudioError("PortAudio not initialized")

    library.query_devices = fail
    with pytest.raises(CadenceError, match="PortAudio cannot be used"):
        PortAudio().open(heard_by(headset), ignore)


def test_starting_over_ends_the_library_and_begins_it_anew_whether_or_not_it_ran(library):
    PortAudio().start_over()
    library.runs = False
    PortAudio().start_over()
    assert library.did == ["terminate", "initialize"] * 2
