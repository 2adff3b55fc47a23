"""The optimizers of torch.optim: bookkeeping is here, update rules are in ops/optimizer_rules.py."""
