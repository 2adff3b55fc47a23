"""Functions made from the records of ops whose names belong to others, which call them: ``replaced.where`` is the op alone.

A stub beside this file names them all.
"""
