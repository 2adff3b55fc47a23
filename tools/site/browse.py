"""``python -m tools.site.browse DIR``: open the built site in a browser and report problems.

Headless Chromium opens each page in light and in dark colours, in the width of a desktop and of a phone. The console must be
empty, images must load, and nothing may leave its box or the screen. axe looks for accessibility problems (WCAG 2, levels A and
AA). Links within the site must lead to an element of a page. The program then tests the search, the copy button of code and the
button of colours. ``--pictures DIR`` keeps screenshots, ``--only NAME`` takes the pages with this part in their name.
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
from urllib.parse import unquote

WIDE, NARROW = (1280, 900), (390, 844)      # Width and height in pixels.
SECONDS = 20                                # Seconds to wait for something to appear.
PATIENCE = 900                              # Seconds for one script, on a loaded machine.
SCHEMES = {"light": "default", "dark": "slate"}     # The names that the browser and the theme have for the colours.
SHOWN = ("index.html", "tutorials/training/index.html", "tutorials/porting/index.html", "ecosystem/index.html",
         "reference/index.html")
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--force-prefers-reduced-motion")

# Returns the elements that extend beyond their box. The box of an element is the nearest ancestor that scrolls or clips. Inline
# code must also stay within its paragraph or table cell.
OUTSIDE = """
const PADDING = 4;
const clips = e => getComputedStyle(e).overflowX !== "visible";
const box = e => { do e = e.parentElement; while (e && !e.matches(".md-content") && !clips(e)); return e; };
const right = e => Math.max(...[...e.getClientRects()].map(r => r.right));
const outside = (e, b) => b && e.getClientRects().length && !clips(b) && right(e) > b.getBoundingClientRect().right + PADDING;
const all = [...document.querySelectorAll(".md-content *")].filter(e => !e.closest("svg, .md-code__nav"));
const line = e => e.matches(":not(pre) > code") && e.closest("p, li, td, th, h1, h2, h3, dt, dd");
return all.filter(e => outside(e, box(e)) || outside(e, line(e))).map(e => e.outerHTML.slice(0, 120));
"""
IMAGES = "return [...document.images].filter(i => !i.complete || !i.naturalWidth).map(i => i.src)"
LINKS = "return [[...document.links].map(a => a.href), [...document.querySelectorAll('[id], a[name]')].map(e => e.id || e.name)]"
SETTLED = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 100)))"
AXE = "const [options, done] = arguments; axe.run(options).then(r => done(r.violations))"
# What axe looks for in each variant: contrast depends on colours, and other rules on the width.
LEVELS = {"type": "tag", "values": ["wcag2a", "wcag2aa"]}
RULES: dict[tuple[str, tuple[int, int]], dict[str, Any]] = {
    ("light", WIDE): {"runOnly": LEVELS},
    ("light", NARROW): {"runOnly": LEVELS, "rules": {"color-contrast": {"enabled": False}}},
    ("dark", WIDE): {"runOnly": {"type": "rule", "values": ["color-contrast"]}}}


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None:
        """Suppress the log of requests."""


@contextmanager
def served(site: Path) -> Iterator[str]:
    """Serve the site during the block, and yield its address."""
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
    driver.set_script_timeout(PATIENCE)
    driver.command_executor.client_config.timeout = PATIENCE + SECONDS
    # The theme stores the colours of the first visit.
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": "if (location.host) localStorage.clear()"})
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

    def __init__(self, driver: Any, address: str, site: Path, pictures: Path | None):
        self.driver, self.address, self.pictures = driver, address, pictures
        self.names = {p.relative_to(site).as_posix() for p in site.rglob("*.*")}
        self.problems: list[str] = []
        self.links: dict[str, set[str]] = {}
        self.anchors: dict[str, set[str]] = {}

    def page(self, name: str) -> None:
        """Open a page and check it in both colours and both widths."""
        for scheme in SCHEMES:
            self._open(name, scheme)
            if self._until(lambda: self._run("return document.readyState") == "complete") is None:
                self._problem(name, "does not load")
            if self._scheme() != SCHEMES[scheme]:
                self._problem(name, f"its colours are {self._scheme()} for a reader who prefers {scheme} ones")
            for size in (WIDE, NARROW):
                self._size(*size)
                self.driver.execute_async_script(SETTLED)
                self._variant(name, scheme, size)
            for entry in self.driver.get_log("browser"):
                self._problem(name, f"the console says {entry['message']}")
        links, anchors = self._run(LINKS)
        self.links[name], self.anchors[name] = set(links), set(anchors)

    def _variant(self, name: str, scheme: str, size: tuple[int, int]) -> None:
        """Check the open page as it is shown now."""
        width = size[0]
        reach = self._run("return document.documentElement.scrollWidth")
        if reach > width:
            self._problem(name, f"{reach} pixels wide on a screen of {width}")
        for element in self._run(OUTSIDE):
            self._problem(name, f"leaves its box in {width} pixels: {element}")
        for image in self._run(IMAGES):
            self._problem(name, f"the image {image} does not load")
        if (scheme, size) in RULES:
            self._accessible(name, f"{scheme}, {width} pixels", RULES[scheme, size])
        if self.pictures is not None and name in SHOWN:
            title = name.removesuffix("/index.html").replace("/", "-").removesuffix(".html")
            self.driver.save_screenshot(str(self.pictures / f"{title}-{scheme}-{width}.png"))

    def _accessible(self, name: str, variant: str, options: dict[str, Any]) -> None:
        """Check the open page for accessibility problems."""
        if self._run("return typeof axe") == "undefined":
            self._run((resources.files("axe_core_python") / "axe.min.js").read_text())
        for v in self.driver.execute_async_script(AXE, options):
            self._problem(name, f"{v['help']} ({v['id']}, {v['impact']}; {variant}), {len(v['nodes'])} times, as in "
                                f"{v['nodes'][0]['html']:.120}")

    def follow(self) -> None:
        """Check that the links within the site lead to an element of a page that was opened."""
        for name, links in self.links.items():
            for link in sorted(links):
                page, _, anchor = link.partition("#")
                if not page.startswith(self.address):
                    continue
                target = page.removeprefix(self.address)
                target += "index.html" if not target or target.endswith("/") else ""
                lost = anchor and unquote(anchor) not in self.anchors.get(target, {unquote(anchor)})
                if target not in self.names or lost:
                    self._problem(name, f"{link.removeprefix(self.address)} leads nowhere")

    def search(self, word: str, target: str) -> None:
        """Type a word into the search, and check that ``target`` is in one of the first three links."""
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

    def _problem(self, name: str, what: str) -> None:
        if f"{name}: {what}" not in self.problems:
            self.problems.append(f"{name}: {what}")

    def _run(self, script: str) -> Any:
        return self.driver.execute_script(script)

    def _open(self, name: str, scheme: str = "light") -> None:
        self._size(*WIDE)
        self.driver.get("about:blank")      # A page that is left would store its colours again.
        preferred = {"name": "prefers-color-scheme", "value": scheme}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [preferred]})
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


def looked_at(site: Path, pictures: Path | None, only: str) -> list[str]:
    """Return the problems of a site."""
    with served(site) as address, browser() as driver:
        visit = Visit(driver, address, site, pictures)
        names = sorted(name for name in visit.names if name.endswith(".html") and name != "404.html" and only in name)
        for name in names:
            visit.page(name)
        visit.follow()
        visit.search("cross_entropy", "cross_entropy")
        visit.search("DataLoader", "data")
        visit.copy("tutorials/training/")
        visit.colours()
    print(f"{len(names)} pages looked at, each in {2 * len(SCHEMES)} variants, {len(visit.problems)} problems")
    return visit.problems


def main() -> int:
    """Check a site. Return 1 if there are problems."""
    parser = argparse.ArgumentParser("python -m tools.site.browse", description=__doc__.splitlines()[0])
    parser.add_argument("site", type=Path)
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    if given.pictures is not None:
        given.pictures.mkdir(parents=True, exist_ok=True)
    problems = looked_at(given.site, given.pictures, given.only)
    print(*problems, sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
