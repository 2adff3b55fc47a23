"""torch.nn.functional. The functions are bound here from the records of the ops when the package is imported."""
