"""torch.autograd.Function: operations whose backward the user writes.

As in PyTorch, the context of ``forward`` and ``backward`` is itself the node of the tape: ``y.grad_fn`` is ``ctx``.
"""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from jtorch import tape
from jtorch._backward.view_history import edge_of, note_version, requires_grad, start_history
from jtorch._base import late_bindings, warned
from jtorch._base.pytree import flatten
from jtorch._nodes import tangents
from jtorch._nodes.hooks import as_tensor, as_value
from jtorch._nodes.version_errors import FREED
from jtorch.autograd import saved as _saved
from jtorch.autograd._calls import filled
from jtorch.autograd.forward_ad import _set_fwd_grad_enabled
from jtorch.dispatch import call_view, check_inplace, restrict, write_with_history
from jtorch.dispatch.sample_rules import call_rule
from jtorch.engine import batched, call_of
from jtorch.no_grad import mode, no_grad
from jtorch.ops import check
from jtorch.ops.registry import OPS, T
from jtorch.storage import aval_of, count_write, value_of
from jtorch.tape import Node, sequence
from jtorch.tensor import Tensor, alias, wrap


class FunctionCtx:
    """The context of a custom function: ``forward`` describes its results here and saves what ``backward`` needs."""

    to_save: tuple | None = None
    saved_for_forward: tuple | None = None
    dirty_tensors: tuple = ()
    non_differentiable: tuple = ()
    materialize_grads = True

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Save inputs or outputs for ``backward``, which reads them as ``ctx.saved_tensors``.

        Reading a tensor that was written to after it was saved raises RuntimeError.
        """
        self.to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Save tensors for ``jvp``."""
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Declare the inputs that ``forward`` has written to."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Declare the outputs that have no gradient."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Choose what ``backward`` gets for outputs without a gradient: zeros (True, the default) or None."""
        self.materialize_grads = value

    def mark_shared_storage(self, *pairs) -> None:
        """Do nothing, as in PyTorch, which tracks shared storages automatically."""
        warned.warn("mark_shared_storage is deprecated. Tensors with shared storages are automatically tracked. Note that "
                    "calls to `set_()` are not tracked", FutureWarning)


class BackwardCFunction(Node, FunctionCtx):
    """The node of a custom function, and its ``ctx``. Each Function has its own subclass, such as ``ExpBackward``."""

    _forward_cls: type[Function]
    _inputs: list
    needs_input_grad: tuple[bool, ...] = ()
    runs_without_gradient = True
    marked: Any = None  # A list that says of each output whether the user marked it as not differentiable.
    in_jvp = False      # True while the user's ``jvp`` runs: ``saved_tensors`` then returns ``saved_for_forward``.

    def __init__(self) -> None:
        super().__init__(())
        self._saved: list[_saved.Saved | None] | None = []
        self._outputs: list = []            # The aval of each output; None for an output that is not a tensor.
        self._is_tensor: list[bool] = []    # True for each input that is a tensor.

    def __repr__(self):
        return f"<torch.autograd.function.{self.name()} object at {hex(id(self))}>"

    @property
    def saved_tensors(self) -> tuple:
        """Return the tensors given to ``save_for_backward``; raise if one was written to since, or was freed."""
        if self.in_jvp:
            return () if self.saved_for_forward is None else self.saved_for_forward
        if self._saved is None:
            raise RuntimeError(FREED)
        return tuple([None if s is None else s.unpack(self) for s in self._saved])

    @property
    def saved_variables(self) -> tuple:
        """Return ``saved_tensors`` under its old name."""
        warned.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning)
        return self.saved_tensors

    def apply(self, *grads) -> Any:
        """Call the user's ``backward`` (or ``vjp``)."""
        cls = self._forward_cls
        backward, vjp = cls.backward, cls.vjp
        if backward is not Function.backward and vjp is not Function.vjp:
            raise RuntimeError("Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only "
                               "implement one of them.")
        chosen = vjp if vjp is not Function.vjp else backward
        return chosen(self, list(grads)) if cls.boxed_grads_call else chosen(self, *grads)

    def run(self, grads: dict, create_graph: bool, needs: list[bool]) -> list:
        """Return the gradients of the inputs by the user's ``backward``. See Node.run."""
        given = [self._gradient(grads.get(i), aval) for i, aval in enumerate(self._outputs)]
        returned = self.apply(*given)
        outs = self._checked(returned if isinstance(returned, tuple) else (returned,))
        return [None if g is None else (g if create_graph else tangents.value_unless_more(g, as_value)) for g in outs]

    def _gradient(self, grad: Any, aval: Any) -> Tensor | None:
        if grad is not None:
            return as_tensor(grad)
        if aval is None or not self.materialize_grads:
            return None
        return filled(aval, 0)

    def _checked(self, outs: tuple) -> list:
        """Return the gradients of the inputs that are tensors; raise if their number or type is wrong."""
        name, expected = self.name(), len(self._is_tensor)
        if len(outs) > expected and all(g is None for g in outs[expected:]):
            outs = outs[:expected]
        if len(outs) != expected:
            raise RuntimeError(f"function {name} returned an incorrect number of gradients (expected {expected}, got "
                               f"{len(outs)})")
        for i, (g, is_tensor) in enumerate(zip(outs, self._is_tensor, strict=True)):
            if g is not None and not is_tensor:
                raise RuntimeError(f"function {name} returned a gradient different than None at position {i + 1}, but the "
                                   "corresponding forward input was not a Variable")
            if g is not None and not isinstance(g, Tensor):
                raise RuntimeError(f"expected Variable or None (got {type(g).__name__})")
        kept = [g for g, is_tensor in zip(outs, self._is_tensor, strict=True) if is_tensor]
        return [g if g is None or self.edges[i] is None else _fitted(g, aval, i, name)
                for i, (g, aval) in enumerate(zip(kept, self._inputs, strict=True))]

    @property
    def _input_metadata(self) -> tuple:
        return tuple(self._outputs)

    def release(self) -> None:
        """Drop the saved tensors. See Node.release."""
        if self._saved:
            self._saved = None


def _fitted(grad: Tensor, aval, i: int, name: str) -> Tensor:
    """Fit a gradient to its input's shape and dtype, as PyTorch's engine does; raise if that is impossible."""
    shape = tuple(grad.shape)
    if shape != aval.shape:
        if not check.expands_to(aval.shape, shape):
            raise RuntimeError(f"Function {name} returned an invalid gradient at index {i} - got {list(shape)} but expected "
                               f"shape compatible with {list(aval.shape)}")
        grad = _summed(grad, aval.shape)
    if grad.dtype is not aval.dtype:
        if grad.dtype.is_complex and not aval.dtype.is_complex:
            raise RuntimeError(f"Function {name} returned an invalid gradient at index {i} - expected a real one but got "
                               f"{grad.dtype}")
        grad = grad.to(aval.dtype)      # type: ignore[attr-defined]
    if grad.device != aval.device:
        raise RuntimeError(f"Function {name} returned an invalid gradient at index {i} - expected device {aval.device} but "
                           f"got {grad.device}")
    return grad


def _summed(grad: Tensor, shape: tuple) -> Tensor:
    """Sum a gradient over the dims that broadcasting ``shape`` would add or stretch."""
    extra = grad.dim() - len(shape)
    dims = [*range(extra), *[extra + i for i, n in enumerate(shape) if n == 1 and grad.shape[extra + i] != 1]]
    return grad.sum(dims).reshape(shape)        # type: ignore[attr-defined]


class FunctionMeta(type):
    """The metaclass that gives each Function its own class of nodes."""

    def __init__(cls, name, bases, attrs):
        cls._backward_cls = type(f"{name}Backward", (BackwardCFunction,), {"_forward_cls": cls})
        super().__init__(name, bases, attrs)


class Function(FunctionCtx, metaclass=FunctionMeta):
    """An operation with a backward of its own. See torch.autograd.Function.

    A subclass has static methods ``forward(ctx, *args)`` and ``backward(ctx, *grads)``, or ``forward(*args)``,
    ``setup_context(ctx, inputs, output)`` and ``backward``. Call it as ``MyFunction.apply(*args)``. A backward of
    differentiable operations can be differentiated again.

    Raises:
        RuntimeError: an instance is called, ``backward`` gives another number of gradients than ``forward`` took
            arguments, or gradients of another shape.
        NotImplementedError: a method is not defined.

    Example::

        >>> class Double(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return x * 2
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         return grad * 2
        >>> x = torch.ones(2, requires_grad=True)
        >>> Double.apply(x).sum().backward()
        >>> x.grad
        tensor([2., 2.])

    """

    generate_vmap_rule = False
    clear_saved_tensors_on_access = False
    boxed_grads_call = False

    def __init__(self, *args, **kwargs):
        warned.warn(f"{self.__class__} should not be instantiated. Methods on autograd functions are all static, so you "
                    "should invoke them on the class itself. Instantiating an autograd function will raise an error in a "
                    "future version of PyTorch.", DeprecationWarning)

    def __call__(self, *args, **kwargs):
        raise RuntimeError("Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
                           "function with static forward method. (Example: "
                           "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)")

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result. The graph for backward does not get the calls in it."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> Any:
        """Save what ``backward`` needs, if ``forward`` takes no ``ctx``."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Return the gradients of the inputs, given those of the outputs."""
        raise NotImplementedError("You must implement either the backward or vjp method for your custom autograd.Function to use "
                                  "it with backward mode AD.")

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Return the tangents of the outputs, given those of the inputs (forward mode)."""
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function to use it with "
                                  "forward mode AD.")

    @staticmethod
    def vmap(info, in_dims, *args):
        """Define how the operation is batched: return (outputs, out_dims) for arguments of all samples."""
        raise NotImplementedError("To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
                                  "generate_vmap_rule=True.")

    @classmethod
    def apply(cls, *args, **kwargs):
        """Call the operation, and record it if an argument requires grad."""
        if cls.setup_context is not Function.setup_context:
            bound = inspect.signature(cls.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
        if kwargs:
            args = _in_place(cls, args, kwargs)
        inputs = [a for a in args if isinstance(a, Tensor)]
        if late_bindings.aten is not None:
            seen = late_bindings.aten.python_function(cls.__name__, args, lambda: cls._apply(args, inputs))
            if seen is not None:
                return seen
        if any([aval_of(t).traced and not batched.is_batched(value_of(t)) for t in inputs]):
            from jtorch.autograd.function_traced import apply_traced, with_history
            traced = apply_traced(cls, args)
            if not (mode.grad and any(requires_grad(t) for t in inputs)):
                return traced
            return with_history(cls._apply(args, inputs), traced)
        return cls._apply(args, inputs)

    @classmethod
    def _apply(cls, args: tuple, inputs: list) -> Any:
        level = tangents.highest(inputs) if tangents.opened else None
        if level is not None:
            from jtorch.autograd.function_forward import apply_dual
            return apply_dual(cls, args, inputs, level)
        return cls._applied(args, inputs)[1]

    @classmethod
    def _applied(cls, args: tuple, inputs: list) -> tuple[Any, Any]:
        """Apply the function once and return its context and its outputs."""
        needs = tuple([isinstance(a, Tensor) and requires_grad(a) for a in args])
        ctx = cls._backward_cls()       # type: ignore[attr-defined]
        ctx.needs_input_grad = needs
        executable = mode.grad and any(needs)
        if executable:
            ctx.edges = tuple([edge_of(t) if requires_grad(t) else None for t in inputs])
            ctx._inputs = [aval_of(t) for t in inputs]
            ctx._is_tensor = [isinstance(a, Tensor) for a in args]
        returned = run_forward(cls, ctx, args)
        if tangents.opened:
            outs = returned if isinstance(returned, tuple) else (returned,)
            ctx.marked = [any(o is x for x in ctx.non_differentiable) for o in outs]
        return ctx, _finish(ctx, inputs, returned, executable)


def _in_place(cls: type[Function], args: tuple, kwargs: dict) -> tuple:
    """Return the arguments of ``forward`` with keyword arguments in their positions.

    Raises:
        TypeError: for an unknown, repeated or missing argument.

    """
    code = cls.forward.__code__
    # Without setup_context the first parameter of forward is ctx.
    names = code.co_varnames[cls.setup_context is Function.setup_context:code.co_argcount]
    for name in kwargs:
        if name not in names:
            raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
        if name in names[:len(args)]:
            raise TypeError(f"forward() got multiple values for argument '{name}'")
    last = max([names.index(name) for name in kwargs])
    for i in range(len(args), last):
        if names[i] not in kwargs:
            raise TypeError(f"forward() missing required argument: '{names[i]}' (position {i})")
    return (*args, *[kwargs[name] for name in names[len(args):last + 1]])


def run_forward(cls: type[Function], ctx: Any, args: tuple) -> Any:
    """Call the user's ``forward``, in either of its two forms, without grad mode."""
    with no_grad(), _set_fwd_grad_enabled(False):
        if cls.setup_context is Function.setup_context:
            return cls.forward(ctx, *args)
        out = _by_rule(cls, args) if any([isinstance(a, Tensor) and aval_of(a).traced for a in flatten(args)[0]]) else None
        out = cls.forward(*args) if out is None else out
        cls.setup_context(ctx, args, out)
        return out


_EXTENDING = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


def _by_rule(cls: type[Function], args: tuple) -> Any:
    """Return the results of the function's ``vmap`` for tensors of samples; None if ``forward`` should run instead."""
    if not any([isinstance(a, Tensor) and batched.is_batched(value_of(a)) for a in flatten(args)[0]]):
        return None
    if cls.vmap is Function.vmap:
        if not cls.generate_vmap_rule:
            raise RuntimeError(f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and "
                               f"implement the vmap staticmethod or set generate_vmap_rule=True. {_EXTENDING}")
        return None
    if cls.generate_vmap_rule:
        raise RuntimeError(f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overridden "
                           "vmap staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to "
                           f"avoid ambiguity. {_EXTENDING}")
    return call_rule(cls.vmap, args, {})


def _finish(ctx: BackwardCFunction, inputs: list, returned: Any, executable: bool) -> Any:
    """Give the outputs their history, and save the tensors that the user asked for."""
    outs = returned if isinstance(returned, tuple) else (returned,)
    _check_dirty(ctx, inputs, outs)
    if executable:
        # Number the node after its inputs' nodes: backward runs nodes in reverse order of their numbers.
        ctx.seq = sequence()
        ctx._outputs = [aval_of(o) if isinstance(o, Tensor) else None for o in outs]
        if mode.anomaly:
            ctx.trace = tape.stack()
    made = [_output(ctx, o, i, inputs, executable) if isinstance(o, Tensor) else o for i, o in enumerate(outs)]
    views = [t for t in made if isinstance(t, Tensor) and t._creation == "custom"]
    if views and sum([isinstance(t, Tensor) and t._node is ctx for t in made]) > 1:
        for t in views:
            restrict(t, "multi")
    to_save = ctx.to_save or ()
    for i, t in enumerate(to_save):
        if t is not None and not isinstance(t, Tensor):
            raise TypeError(f"save_for_backward can only save variables, but argument {i} is of type {type(t).__name__}")
    if executable:
        ctx._saved = [None if t is None else _saved.Saved(t, _number(t, made, ctx)) for t in to_save]
    ctx.to_save = None
    ctx.dirty_tensors = ctx.non_differentiable = ()
    return tuple(made) if isinstance(returned, tuple) else made[0]


def _number(t: Tensor, made: list, ctx: BackwardCFunction) -> int | None:
    """Return the number of the output that is the saved tensor ``t``; None if ``t`` is no output with this node."""
    return next((i for i, m in enumerate(made) if m is t and t._node is ctx), None)


def _check_dirty(ctx: BackwardCFunction, inputs: list, outs) -> None:
    for t in ctx.dirty_tensors:
        if not isinstance(t, Tensor):
            raise RuntimeError(f"mark_dirty can only accept variables, but argument is of type {type(t).__name__}")
        if not any(t is o for o in outs):
            raise RuntimeError("Some elements marked as dirty during the forward method were not returned as output. The inputs "
                               "that are modified inplace must all be outputs of the Function.")
        if not any(t is x for x in inputs):
            warned.warn("ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated "
                        "should be passed to ctx.mark_dirty().")


def _output(ctx: BackwardCFunction, t: Tensor, nr: int, inputs: list, executable: bool) -> Tensor:
    is_input, dirty = any(t is x for x in inputs), any(t is x for x in ctx.dirty_tensors)
    differentiable = executable and aval_of(t).is_inexact and not any(t is x for x in ctx.non_differentiable)
    if dirty and is_input:
        return _dirty_output(ctx, t, nr, differentiable)
    if is_input and (differentiable or not requires_grad(t)):
        with no_grad():
            t = call_view(call_of(OPS["alias"], (T,)), (t,))
    if not differentiable:
        if requires_grad(t) and (is_input or t._base is None):      # A view of an input stays a view.
            t = alias(t)
        if t._base is not None:
            restrict(t, "custom")
        return t
    start_history(t, ctx, nr)
    if t._base is not None:
        restrict(t, "custom")
        note_version(t)
    return t


def _dirty_output(ctx: BackwardCFunction, t: Tensor, nr: int, differentiable: bool) -> Tensor:
    """Make the function the history of an input that ``forward`` has written to, as an in-place operation would."""
    if not differentiable:
        count_write(t)
        return t
    if t._base is None and t._requires_grad and t._node is None:
        raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
    check_inplace(t, True)
    write_with_history(t, value_of(t), ctx, nr)
    return t


class Error(Node):
    """The node that raises when a gradient of a ``once_differentiable`` function is differentiated again."""

    __slots__ = ()

    def run(self, grads: dict, create_graph: bool, needs: list[bool]) -> list:
        """Raise RuntimeError, since the gradient cannot be differentiated."""
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


def once_differentiable(fn: Callable) -> Callable:
    """Mark a ``backward`` whose result cannot be differentiated again.

    See torch.autograd.function.once_differentiable.
    """
    @functools.wraps(fn)
    def wrapper(ctx, *args, **kwargs):
        with no_grad():
            outputs = fn(ctx, *args, **kwargs)
        if not mode.grad or not any(isinstance(a, Tensor) and requires_grad(a) for a in args):
            return outputs
        node = Error(tuple([edge_of(a) for a in args if isinstance(a, Tensor) and requires_grad(a)]))
        outs = outputs if isinstance(outputs, tuple) else (outputs,)
        made = tuple([wrap(value_of(o), (node, i)) if isinstance(o, Tensor) else o for i, o in enumerate(outs)])
        return made if isinstance(outputs, tuple) else made[0]
    return wrapper


class InplaceFunction(Function):
    """The old base class for functions with an ``inplace`` flag."""

    def __init__(self, inplace: bool = False):
        super().__init__()
        self.inplace = inplace


class NestedIOFunction(Function):
    """A name for functions of nested tuples of tensors, which PyTorch never documented. They are not built.

    Raises:
        NotImplementedError: when it is used.

    """

    @classmethod
    def apply(cls, *args, **kwargs):
        """Raise NotImplementedError."""
        raise NotImplementedError("torch.autograd.NestedIOFunction is not built; use torch.autograd.Function with flat arguments")


__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "FunctionMeta", "InplaceFunction", "NestedIOFunction",
           "once_differentiable"]
