"""The history of results that a mode or class returned. They get the node of the op, as if the op had computed them."""
from __future__ import annotations

from typing import Any

from jtorch import storage
from jtorch._aten.asking import ask, has_handler, takes_over
from jtorch._aten.fitting import Named
from jtorch._aten.operators import exactly
from jtorch._aten.stack import switched_off
from jtorch._backward.view_history import edge_of, requires_grad, start_history
from jtorch._base import late_bindings
from jtorch._base.not_built import NotBuiltError
from jtorch._nodes.version_errors import FREED
from jtorch._nodes.vjp import backward_name
from jtorch.dispatch import call, check_inplace, make_node, write_with_history
from jtorch.dispatch.calls import any_requires_grad, inplace_name, save_result, saved_ref, underived
from jtorch.engine import Call
from jtorch.no_grad import mode
from jtorch.ops.registry import T
from jtorch.storage import value_of
from jtorch.tape import OpNode, counter_of, node_class
from jtorch.tensor import Tensor, wrap

# True once a node has saved tensors of classes with ``__torch_dispatch__``. Gradients may then be of these classes too.
has_nodes = False


def note_node() -> None:
    """Set ``has_nodes``, since a node saves tensors of classes with ``__torch_dispatch__``."""
    global has_nodes
    has_nodes = True


def is_plain(t: Any) -> bool:
    """Return whether an argument is a number, or a tensor of a class without ``__torch_dispatch__``."""
    return not isinstance(t, Tensor) or not has_handler(t.__class__)


class TensorNode(OpNode):
    """The node of a call on tensors of classes with ``__torch_dispatch__``. It saves the tensors, not values."""

    __slots__ = ()
    kept: tuple = ()        # the operator's results

    @property
    def _input_metadata(self) -> tuple:
        return self.shown

    def run(self, grads: dict, create_graph: bool, needs: list[bool]) -> list:
        """Return the gradients of the inputs, computed by operators. See Node.run.

        Raise RuntimeError if the saved tensors are released, and NotBuiltError if no operators compute the gradients.
        """
        if self.saved is None:
            raise RuntimeError(FREED)
        made = late_bindings.aten.backward(self, grads, create_graph, needs) if late_bindings.aten is not None else None
        if made is None:
            raise NotBuiltError(f"The backward of {self.call.op.name} on tensors of classes with __torch_dispatch__ is not built")
        return made

    def release(self) -> None:
        self.saved = None       # type: ignore[assignment]
        self.kept = ()


def _tensor_node(c: Call, flat: Any, outs: list) -> TensorNode:
    edges = tuple([edge_of(t) if isinstance(t, Tensor) and requires_grad(t) else None for t in flat])
    node = node_class(backward_name(c), TensorNode)(c, list(flat), edges, ())
    node.shown = tuple([storage.aval_of(t) for t in outs])
    note_node()
    return node


def _node(c: Call, flat: Any, outs: list) -> Any:
    """Return the node of a call, or None if it has no derivative."""
    if not any([storage.aval_of(t).is_inexact for t in outs]):
        return None
    if not c.op.differentiable:
        args = [value_of(t) if isinstance(t, Tensor) else t for t in flat] if all(map(is_plain, flat)) else None
        return underived(c, flat, args) if c.op.not_derived and args is not None else None
    if not all(map(is_plain, [*flat, *outs])):
        return _tensor_node(c, flat, outs)
    if c.op.saves.idempotent:
        return make_node(c, flat, [value_of(outs[0])])
    return make_node(c, flat, [value_of(t) if isinstance(t, Tensor) else t for t in flat])


def given_history(c: Call, flat: Any, made: Any, named: Named) -> Any:
    """Give the results of a taken-over call the call's history. Return a tensor or a list."""
    picked = made if named.pick is None else named.pick(made)
    several = isinstance(picked, (list, tuple))
    outs = list(picked) if several else [picked]
    if all([isinstance(t, Tensor) for t in outs]) and mode.grad and not mode.inference and any_requires_grad(flat):
        outs = _with_node(c, flat, outs, made)
    return outs if several else outs[0]


def _with_node(c: Call, flat: Any, outs: list, made: Any) -> list:
    outs = [_own(t, flat) for t in outs]
    node = _node(c, flat, outs)
    if node is None:
        return outs
    for i, t in enumerate(outs):
        if storage.aval_of(t).is_inexact:
            start_history(t, node, i)
    if isinstance(node, OpNode):
        if c.op.saves.result and is_plain(outs[0]):
            save_result(node, saved_ref(outs[0]), storage.aval_of(outs[0]))
        _keep(node, made if isinstance(made, (list, tuple)) else [made])
    return outs


def _keep(node: Any, made: Any) -> None:
    """Store the operator's results in the node, if there are several or PyTorch's node saves one."""
    saved = _saved(node.call)
    if len(made) > 1 or saved:
        node.kept = tuple([note_saved(_kept(t)) if i in saved else _kept(t) for i, t in enumerate(made)])


def _saved(c: Call) -> tuple[int, ...]:
    """Return the numbers of the results that PyTorch's node saves."""
    if c.op.name in ("max", "min", "pow") and len(c.template) > 1 and c.template[1] is not None and c.template[0] is T:
        return (0,) if c.template[1] is T and c.op.name == "pow" else ()
    return SAVED.get(c.op.name, (0,) if c.op.saves.result else ())


# Maps ops whose nodes save no result in jtorch to the numbers of the results that PyTorch's nodes save.
SAVED = {"nn.functional.scaled_dot_product_attention": (0,), "nn.functional.group_norm": (1, 2)}


def _own(t: Tensor, flat: Any) -> Tensor:
    """Return a result that can get a history: an alias of a plain tensor that is an argument or has one, else the result."""
    if t._node is None and not t._requires_grad and not any([t is x for x in flat]):
        return t
    with switched_off():
        return t.detach() if is_plain(t) else t


def _kept(t: Any) -> Any:
    """Return what a node stores of a result: a plain tensor without its history, or the result itself."""
    return wrap(value_of(t)) if isinstance(t, Tensor) and is_plain(t) else t


def note_saved(t: Tensor) -> Tensor:
    """Let modes and classes see the ``detach`` of a saved result, as in PyTorch. Return what they return, else the result."""
    named = exactly("detach", {"self": t}) if takes_over([t]) else None
    return t if named is None else ask(named.func, named.args, named.kwargs)


def operated(name: str, given: dict[str, Any], c: Call, flat: Any) -> Any:
    """If a mode or class takes over, call the operator ``name``, and give its result the history of the op's call ``c``.

    Else make the call ``c``.
    """
    named = exactly(name, given) if takes_over(flat) else None
    return call(c, flat) if named is None else given_history(c, flat, ask(named.func, named.args, named.kwargs), named)


# ---------------------------------------------------------------- in place

def given_history_of_write(c: Call, flat: Any, named: Named, name: str | None) -> Any:
    """Let a mode or class do an in-place call and give the target its new history. Return the target."""
    target = flat[0]
    tracked = mode.grad and not mode.inference and any_requires_grad(flat) and c.op.has_history_in_place
    if is_plain(target) or target._base is None:
        check_inplace(target, tracked, once=False)
    if not tracked:
        ask(named.func, named.args, named.kwargs)
        return target
    if not all(map(is_plain, flat)):
        return _tracked_write(c, flat, named)
    args = [value_of(t) if isinstance(t, Tensor) else t for t in flat]
    version = counter_of(target).version
    ask(named.func, named.args, named.kwargs)
    value = value_of(target)
    storage.set_version(target, version)        # write_with_history below repeats the write, with its history
    node = None
    if storage.aval_of(target).is_inexact:
        node = make_node(c, flat, args if not c.op.saves.idempotent else [value]) if c.op.differentiable else \
            underived(c, flat, args)
        if (name is not None or c.op.inplace.name is not None) and isinstance(node, OpNode):
            node.__class__ = node_class(name or inplace_name(c))
        if isinstance(node, OpNode) and node.versions:
            node.versions = ((None, 0), *node.versions[1:])
    write_with_history(target, value, node)
    if c.op.saves.result and isinstance(node, OpNode) and node.call is c:
        save_result(node, saved_ref(target), value.aval)
        note_saved(target)
    return target


def _tracked_write(c: Call, flat: Any, named: Named) -> Tensor:
    """Do the work of ``given_history_of_write`` if a tensor's class has ``__torch_dispatch__``."""
    target = flat[0]
    before = list(flat)
    edges = tuple([edge_of(t) if isinstance(t, Tensor) and requires_grad(t) else None for t in flat])
    ask(named.func, named.args, named.kwargs)
    node = node_class(backward_name(c), TensorNode)(c, before, edges, ())
    node.shown = (storage.aval_of(target),)
    node.kept = (target,)
    note_node()
    start_history(target, node, 0)
    return target
