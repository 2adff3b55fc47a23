"""Checkpoints that several ranks write and read, each its part, in PyTorch's format."""
