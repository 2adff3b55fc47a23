"""mkdocs' hooks: make the reference, and pages for files outside docs/ with links from docs/."""
from __future__ import annotations

import logging
import os
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from tools.site import reference

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(?<!\\)\]\((?!https?:|mailto:|#|/)([^)#\s]+)(#[^)\s]*)?\)")
CODE = re.compile(r"^```.*?^```[ \t]*$", re.MULTILINE | re.DOTALL)
# A word after the language of a code block. It tells the tests to skip the block, or names the package that the block needs.
HINT = re.compile(r"^(```(?:python|bash)) \w+$", re.MULTILINE)
NAME = re.compile(r"(?<![\[`\w])`((?:torch|jtorch\.engine)\.[\w.]+?)(\(\))?`(?!\]|`)")
log = logging.getLogger("mkdocs.jtorch")        # In strict mode mkdocs treats warnings of this logger as errors.
_made: dict[str, str] = {}
_anchors: dict[str, str] = {}


def on_config(config: Any) -> Any:
    """Make the reference. Add its pages, and the pages of docs/ missing in mkdocs.yml, to the navigation."""
    made, wrong = reference.pages()
    for line in wrong:
        log.warning(line)
    _made.update(made)
    _anchors.update(reference.anchors(made))
    sections = {title: pages for section in config.nav for title, pages in section.items()}
    sections["Reference"][:1] = list(made)[-1:]
    sections["Reference"] += list(made)[:-1]
    named = set(_places(config.nav))
    sections["Extend"] += [name for name in sorted(p.name for p in (ROOT / "docs").glob("*.md")) if name not in named]
    return config


def _places(nav: Any) -> Iterator[str]:
    """Yield the files of a navigation."""
    if isinstance(nav, str):
        yield nav
    else:
        for part in nav.values() if isinstance(nav, dict) else nav:
            yield from _places(part)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages of the reference, and pages for files outside docs/."""
    for place, text in _made.items():
        files.append(File.generated(config, place, content=text))
    for place, text in _mirrored(files):
        files.append(File.generated(config, place, content=text))
    return files


def _mirrored(files: Files) -> Iterator[tuple[str, str]]:
    """Yield the files outside docs/ with links from pages, each as a page."""
    # The navigation lists these two files, so they become pages even if no page links to them.
    waiting = [("docs/index.md", "[](../CONTRIBUTING.md) [](../CHANGELOG.md)")]
    waiting += [("docs/" + f.src_uri, f.content_string) for f in files if f.src_uri.endswith(".md")]
    seen: set[str] = set()
    while waiting:
        page, text = waiting.pop()
        for link in LINK.findall(text):
            path = _repository_path(page, link[0])
            if path.startswith("docs/") or path in seen or not (ROOT / path).is_file():
                continue
            seen.add(path)
            content = _as_page(path)
            yield _place(path), content
            waiting.append((path, content))


def _as_page(path: str) -> str:
    text = (ROOT / path).read_text(encoding="utf-8")
    if path.endswith(".md"):
        return text
    language = "python" if path.endswith(".py") else "text"
    return f"# {path}\n\n```{language}\n{text.rstrip()}\n```\n"


def _repository_path(page: str, link: str) -> str:
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), link))
    return f"{path}/README.md" if (ROOT / path).is_dir() else path


def _place(path: str) -> str:
    """Return the place of a repository file in the site."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"files/{path}" if path.endswith(".md") else f"files/{path}.md"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn links between repository files into links between pages, and names of the library into links to the
    reference.
    """
    here = page.file.src_uri
    markdown = HINT.sub(r"\1", markdown)
    path = here.removeprefix("files/") if here.startswith("files/") else f"docs/{here}"
    parts = re.split(f"({CODE.pattern})", markdown, flags=CODE.flags)
    return "".join(part if k % 2 else _linked(part, here, path) for k, part in enumerate(parts))


def _linked(text: str, here: str, path: str) -> str:
    def to_page(found: re.Match) -> str:
        target = _place(_repository_path(path, found[1])) if "/" in found[1] or here.startswith("files/") else found[1]
        return f"]({_relative(target, here) if target != found[1] else target}{found[2] or ''})"

    def to_name(found: re.Match) -> str:
        target = _anchors.get(found[1])
        return found[0] if target is None else f"[{found[0]}]({_relative(target, here)}#{found[1]})"

    text = LINK.sub(to_page, text)
    return "\n".join(line if line.startswith(("#", "|")) else NAME.sub(to_name, line) for line in text.split("\n"))


def _relative(target: str, here: str) -> str:
    return os.path.relpath(target, posixpath.dirname(here) or ".").replace(os.sep, "/")
