"""Modules whose parameters are sharded over ranks, and gathered only while they are used."""
