"""torch.hub: models from a local folder with a ``hubconf.py``; nothing is downloaded."""
from __future__ import annotations

import builtins
import hashlib
import importlib.util
import os
import re
import shutil
import sys
from typing import Any
from urllib.parse import urlparse as urlparse
from urllib.request import url2pathname

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]
_dir: str | None = None
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
READ_DATA_CHUNK = 128 * 1024


def _get_torch_home() -> str:
    cache = os.getenv("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.getenv("TORCH_HOME", os.path.join(cache, "torch")))


def get_dir() -> str:
    """Return the folder of PyTorch's downloads. See torch.hub.get_dir."""
    return _dir or os.path.join(_get_torch_home(), "hub")


def set_dir(d: str | os.PathLike) -> None:
    """Set the folder of downloads. See torch.hub.set_dir."""
    global _dir
    _dir = os.path.expanduser(d)


def _entry(folder: Any, name: str) -> Any:
    path = os.path.join(folder, "hubconf.py")
    sys.path.insert(0, os.fspath(folder))
    try:
        spec = importlib.util.spec_from_file_location("hubconf.py", path)
        module = importlib.util.module_from_spec(spec)      # type: ignore[arg-type]
        spec.loader.exec_module(module)                     # type: ignore[union-attr]
    finally:
        sys.path.remove(os.fspath(folder))
    found = getattr(module, name, None)
    if not callable(found):
        raise RuntimeError(f"Cannot find callable {name} in hubconf")
    return found


def _local(repo_or_dir: Any, source: str, name: str) -> Any:
    if source.lower() not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source.lower() == "github":
        raise _not_built("load from a repository")
    return _entry(repo_or_dir, name)


def _not_built(what: str) -> NotImplementedError:
    return NotImplementedError(f"torch.hub does not {what} here: nothing is downloaded. Fetch the files first, and use "
                               "torch.load, or torch.hub.load(folder, ..., source='local').")


def load(repo_or_dir: Any, model: str, *args: Any, source: str = "github", trust_repo: Any = "check", force_reload: bool = False,
         verbose: bool = True, skip_validation: bool = False, **kwargs: Any) -> Any:
    """Call an entry of a local folder's ``hubconf.py``; NotImplementedError for ``github``. See torch.hub.load."""
    return _local(repo_or_dir, source, model)(*args, **kwargs)


def help(github: Any, model: str, force_reload: bool = False, skip_validation: bool = False, trust_repo: Any = "check") -> Any:
    """Raise NotImplementedError: repositories are not downloaded. See torch.hub.help."""
    raise _not_built("look into a repository")


def list(github: Any, force_reload: bool = False, skip_validation: bool = False, trust_repo: Any = "check",
         verbose: bool = True) -> builtins.list[str]:
    """Raise NotImplementedError: repositories are not downloaded. See torch.hub.list."""
    raise _not_built("look into a repository")


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Copy a file of this machine, whose URL begins with ``file://``. See torch.hub.download_url_to_file.

    Raises:
        NotImplementedError: another URL.
        RuntimeError: the file's hash does not begin with ``hash_prefix``.

    """
    source = _local_path(url)
    if source is None:
        raise _not_built("download files")
    _check_hash(source, hash_prefix)
    shutil.copyfile(source, dst)


def _local_path(url: str) -> str | None:
    parts = urlparse(url)
    return url2pathname(parts.path) if parts.scheme == "file" else None


def _check_hash(path: str, prefix: str | None) -> None:
    if prefix:
        with open(path, "rb") as f:
            found = hashlib.file_digest(f, "sha256").hexdigest()
        if not found.startswith(prefix):
            raise RuntimeError(f'invalid hash value (expected "{prefix}", got "{found}")')


def load_state_dict_from_url(url: str, model_dir: Any = None, map_location: Any = None, progress: bool = True,
                             check_hash: bool = False, file_name: str | None = None, weights_only: bool = False) -> Any:
    """Load a checkpoint from the folder of downloads; a ``file://`` URL is copied there first.

    See torch.hub.load_state_dict_from_url.

    Raises:
        NotImplementedError: the file would have to be downloaded.

    """
    from jtorch.serialization import load as load_file
    folder = model_dir or os.path.join(get_dir(), "checkpoints")
    path = os.path.join(folder, file_name or os.path.basename(urlparse(url).path))
    if not os.path.exists(path):
        if _local_path(url) is None:
            raise _not_built(f"download {os.path.basename(path)} to {os.path.dirname(path)}")
        found = HASH_REGEX.search(os.path.basename(path)) if check_hash else None
        os.makedirs(folder, exist_ok=True)
        download_url_to_file(url, path, found.group(1) if found else None, progress)
    return load_file(path, map_location=map_location, weights_only=weights_only)


class _Faketqdm:
    """A progress bar for when the package ``tqdm`` is not installed; it prints the progress as text."""

    def __init__(self, total: float | None = None, disable: bool = False, unit: str | None = None, *args: Any, **kwargs: Any):
        self.total, self.disable, self.n = total, disable, 0.0

    def update(self, n: float) -> None:
        """Advance by ``n``."""
        if not self.disable:
            self.n += n
            sys.stderr.write(f"\r{self.n:.1f} bytes" if self.total is None else f"\r{100 * self.n / self.total:.1f}%")
            sys.stderr.flush()

    def set_description(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing."""

    def write(self, s: str) -> None:
        """Write a line."""
        sys.stderr.write(f"{s}\n")

    def close(self) -> None:
        """Stop writing."""
        self.disable = True

    def __enter__(self) -> _Faketqdm:
        return self

    def __exit__(self, *exc_info: object) -> None:
        if not self.disable:
            sys.stderr.write("\n")


def __getattr__(name: str) -> Any:
    if name != "tqdm":
        raise AttributeError(f"module 'torch.hub' has no attribute {name!r}")
    try:
        from tqdm import tqdm  # type: ignore[import-untyped]
    except ImportError:
        return _Faketqdm
    return tqdm
