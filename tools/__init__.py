"""Generators and checks: type stubs, pages, the documentation site, mutants, GPU checks. Not part of the package."""
