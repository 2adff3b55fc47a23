"""torch's functions, for the package's own files: ``functions.cat(...)``. A stub beside this file names them all.

They are put here when the package is imported: first those made from the records of the ops, then those written by hand.
``jtorch`` shows the same ones.
"""
