"""torch.nn.functional's functions, for the package's own files: ``nn_functions.relu(...)``.

A stub beside this file names them all They are put here when the package is imported: first those made
from the records of the ops, then those written by hand. ``jtorch.nn.functional`` shows the same ones.
"""
