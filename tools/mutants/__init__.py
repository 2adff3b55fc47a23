"""Mutation testing: measure which lane of the tests notices a small change of the package."""
