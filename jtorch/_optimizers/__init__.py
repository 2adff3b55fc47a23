"""The optimizers of torch.optim beside SGD and Adam: bookkeeping here, update rules in ops/optimizer_rules.py."""
