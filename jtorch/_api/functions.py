"""The functions of torch for use in the package: ``functions.cat(...)``. The stub file lists them.

The import adds them: first functions made from op records, then hand-written functions.
``jtorch`` has the same functions.
"""
