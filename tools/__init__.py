"""What is made from the op records: the type stubs and the coverage page. Not part of the package."""
