"""The tree of a package's files."""
from __future__ import annotations

from jtorch.package.glob_group import GlobGroup, GlobPattern

__all__ = ["Directory"]


class Directory:
    """A directory or file of a package. ``PackageImporter.file_structure`` returns the top one; ``str`` draws the tree."""

    def __init__(self, name: str, is_dir: bool):
        self.name = name
        self.is_dir = is_dir
        self.children: dict[str, Directory] = {}

    def _get_dir(self, dirs: list[str]) -> Directory:
        """Return a directory by its path from here, and create those that are missing."""
        found = self
        for name in dirs:
            found = found.children.setdefault(name, Directory(name, True))
        return found

    def _add_file(self, file_path: str) -> None:
        *dirs, file = file_path.split("/")
        self._get_dir(dirs).children[file] = Directory(file, False)

    def has_file(self, filename: str) -> bool:
        """Return whether there is a file or directory with a path such as ``"package/module.py"``."""
        name, slash, rest = filename.partition("/")
        return name in self.children and (not slash or self.children[name].has_file(rest))

    def __str__(self) -> str:
        return "".join(self._lines("", "─── "))

    def _lines(self, before: str, pointer: str) -> list[str]:
        """Return the lines of the tree: directories first, then files, each in the order of their names."""
        lines = [f"{before}{pointer}{self.name}\n"]
        before += "│   " if pointer == "├── " else "    "
        children = sorted(self.children.items(), key=lambda item: (not item[1].is_dir, item[0]))
        for i, (_, child) in enumerate(children):
            lines += child._lines(before, "└── " if i == len(children) - 1 else "├── ")
        return lines


def _create_directory_from_file_list(filename: str, file_list: list[str], include: GlobPattern = "**",
                                     exclude: GlobPattern = ()) -> Directory:
    """Return the tree of those files that match, below a directory with the name ``filename``."""
    wanted, top = GlobGroup(include, exclude=exclude, separator="/"), Directory(filename, True)
    for file in filter(wanted.matches, file_list):
        top._add_file(file)
    return top
