"""Devices are listed with what they can do; where there are none, or no PortAudio, that is said."""

import sys
from types import SimpleNamespace

import pytest

from app.__main__ import main
from app.commands import talk

APIS = [{"name": "ALSA"}, {"name": "JACK"}]


def device(name: str, api: int, inputs: int, outputs: int, rate_hz: float) -> dict[str, object]:
    return {
        "name": name,
        "hostapi": api,
        "max_input_channels": inputs,
        "max_output_channels": outputs,
        "default_samplerate": rate_hz,
        "default_low_input_latency": 0.01 if inputs else -1.0,
        "default_low_output_latency": 0.02 if outputs else -1.0,
    }


def with_devices(monkeypatch: pytest.MonkeyPatch, devices: list[dict[str, object]]) -> None:
    fake = SimpleNamespace(
        query_devices=lambda: devices, query_hostapis=lambda: APIS, default=SimpleNamespace(device=[0, 2])
    )
    monkeypatch.setitem(sys.modules, "sounddevice", fake)


def test_every_device_is_listed_under_its_host_api(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with_devices(
        monkeypatch, [device("Mic", 0, 1, 0, 16000), device("Both", 1, 2, 8, 48000), device("Out", 0, 0, 2, 44100)]
    )
    assert main(["devices"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "ALSA",
        "  >  Mic: 1 in, 0 out, 16000 Hz, 10 ms",
        "   < Out: 0 in, 2 out, 44100 Hz, 20 ms",
        "JACK",
        "     Both: 2 in, 8 out, 48000 Hz, 20 ms",
    ]


def test_no_device_is_an_answer(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with_devices(monkeypatch, [])
    assert main(["devices"]) == 0
    assert capsys.readouterr().out.startswith("no audio device")


class PortAudioError(Exception):
    """As sounddevice raises it: neither an OSError nor to be had where the import failed."""


@pytest.mark.parametrize("error", [OSError("PortAudio library not found"), PortAudioError("no server\nruns")])
def test_no_portaudio_is_one_line_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception
) -> None:
    class Broken:
        def find_spec(self, name: str, path: object = None, target: object = None) -> None:
            if name == "sounddevice":
                raise error

    monkeypatch.delitem(sys.modules, "sounddevice", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
    assert main(["devices"]) == 1
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert "PortAudio" in said[0]
    assert "install" in said[0]
    (lacks,) = talk.what_lacks(needs_display=False)
    assert f"duplexcadence: {lacks}" == said[0]


def test_what_a_conversation_lacks_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with_devices(monkeypatch, [device("Mic", 0, 1, 0, 16000)])
    assert talk.what_lacks(needs_display=False) == ["no speaker here"]
