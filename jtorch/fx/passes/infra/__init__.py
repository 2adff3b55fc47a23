"""torch.fx.passes.infra: the base classes of passes over graphs."""
