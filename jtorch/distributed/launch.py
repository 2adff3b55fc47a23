"""``python -m torch.distributed.launch``: the older name of ``torch.distributed.run``."""
from __future__ import annotations

from jtorch.distributed.run import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
