"""The site in a browser: no errors, no dead links, search that finds, code that copies, pictures with words.

`sh docs/build.sh` builds it; without it, selenium or Chromium the tests are skipped, and say why. A release runs them.
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
    return sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html") if "_static" not in path.parts)


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


@pytest.mark.parametrize("width", [360, 768])
def test_narrow_screens_need_no_sideways_scrolling(browser, address, width):
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
