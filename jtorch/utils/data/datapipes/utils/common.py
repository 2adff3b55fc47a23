"""torch.utils.data.datapipes.utils.common: open files as samples."""
from __future__ import annotations

from typing import Any


class StreamWrapper:
    """An open file that is closed when it is no longer referenced."""

    def __init__(self, file_obj: Any, parent_stream: Any = None, name: str | None = None):
        self.file_obj, self.parent_stream, self.name, self.closed = file_obj, parent_stream, name, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["file_obj"], name)

    def close(self, *args: Any, **kwargs: Any) -> None:
        """Close the file."""
        if not self.closed:
            self.file_obj.close(*args, **kwargs)
        self.closed = True

    def autoclose(self) -> None:
        """Close the file."""
        self.close()

    def __iter__(self):
        yield from self.file_obj

    def __next__(self):
        return next(self.file_obj)

    def __del__(self):
        if "file_obj" in self.__dict__:
            self.close()

    def __repr__(self):
        return f"StreamWrapper<{self.name or self.file_obj!r}>"
