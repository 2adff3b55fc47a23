"""The optimizers that torch.optim shows: bookkeeping here, update rules in ops/optimizer_rules.py."""
