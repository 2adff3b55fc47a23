"""The documentation site: additions of ``mkdocs build`` to the pages of docs/. See hooks.py."""
