"""The package that ``import torch`` finds in child processes of ``python -m jtorch``; it replaces itself by jtorch."""
from jtorch._import_hook import install

install()
