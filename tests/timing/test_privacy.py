import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.timing.privacy import scrubbed, without_folders

WORDS = st.text("abcdefgh_-.", min_size=1, max_size=8).filter(lambda name: name.strip("."))
FOLDERS = st.lists(WORDS, min_size=1, max_size=3).map(" ".join)
NAMES = st.text("abcdefgh_-", min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("/home/jo/clip.wav", "clip.wav"),
        ("/home/jo smith/my clip.wav", "my clip.wav"),
        ("C:\\Users\\jo\\clip.wav", "clip.wav"),
        ("c:/Users/jo/clip.wav", "clip.wav"),
        ("\\\\server\\share\\clip.wav", "clip.wav"),
        ("~/voices/joe", "joe"),
        ("file:///home/jo/clip.wav", "clip.wav"),
        ("[Errno 2] No such file or directory: '/home/jo smith/x.wav'", "[Errno 2] No such file or directory: 'x.wav'"),
        ("could not open /home/jo/x.wav, sorry", "could not open x.wav, sorry"),
        ("/dev/snd/pcm: device busy", "pcm: device busy"),
        ("at (/usr/lib/libx.so)", "at (libx.so)"),
        ("cannot open:/home/jo/clip.wav", "cannot open:clip.wav"),
        ("file:/home/jo/clip.wav", "file:clip.wav"),
        ("the log /home/jo smith/log.jsonl cannot be written", "the log log.jsonl cannot be written"),
        ("no room at C:\\Users\\jo van smith\\log.jsonl; free some", "no room at log.jsonl; free some"),
        ("/home/jo smith/log.jsonl cannot be written: full", "log.jsonl cannot be written: full"),
        ("moved /home/jo/x.wav to /home/jo smith/y.wav, done", "moved x.wav to y.wav, done"),
        ("/dev/snd/pcm: 25/2 Hz", "pcm: 25/2 Hz"),
        ("from /home/jo/x.wav and https://example.org/a/b", "from x.wav and https://example.org/a/b"),
    ],
)
def test_a_folder_goes_and_the_last_name_stays(text: str, kept: str) -> None:
    assert without_folders(text) == kept


@pytest.mark.parametrize(
    "text",
    [
        "LISTEN and/or SPEAK",
        "25/2 Hz",
        "https://example.org/a/b",
        "at https://a.b/c d/e",
        "../clips/x.wav",
        "1/2",
        "n/a",
        "12:30:00",
        "a\\b",
    ],
)
def test_what_is_no_absolute_path_stays(text: str) -> None:
    assert without_folders(text) == text


@given(
    st.lists(FOLDERS, min_size=1, max_size=4),
    NAMES,
    st.sampled_from(["{}", "cannot read {}: bad", "'{}'", "a {} b", "cannot open:{}", "at:{}; b"]),
)
@settings(deadline=None)
def test_no_folder_of_any_path_survives(folders: list[str], name: str, sentence: str) -> None:
    for path in ("/" + "/".join([*folders, name]), "C:\\" + "\\".join([*folders, name])):
        assert scrubbed({"k": [sentence.format(path)]}) == {"k": [sentence.format(name)]}
