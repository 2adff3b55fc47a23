"""torch.fx.experimental: what packages ask of a compiler's tracing, which is never on here."""
