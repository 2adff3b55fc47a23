"""``python -m jtorch.install``."""
import sys

from jtorch.install import main

sys.exit(main())
