"""Functions made from op records that a hand-written function of the same name overrides and calls, as ``overridden.where``.

The stub file lists them.
"""
