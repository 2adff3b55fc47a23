"""The graph of a trace: nodes, their values and the types of values, as ``torch._C.Graph`` shows them."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from jtorch.dtype import dtype as Dtype
from jtorch.tensor import Tensor

_SCALARS = {"float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16", "int64": "Long", "int32": "Int",
            "int16": "Short", "int8": "Char", "uint8": "Byte", "bool": "Bool", "complex64": "ComplexFloat",
            "complex128": "ComplexDouble", "complex32": "ComplexHalf"}
_KINDS = {"int": "IntType", "float": "FloatType", "bool": "BoolType", "str": "StringType", "NoneType": "NoneType",
          "Device": "DeviceObjType", "complex": "ComplexType", "number": "NumberType"}


def _scalar_name(dtype: Dtype) -> str:
    name = str(dtype).removeprefix("torch.")
    return _SCALARS.get(name, name)


class TensorType:
    """The dtype, shape, strides and device of a tensor in the trace."""

    annotation_str = "Tensor"

    def __init__(self, t: Tensor):
        self._dtype, self._size, self._stride = t.dtype, list(t.shape), list(t.stride())
        self._wants_grad, self._device = t.requires_grad, t.device

    def kind(self) -> str:
        """Return ``"TensorType"``, the kind of this type."""
        return "TensorType"

    def sizes(self) -> list[int]:
        """Return the shape."""
        return self._size

    def strides(self) -> list[int]:
        """Return the strides."""
        return self._stride

    def dim(self) -> int:
        """Return how many dims the tensor has."""
        return len(self._size)

    def dtype(self) -> Dtype:
        """Return the dtype."""
        return self._dtype

    def scalarType(self) -> str:
        """Return the dtype's name in TorchScript, such as ``Float``."""
        return _scalar_name(self._dtype)

    def device(self) -> Any:
        """Return the device."""
        return self._device

    def requiresGrad(self) -> bool:
        """Return whether the tensor required a gradient."""
        return self._wants_grad

    def __str__(self) -> str:
        strides = [f"strides=[{', '.join(map(str, self._stride))}]"] if self._size else []
        facts = [*map(str, self._size), *strides, f"requires_grad={self._wants_grad:d}", f"device={self._device}"]
        return f"{self.scalarType()}({', '.join(facts)})"


class PlainType:
    """The type of a number, a text, None, a list or a tuple, by its name in TorchScript."""

    def __init__(self, name: str):
        self.annotation_str = name

    def kind(self) -> str:
        """Return the type's class in TorchScript."""
        name = self.annotation_str
        return "ListType" if name.endswith("[]") else "TupleType" if name.startswith("(") else _KINDS.get(name, "AnyType")

    def __str__(self) -> str:
        return self.annotation_str


def _named_type(value: Any) -> str:
    if value is None:
        return "NoneType"
    known = {bool: "bool", int: "int", float: "float", str: "str", complex: "complex"}
    return known.get(type(value), "int" if isinstance(value, Dtype) else "Device")


class Value:
    """A value of the graph: what a node gives, or an input."""

    def __init__(self, node: Node, kind: Any, name: str):
        self._from, self._type, self._name = node, kind, name
        self._uses: list[Node] = []

    def node(self) -> Node:
        """Return the node that gives the value."""
        return self._from

    def type(self) -> Any:
        """Return the type."""
        return self._type

    def debugName(self) -> str:
        """Return the name in the graph's text."""
        return self._name

    def isCompleteTensor(self) -> bool:
        """Return whether the value is a tensor of known shape."""
        return isinstance(self._type, TensorType)

    def uses(self) -> list[Node]:
        """Return the nodes that take the value."""
        return self._uses

    def requires_grad(self) -> bool:
        """Return whether the value is a tensor that requires a gradient."""
        return self.isCompleteTensor() and self._type.requiresGrad()

    def toIValue(self) -> Any:
        """Return the value of a constant; None for a computed value."""
        return self._from.constant if self._from.kind() == "prim::Constant" else None

    def __repr__(self) -> str:
        return f"{self._name} defined in ({self._from})"


class Node:
    """An operator, a constant or a list in the graph, with the values that it takes and gives."""

    def __init__(self, kind: str, inputs: Iterable[Value], scope: str, constant: Any = None, name: str = ""):
        self._kind, self._inputs, self._outputs, self._scope = kind, list(inputs), list[Value](), scope
        self.constant, self._name = constant, name
        for value in self._inputs:
            value._uses.append(self)

    def kind(self) -> str:
        """Return the kind, such as ``aten::add`` or ``prim::Constant``."""
        return self._kind

    def inputs(self) -> Iterator[Value]:
        """Return the values that the node takes."""
        return iter(self._inputs)

    def outputs(self) -> Iterator[Value]:
        """Return the values that the node gives."""
        return iter(self._outputs)

    def inputsSize(self) -> int:
        """Return how many values the node takes."""
        return len(self._inputs)

    def outputsSize(self) -> int:
        """Return how many values the node gives."""
        return len(self._outputs)

    def inputsAt(self, i: int) -> Value:
        """Return input ``i`` of the node."""
        return self._inputs[i]

    def outputsAt(self, i: int) -> Value:
        """Return output ``i`` of the node."""
        return self._outputs[i]

    def input(self) -> Value:
        """Return the only value that the node takes."""
        return _only(self._inputs)

    def output(self) -> Value:
        """Return the only value that the node gives."""
        return _only(self._outputs)

    def scopeName(self) -> str:
        """Return the scopes in which the node was recorded, with ``/`` between them."""
        return self._scope

    def pyname(self) -> str:
        """Return the class name of the node's ``torch.autograd.Function``."""
        return self._name

    def __str__(self) -> str:
        gives = ", ".join([f"%{v.debugName()} : {v.type()}" for v in self._outputs])
        takes = ", ".join([f"%{v.debugName()}" for v in self._inputs])
        kind = f"^{self._name}" if self._kind == "prim::PythonOp" else self._kind
        return f"{gives} = {kind}{_attributes(self)}({takes})\n"

    __repr__ = __str__


def _only(values: list[Value]) -> Value:
    if len(values) != 1:
        raise RuntimeError(f"expected one value, and there are {len(values)}")
    return values[0]


def _attributes(node: Node) -> str:
    value = node.constant
    if node.kind() != "prim::Constant" or value is None:
        return ""
    if isinstance(value, Tensor):
        return f"[value={{{value.item()}}}]" if value.dim() == 0 else "[value=<Tensor>]"
    text = f'"{value}"' if not isinstance(value, (int, float, complex)) else str(value + 0)
    return f"[value={text}]"


class Graph:
    """The graph of a trace: inputs, nodes in their order, and outputs."""

    def __init__(self) -> None:
        self._given, self._nodes, self._count = Node("prim::Param", [], ""), list[Node](), 0
        self._result = Node("prim::Return", [], "")

    def nodes(self) -> Iterator[Node]:
        """Return the nodes in their order."""
        return iter(self._nodes)

    def inputs(self) -> Iterator[Value]:
        """Return the inputs: the arguments' tensors, then the module's parameters and buffers."""
        return self._given.outputs()

    def outputs(self) -> Iterator[Value]:
        """Return the outputs."""
        return self._result.inputs()

    def param_node(self) -> Node:
        """Return the node that gives the inputs."""
        return self._given

    def return_node(self) -> Node:
        """Return the node that takes the outputs."""
        return self._result

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Node]:
        """Return all nodes of a kind."""
        return [node for node in self._nodes if node.kind() == kind]

    def findNode(self, kind: str, recurse: bool = True) -> Node | None:
        """Return the first node of a kind; None if there is none."""
        return next(iter(self.findAllNodes(kind)), None)

    def __str__(self) -> str:
        given = ",\n      ".join([f"%{v.debugName()} : {v.type()}" for v in self.inputs()])
        body = "".join([f"  {node}" for node in self._nodes])
        return f"graph({given}):\n{body}  return ({', '.join([f'%{v.debugName()}' for v in self.outputs()])})\n"

    __repr__ = __str__

    def _gives(self, node: Node, kind: Any) -> Value:
        made = Value(node, kind, str(self._count))
        self._count += 1
        node._outputs.append(made)
        return made

    def add_input(self, t: Tensor) -> Value:
        """Add an input for a tensor and return its value."""
        return self._gives(self._given, TensorType(t))

    def add(self, kind: str, inputs: Iterable[Value], types: Iterable[Any], scope: str, **more: Any) -> Node:
        """Add a node that gives values of these types."""
        node = Node(kind, inputs, scope, **more)
        self._nodes.append(node)
        for one in types:
            self._gives(node, one)
        return node

    def add_constant(self, value: Any, scope: str) -> Value:
        """Add a constant and return its value."""
        kind = TensorType(value) if isinstance(value, Tensor) else PlainType(_named_type(value))
        return self.add("prim::Constant", [], [kind], scope, constant=value).output()

    def finish(self, values: Iterable[Value]) -> None:
        """Set the outputs, and drop the nodes that write nothing and whose results are not used."""
        self._result = Node("prim::Return", values, "")
        for node in reversed(list(self._nodes)):
            if not _is_kept(node):
                self._nodes.remove(node)
                for value in node._inputs:
                    value._uses.remove(node)


def _is_kept(node: Node) -> bool:
    return any([v._uses for v in node._outputs]) or (node.kind().endswith("_") and not node.kind().endswith("__"))
