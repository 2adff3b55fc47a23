"""What ``import torch`` finds in a process that was started by one which runs as ``python -m jtorch``: jtorch takes its place."""
from jtorch._import_hook import install

install()
