"""The site in a browser: no errors, no dead links, search that finds, code that copies, pictures with words.

And the page of `Result.explore`. `sh docs/build.sh` builds the site; without it, selenium or Chromium the tests are
skipped, and say why. A release runs them.
"""

from __future__ import annotations

import functools
import http.server
import shutil
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import urldefrag, urljoin

import pytest
from processes import ROOT

from apsp import as_graph, shortest_paths

pytestmark = pytest.mark.release
SITE = ROOT / "out" / "site"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
OPTIONS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Requests are no news."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    if not (SITE / "index.html").is_file():
        pytest.skip("the site is not built: sh docs/build.sh")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(SITE))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser(tmp_path_factory) -> Iterator[Any]:
    webdriver = pytest.importorskip(
        "selenium.webdriver", reason="selenium is not installed; it comes with the extra `docs`"
    )
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("no Chromium with its driver here; Debian: apt install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for option in (*OPTIONS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    driver.set_window_size(1200, 900)
    yield driver
    driver.quit()


def pages() -> list[str]:
    """All pages but those that Sphinx makes of the sources it quotes."""
    return sorted(
        path.relative_to(SITE).as_posix()
        for path in SITE.rglob("*.html")
        if not {"_static", "_modules"} & {*path.parts}
    )


def errors(browser: Any) -> list[str]:
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


#: What a page has: its links, the anchors that others may lead to, and pictures without words.
LOOK = """
const pictures = [...document.querySelectorAll("article img")];
const words = i => i.alt.trim().length >= 15 && !i.alt.endsWith(".png");
const wordless = pictures.filter(i => !words(i) || !i.naturalWidth).map(i => i.src);
return {
    links: [...document.querySelectorAll("a[href]")].map(a => a.href),
    anchors: [...document.querySelectorAll("[id]")].map(e => e.id),
    wordless,
    wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
};
"""


@pytest.fixture(scope="module")
def looked(browser, address) -> dict[str, dict[str, Any]]:
    """Every page of the site, as the browser shows it."""
    found = {}
    for page in pages():
        browser.get(address + page)
        found[page] = browser.execute_script(LOOK) | {"errors": errors(browser)}
    return found


def test_every_page_loads_without_errors(looked):
    assert len(looked) > 100
    assert {page: there["errors"] for page, there in looked.items() if there["errors"]} == {}


def test_pictures_are_seen_and_have_words(looked):
    assert {page: there["wordless"] for page, there in looked.items() if there["wordless"]} == {}


def test_no_link_is_dead(looked, address):
    dead, followed = [], 0
    for page, there in looked.items():
        for link in there["links"]:
            target, anchor = urldefrag(urljoin(address + page, link))
            if not target.startswith(address):
                continue  # of others; the site asks nobody
            name = target.removeprefix(address).partition("?")[0] or "index.html"
            if name not in looked:
                if not (SITE / name).is_file():
                    dead.append((page, link))
            elif anchor and anchor not in looked[name]["anchors"]:
                dead.append((page, link))
            followed += 1
    assert dead == []
    assert followed > 5_000


def test_the_site_asks_nobody(looked, address, browser):
    browser.get(address)
    names = browser.execute_script("return performance.getEntriesByType('resource').map(e => e.name)")
    assert {name for name in names if not name.startswith(address)} == set()


@pytest.mark.parametrize("word", ["closure", "isochrones", "NegativeCycleError"])
def test_search_finds(browser, address, word):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get(f"{address}search.html?q={word}")
    found = WebDriverWait(browser, 20).until(lambda b: b.find_elements(By.CSS_SELECTOR, "#search-results li a"))
    assert len(found) >= 1
    assert errors(browser) == []


def test_code_can_be_copied(browser, address):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get(f"{address}index.html")
    buttons = WebDriverWait(browser, 10).until(lambda b: b.find_elements(By.CSS_SELECTOR, "button.copybtn"))
    click = {"expression": "document.querySelector('button.copybtn').click()", "userGesture": True}
    browser.execute_cdp_cmd("Runtime.evaluate", click)
    WebDriverWait(browser, 10).until(lambda b: "success" in buttons[0].get_attribute("class"))
    browser.execute_script("const t = document.createElement('textarea'); document.body.prepend(t); t.id = 'paste'")
    paste = browser.find_element(By.ID, "paste")
    paste.click()
    paste.send_keys(Keys.CONTROL, "v")
    assert paste.get_property("value").startswith("from apsp import shortest_paths")


@pytest.mark.parametrize("width", [360, 768, 1100, 1600])
def test_no_screen_needs_sideways_scrolling(browser, address, width):
    browser.set_window_size(max(width, 500), 900)  # the least that a window may be; the page is told the rest
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    )
    try:
        for page in ("index.html", "isochrones.html", "engines.html", "api/generated/apsp.shortest_paths.html"):
            browser.get(address + page)
            assert browser.execute_script(LOOK)["wide"] <= 0, page
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.set_window_size(1200, 900)


def test_dark_and_light(browser, address):
    seen = {}
    for scheme in ("dark", "light"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        browser.get(address)
        colour = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        seen[scheme] = sum(int(x) for x in colour.removeprefix("rgb(").removesuffix(")").split(","))
    assert seen["dark"] < 150 < 600 < seen["light"]


def test_a_network_is_explored(browser, tmp_path):
    """`Result.explore`: the page shows, moves and names vertices, runs no label, and sends no request."""
    label = "</script><b>bold</b><script>document.title = 'run'</script>"
    places = {label: (6.0, 49.0), "b": (6.1, 49.0), "c": (6.1, 49.1)}
    r = shortest_paths(as_graph([(label, "b", 3), ("b", "c", 4)], places=places, name="three"))
    r.explore(path=["b", "c"], values=label, save=tmp_path / "map.html")
    errors(browser)  # those of earlier pages
    browser.get((tmp_path / "map.html").as_uri())
    point = """
        const [k, kind, more] = arguments, Kind = kind === "wheel" ? WheelEvent : PointerEvent;
        const at = {clientX: x[k] * view.scale + view.left, clientY: y[k] * view.scale + view.top};
        canvas.dispatchEvent(new Kind(kind, {...at, ...more, cancelable: true}));
        draw();
        return {tip: tip.style.display === "none" ? "" : tip.textContent, scale: view.scale, left: view.left};
    """
    first = browser.execute_script(point, 0, "pointermove", {"buttons": 0})
    assert first["tip"] == f"{label}: 0"
    assert browser.execute_script(point, 2, "pointermove", {"buttons": 0})["tip"] == "c: 7"
    zoomed = browser.execute_script(point, 2, "wheel", {"deltaY": -400})
    assert zoomed["scale"] > 2.5 * first["scale"]
    dragged = browser.execute_script(point, 2, "pointermove", {"buttons": 1, "movementX": 40})
    assert dragged["left"] == zoomed["left"] + 40
    browser.execute_script("fit(); draw()")
    seen = browser.execute_script(
        "const dots = pen.getImageData(0, 0, canvas.width, canvas.height).data, seen = new Set();"
        "for (let k = 0; k < dots.length; k += 4) if (dots[k + 3] === 255) seen.add(dots.slice(k, k + 3).join());"
        "return [...seen]"
    )
    assert {"214,39,40", "68,1,84"} <= set(seen)  # the path, and the least value
    assert browser.title == "three"
    assert browser.execute_script("return document.querySelectorAll('b').length") == 0
    assert browser.execute_script("return document.getElementById('legend').innerText").split() == [
        *("distance", "from", *label.split()),
        *("0", "7"),
    ]
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert errors(browser) == []
