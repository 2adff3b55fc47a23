"""Modules whose parameters are shared out over ranks, and whole only while they are used."""
