"""Replace this package by jtorch. Child processes of ``python -m jtorch`` find it, and ``jtorch.install`` copies it."""
from jtorch._import_hook import install

install()
