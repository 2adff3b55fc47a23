"""The documentation site: what ``mkdocs build`` adds to the pages of docs/. See hooks.py."""
