"""``python -m tools.site.browse DIR``: open the built site in a browser and report problems.

Headless Chromium opens each page in the width of a desktop and of a phone. The console must be empty, and nothing may reach
beyond the screen. It then tests the search, the copy button of code and the dark colours. axe looks for accessibility problems
(WCAG 2, levels A and AA). ``--pictures DIR`` keeps screenshots.
"""
from __future__ import annotations

import argparse
import functools
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from typing import Any

WIDE, NARROW = (1280, 900), (390, 844)      # Width and height in pixels.
SECONDS = 20                                # Seconds to wait for something to appear.
SHOWN = ("index.html", "tutorials/training/index.html", "reference/index.html", "messages/index.html", "performance/index.html")
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--force-prefers-reduced-motion")


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None:
        """Suppress the log of requests."""


@contextmanager
def served(site: Path) -> Iterator[str]:
    """Serve the site during the block, and return its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def browser() -> Iterator[Any]:
    """Start Chromium with Selenium."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = _found("chromium", "chromium-browser", "google-chrome")
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(_found("chromedriver")))
    try:
        yield driver
    finally:
        driver.quit()


def _found(*names: str) -> str:
    for name in names:
        path = shutil.which(name)
        if path is not None:
            return path
    raise SystemExit(f"{' or '.join(names)} is not installed. On Debian: apt install chromium chromium-driver")


class Visit:
    """One run over the site, with its problems."""

    def __init__(self, driver: Any, address: str, pictures: Path | None):
        self.driver, self.address, self.pictures = driver, address, pictures
        self.problems: list[str] = []

    def page(self, name: str) -> None:
        """Open a page and check it in both widths."""
        self._open(name)
        self._until(lambda: self.driver.execute_script("return document.readyState") == "complete")
        for width, height in (WIDE, NARROW):
            self._size(width, height)
            reach = self.driver.execute_script("return document.documentElement.scrollWidth")
            if reach > width:
                self.problems.append(f"{name}: {reach} pixels wide on a screen of {width}")
            if self.pictures is not None and name in SHOWN:
                self.driver.save_screenshot(str(self.pictures / f"{name.replace('/', '-')}-{width}.png"))
        self.problems += [f"{name}: the console says {e['message']}" for e in self.driver.get_log("browser")]

    def search(self, word: str, target: str) -> None:
        """Type a word into the search and follow the first result."""
        self._open("")
        field = self._one("input.md-search__input")
        self.driver.execute_script("arguments[0].focus()", field)
        field.send_keys(word)
        links = self._until(lambda: self._all(".md-search-result__link"))
        if not links or not any(target in link.get_attribute("href") for link in links[:3]):
            self.problems.append(f"the search for {word} does not find {target} among its first three")

    def copy(self, name: str) -> None:
        """Copy a page's first code block with its button."""
        from selenium.webdriver import ActionChains

        self.driver.execute_cdp_cmd("Browser.grantPermissions",
                                    {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
        self._open(name)
        button = self._until(lambda: self._all("button.md-clipboard, button.md-code__button[title='Copy to clipboard']"))
        if not button:
            self.problems.append(f"{name}: no button copies code")
            return
        ActionChains(self.driver).move_to_element(self._one("pre code")).click(button[0]).perform()
        code = self.driver.execute_script("return document.querySelector('pre code').innerText")
        copied = self._until(lambda: self.driver.execute_async_script(
            "const done = arguments[0]; navigator.clipboard.readText().then(done, error => done(''))"))
        if (copied or "").strip() != code.strip():
            self.problems.append(f"{name}: the button copies {copied!r:.60} for {code!r:.60}")

    def colours(self) -> None:
        """Switch a light page to dark colours."""
        self._open("")
        before = self._scheme()
        self.driver.execute_script("document.querySelector('form[data-md-component=palette] label:not([hidden])').click()")
        if self._until(lambda: self._scheme() != before) is None:
            self.problems.append("the colours cannot be turned")

    def accessible(self, name: str) -> None:
        """Check a page for accessibility problems."""
        self._open(name)
        self.driver.execute_script((resources.files("axe_core_python") / "axe.min.js").read_text())
        found = self.driver.execute_async_script(
            "const done = arguments[0]; axe.run({runOnly: ['wcag2a', 'wcag2aa']}).then(r => done(r.violations))")
        self.problems += [f"{name}: {v['help']} ({v['id']}, {v['impact']}), {len(v['nodes'])} times, as in "
                          f"{v['nodes'][0]['html']:.120}" for v in found]

    def _open(self, name: str) -> None:
        self._size(*WIDE)
        self.driver.get(self.address + name.removesuffix("index.html"))

    def _scheme(self) -> str:
        return self.driver.execute_script("return document.body.getAttribute('data-md-color-scheme')")

    def _size(self, width: int, height: int) -> None:
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})

    def _one(self, selector: str) -> Any:
        return self._all(selector)[0]

    def _all(self, selector: str) -> list:
        return self.driver.find_elements("css selector", selector)

    def _until(self, condition: Callable[[], Any]) -> Any:
        """Return the value of the condition once it is true, None if it stays false."""
        from selenium.common.exceptions import TimeoutException
        from selenium.webdriver.support.ui import WebDriverWait

        try:
            return WebDriverWait(self.driver, SECONDS).until(lambda _: condition())
        except TimeoutException:
            return None


def looked_at(site: Path, pictures: Path | None) -> list[str]:
    """Return the problems of a site."""
    names = sorted(str(p.relative_to(site)) for p in site.rglob("*.html") if p.name != "404.html")
    with served(site) as address, browser() as driver:
        visit = Visit(driver, address, pictures)
        for name in names:
            visit.page(name)
        visit.search("cross_entropy", "cross_entropy")
        visit.search("DataLoader", "data")
        visit.copy("tutorials/training/")
        for name in (*SHOWN, *SHOWN[:2]):       # The last pages are checked in dark colours.
            visit.accessible(name)
            if name == SHOWN[-1]:
                visit.colours()
    print(f"{len(names)} pages looked at, {len(visit.problems)} problems")
    return visit.problems


def main() -> int:
    """Check a site. Return 1 if there are problems."""
    parser = argparse.ArgumentParser("python -m tools.site.browse", description=__doc__.splitlines()[0])
    parser.add_argument("site", type=Path)
    parser.add_argument("--pictures", type=Path)
    given = parser.parse_args()
    if given.pictures is not None:
        given.pictures.mkdir(parents=True, exist_ok=True)
    problems = looked_at(given.site, given.pictures)
    print(*problems, sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
