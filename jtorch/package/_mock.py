"""Objects in place of those of modules that a package leaves out. Packages contain this file, so it imports nothing."""


class MockedObject:
    """Stands for an object of a module that was left out. Each use of it raises NotImplementedError."""

    _name: str

    def __new__(cls, *args, **kwargs):
        """Return an object if a module's ``__getattr__`` asks for it. Raise NotImplementedError in a pickle."""
        if not kwargs.get("_suppress_err"):
            raise NotImplementedError(
                f"Object '{cls._name}' was mocked out during packaging but it is being used in '__new__'. If this error is "
                "happening during 'load_pickle', please ensure that your pickled object doesn't contain any mocked objects.")
        return super().__new__(cls)

    def __init__(self, name: str, _suppress_err: bool):
        self.__dict__["_name"] = name

    def __repr__(self):
        return f"MockedObject({self._name})"


def install_method(method_name):
    """Make a special method of mocked objects raise NotImplementedError."""
    def _not_implemented(self, *args, **kwargs):
        says = f"Object '{self._name}' was mocked out during packaging but it is being used in {method_name}"
        raise NotImplementedError(says)

    setattr(MockedObject, method_name, _not_implemented)


_SPECIAL = """
    abs add and bool bytes call ceil complex contains copy deepcopy delattr delitem dir divmod enter eq exit float floor floordiv
    ge getattr getitem getstate gt hash iadd iand ifloordiv ilshift imod imul index instancecheck int invert ior ipow isub iter
    itruediv ixor le len lshift lt mod mul ne neg or pos pow rand rdivmod reduce reversed rmul round rrshift rshift setattr
    setitem sizeof sub subclasscheck truediv trunc xor
"""
for method_name in _SPECIAL.split():
    install_method(f"__{method_name}__")
