"""Transformations of graphs: shapes of what nodes give, matching of patterns, splitting."""
