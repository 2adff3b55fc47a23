"""torch.fx.experimental: queries about a compiler's tracing, which is never active in jtorch."""
