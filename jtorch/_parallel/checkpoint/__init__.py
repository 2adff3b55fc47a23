"""Checkpoints to which each of several ranks writes its shards, in PyTorch's format."""
