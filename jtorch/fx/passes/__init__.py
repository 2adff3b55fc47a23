"""Passes over graphs: shape propagation and pattern matching."""
