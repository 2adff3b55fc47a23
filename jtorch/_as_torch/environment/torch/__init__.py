"""What ``import torch`` finds in a process that was started by one which runs as ``python -m jtorch``: jtorch takes its place."""
from jtorch._as_torch import install

install()
