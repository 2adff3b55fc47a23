"""Docstrings as Markdown. They are read from the running library, since those of ops are made from the ops' records."""
from __future__ import annotations

import re

_SECTION = re.compile(r"(?P<title>[A-Z][\w ]{0,30}):{1,2}[ \t]*(?P<rest>.*)")
_LISTS = ("Args", "Raises", "Attributes", "Arguments", "Keyword Args")
_ENTRY = re.compile(r"(\*{0,2}[\w., *]+?)(?: \(([^()]*(?:\([^()]*\)[^()]*)*)\))?: +(.*)", re.DOTALL)


def markdown(doc: str) -> str:
    """A cleaned docstring (``inspect.cleandoc``) as Markdown."""
    return "\n\n".join(_block(lines) for lines in _blocks(doc.expandtabs().split("\n")))


def _blocks(lines: list[str]) -> list[list[str]]:
    """Paragraphs; a section's title keeps the indented paragraphs that follow it."""
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
    """Lines without their common indentation, and without empty ones around them."""
    inner = lines[1:] if first_stands else lines
    margin = min((len(x) - len(x.lstrip()) for x in inner if x.strip()), default=0)
    out = ([lines[0]] if first_stands else []) + [x[margin:] for x in inner]
    while out and not out[-1].strip():
        out.pop()
    return out


def _entries(lines: list[str]) -> list[str]:
    """What an indented list says: an entry begins at the margin."""
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
    """Prose with reStructuredText's code marks as Markdown's, and with nothing that Markdown would take for a mark."""
    parts = re.split(r"(``[^`]+``|`[^`]+`|https?://\S+)", re.sub(r":\w+:`~?([^`]+)`", r"``\1``", prose))
    return "".join(_mark(part) if k % 2 else re.sub(r"([*_<\[\]|])", r"\\\1", part) for k, part in enumerate(parts))


def _mark(part: str) -> str:
    if part.startswith("http"):
        url = part.rstrip(".,;)")
        return f"<{url}>{part[len(url):]}"
    return f"`{part.strip('`')}`"
