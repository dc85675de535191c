"""The page in a real browser: meters are drawn, sounds play, nothing is asked of anyone, by light and in the dark."""

from collections.abc import Iterator

import pytest

from app.demo.files import PAGE
from app.demo.making import make_report
from tests import browser
from tests.demo.made_up import made_demo

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[browser.Page]:
    folder = tmp_path_factory.mktemp("demo")
    make_report("pocket", made_demo(folder), folder, "duplexcadence demo")
    with browser.opened(tmp_path_factory.mktemp("profile")) as page:
        page.open(folder / PAGE)
        yield page


def test_every_meter_is_drawn_and_the_late_second_is_marked_where_it_was_late(page: browser.Page) -> None:
    drawn = page.run(
        """[...document.querySelectorAll(".meter svg")].map(svg => ({
            width: svg.getBoundingClientRect().width,
            bars: [...svg.querySelectorAll("path")].filter(path => path.getBBox().height > 4).length,
            text: svg.textContent,
        }))"""
    )
    assert len(drawn) == 3
    for meter in drawn:
        assert meter["width"] > 500
        assert meter["bars"] > 8
        assert "deadline" in meter["text"]
    late, library, ours = (meter["text"] for meter in drawn)
    assert "1.75 s late" in late
    assert "1.75 s silent" in late
    assert "late" not in library + ours


def test_every_sound_plays_and_the_cursor_goes_with_it(page: browser.Page) -> None:
    for number in range(3):
        played_s = page.run(
            f"""(() => {{
                const audio = document.querySelectorAll("audio")[{number}];
                audio.muted = true;
                const moved = new Promise((done, fail) => {{
                    audio.addEventListener("timeupdate", () => audio.currentTime > 0 && done(audio.currentTime));
                    audio.addEventListener("error", () => fail(audio.error.message));
                }});
                return audio.play().then(() => moved);
            }})()"""
        )
        assert played_s > 0
        duration_s, begins_s, left = page.run(
            f"""(() => {{
                const audio = document.querySelectorAll("audio")[{number}];
                audio.pause();
                audio.currentTime = 3.0;
                return new Promise(done => audio.addEventListener("seeked", () => done([
                    audio.duration, Number(audio.dataset.begins),
                    parseFloat(document.querySelectorAll(".cursor")[{number}].style.left)])));
            }})()"""
        )
        assert duration_s == pytest.approx(6.0, abs=0.01)  # a second, and a reply of five
        assert begins_s == -1.0
        assert left > 0


def test_nothing_is_asked_of_anyone_and_nothing_could_be(page: browser.Page) -> None:
    refused = page.run(
        """new Promise(done => {
            addEventListener("securitypolicyviolation", event => done(event.blockedURI), {once: true});
            fetch("http://127.0.0.1:9/x").catch(() => {});
            setTimeout(() => done("nothing was refused"), 3000);
        })"""
    )
    assert refused.startswith("http://127.0.0.1:9")
    inside = ("file:", "data:")
    assert [url[:60] for url in page.requests if not url.startswith(inside) and url != "http://127.0.0.1:9/x"] == []
    assert sum(url.startswith("file:") for url in page.requests) == 1
    assert [said for said in page.complaints if "127.0.0.1:9" not in said] == []


def test_dark_is_dark_and_at_twice_the_size_nothing_is_cut_off(page: browser.Page) -> None:
    def colours() -> list[str]:
        found: list[str] = page.run(
            """[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color,
                getComputedStyle(document.querySelector(".meter svg text")).fill]"""
        )
        return found

    page.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "light"}])
    light = colours()
    page.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    dark = colours()
    assert light[0] == "rgb(255, 255, 255)"
    assert dark[0] == "rgb(21, 23, 26)"
    assert light[2] == light[1] != dark[1] == dark[2]
    page.ask("Emulation.setDeviceMetricsOverride", width=640, height=800, deviceScaleFactor=2, mobile=False)
    assert page.run("document.documentElement.scrollWidth") <= 640
    page.run("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert page.run("document.documentElement.scrollWidth") <= 640


def test_what_pictures_and_sounds_tell_is_there_in_words(page: browser.Page) -> None:
    told = page.run("[...document.querySelectorAll('figcaption')].map(each => each.textContent)")
    assert told[0].startswith("Meter of stock: 2 of 5 seconds late")
    assert "From 3.00 s to 4.75 s speech was due and none was heard." in told[0]
    assert page.run("[...document.querySelectorAll('dd')].map(each => each.textContent)")[0] == "Paris & <i>rain</i>."
    assert page.run(
        "[...document.querySelectorAll('[id]')].length === new Set([...document.querySelectorAll('[id]')]"
        ".map(each => each.id)).size"
    )
    assert page.run("document.querySelectorAll('b, i').length") == 0  # what a log holds is text
