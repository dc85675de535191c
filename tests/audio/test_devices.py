"""Which devices are offered, which is the default, and which one a choice means; on systems of all three kinds."""

from dataclasses import replace

import pytest

from app.audio.devices import FOLLOW_DEFAULT, AudioDevice, DeviceChoice, Devices, Direction
from engine.errors import CadenceError

APIS = ("MME", "Windows DirectSound", "Windows WASAPI", "Windows WDM-KS")
HEADSETS = tuple(AudioDevice("Headset", api, 1, 2, 44_100 if api == "MME" else 48_000) for api in APIS)
WASAPI = HEADSETS[2]
EVERY = tuple(
    (api, direction, device) for api, device in zip(APIS, HEADSETS, strict=True) for direction in tuple(Direction)
)
# PortAudio's own default on Windows is MME's.
OWN = tuple(("", direction, HEADSETS[0]) for direction in Direction)
WINDOWS = Devices(APIS, HEADSETS, (*OWN, *EVERY), platform="win32")


def test_windows_lists_one_host_api_unless_asked_for_all():
    assert WINDOWS.listed() == (WASAPI,)
    assert WINDOWS.listed(Direction.INPUT) == (WASAPI,)
    assert WINDOWS.listed(everything=True) == HEADSETS


@pytest.mark.parametrize("direction", Direction)
def test_windows_default_is_of_that_host_api(direction):
    assert WINDOWS.default(direction) is WASAPI
    assert WINDOWS.find(FOLLOW_DEFAULT, direction) is WASAPI


def test_what_was_chosen_of_another_host_api_is_found_all_the_same():
    assert WINDOWS.find(DeviceChoice("Headset", "MME"), Direction.INPUT) is HEADSETS[0]


def test_without_wasapi_windows_lists_what_there_is():
    old = replace(WINDOWS, apis=("MME",), all=HEADSETS[:1], defaults=OWN)
    assert old.listed() == HEADSETS[:1]
    assert old.default(Direction.OUTPUT) is HEADSETS[0]


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_elsewhere_every_host_api_is_listed_and_the_librarys_default_is_taken(platform):
    here = replace(WINDOWS, platform=platform)
    assert here.listed() == HEADSETS
    assert here.default(Direction.INPUT) is HEADSETS[0]


def test_a_choice_is_a_name_and_a_host_api_and_must_hear_or_sound():
    microphone, speaker = AudioDevice("Desk", "ALSA", 1, 0, 48_000), AudioDevice("Desk", "JACK", 0, 2, 48_000)
    there = Devices(("ALSA", "JACK"), (microphone, speaker), platform="linux")
    assert there.find(DeviceChoice("Desk", "ALSA"), Direction.INPUT) is microphone
    assert there.find(DeviceChoice("Desk", "JACK"), Direction.OUTPUT) is speaker
    for choice, direction in ((microphone.choice, Direction.OUTPUT), (speaker.choice, Direction.INPUT)):
        with pytest.raises(CadenceError, match=r"'Desk' \((ALSA|JACK)\) is not there.*those that are: Desk"):
            there.find(choice, direction)


def test_where_nothing_is_chosen_and_nothing_is_there_it_says_so():
    with pytest.raises(CadenceError, match="there is no speaker"):
        Devices(platform="linux").find(FOLLOW_DEFAULT, Direction.OUTPUT)
