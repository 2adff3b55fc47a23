"""The optimizers of torch.optim: this folder has the bookkeeping, ops/optimizer_rules.py the update rules."""
