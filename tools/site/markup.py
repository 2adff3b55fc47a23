"""Docstrings as Markdown, read from the running library, because op records generate the docstrings of ops."""
from __future__ import annotations

import re

_SECTION = re.compile(r"(?P<title>[A-Z][\w ]{0,30}):{1,2}[ \t]*(?P<rest>.*)")
_LISTS = ("Args", "Raises", "Attributes", "Arguments", "Keyword Args")
_ENTRY = re.compile(r"(\*{0,2}[\w., *]+?)(?: \(([^()]*(?:\([^()]*\)[^()]*)*)\))?: +(.*)", re.DOTALL)


def markdown(doc: str) -> str:
    """Return a cleaned docstring (``inspect.cleandoc``) as Markdown."""
    return "\n\n".join(_block(lines) for lines in _blocks(doc.expandtabs().split("\n")))


def _blocks(lines: list[str]) -> list[list[str]]:
    """Split lines into paragraphs. A section's title keeps its indented paragraphs."""
    found: list[list[str]] = []
    in_section = False
    for n, line in enumerate(lines):
        starts = not line.startswith(" ") and (not n or not lines[n - 1].strip() or _is_title(line))
        if not line.strip():
            if found and in_section:
                found[-1].append("")
            continue
        if starts or not found:
            found.append([line])
            in_section = _is_title(line) or line.rstrip().endswith("::")
        else:
            found[-1].append(line)
    return found


def _is_title(line: str) -> bool:
    found = _SECTION.fullmatch(line)
    return found is not None and (not found["rest"] or found["title"] in ("Source", "Shape", "Dtype", "Gradient", "Forms"))


def _block(lines: list[str]) -> str:
    first, rest = lines[0], lines[1:]
    found = _SECTION.fullmatch(first)
    if lines[0].startswith(">>>"):
        return _code(lines)
    if found is None or not _is_title(first):
        if first.rstrip().endswith("::") and rest:
            return f"{text(first.rstrip()[:-1])}\n\n{_code(_dedented(rest))}"
        return text(" ".join(part.strip() for part in lines))
    title, body = found["title"], _dedented([found["rest"], *rest] if found["rest"] else rest, bool(found["rest"]))
    if title in _LISTS:
        return f"**{title}**\n\n" + "\n".join(map(_entry, _entries(body)))
    if any(line.lstrip().startswith(">>>") for line in body) or first.rstrip().endswith("::"):
        return f"**{title}**\n\n{_code(body)}"
    return f"**{title}:** " + "\n\n".join(text(" ".join(p.split())) for p in "\n".join(body).split("\n\n") if p.strip())


def _dedented(lines: list[str], first_stands: bool = False) -> list[str]:
    """Remove the common indentation of lines, and the empty lines around them."""
    inner = lines[1:] if first_stands else lines
    margin = min((len(x) - len(x.lstrip()) for x in inner if x.strip()), default=0)
    out = ([lines[0]] if first_stands else []) + [x[margin:] for x in inner]
    while out and not out[-1].strip():
        out.pop()
    return out


def _entries(lines: list[str]) -> list[str]:
    """Return the entries of an indented list. An entry begins at the margin."""
    found: list[str] = []
    for line in lines:
        if line[:1] != " " and line.strip():
            found.append(line)
        elif found:
            found[-1] += " " + line.strip()
    return found


def _entry(entry: str) -> str:
    found = _ENTRY.fullmatch(entry)
    if found is None:
        return f"- {text(entry)}"
    kind = f" ({text(found[2])})" if found[2] else ""
    name = f"`{found[1]}`" if " " not in found[1] else found[1]
    return f"- {name}{kind}: {text(found[3])}"


def _code(lines: list[str]) -> str:
    session = any(line.startswith(">>>") for line in lines)
    return "\n".join([f"```{'pycon' if session else 'python'}", *lines, "```"])


def text(prose: str) -> str:
    """Turn reStructuredText's code marks into Markdown's, and escape all other marks."""
    parts = re.split(r"(``[^`]+``|`[^`]+`|https?://\S+)", re.sub(r":\w+:`~?([^`]+)`", r"``\1``", prose))
    return "".join(_mark(part) if k % 2 else re.sub(r"([*_<\[\]|])", r"\\\1", part) for k, part in enumerate(parts))


def _mark(part: str) -> str:
    if part.startswith("http"):
        url = part.rstrip(".,;)")
        return f"<{url}>{part[len(url):]}"
    return f"`{part.strip('`')}`"
