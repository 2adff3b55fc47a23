"""Tensor and Parameter: their state and conversions. ``jtorch._api`` adds the operators and the methods made from ops."""
from __future__ import annotations

import copyreg
import weakref
from collections.abc import Callable
from sys import getrefcount
from typing import TYPE_CHECKING, Any

import numpy as np

import jtorch.dtype as dtypes
from jtorch import engine, speedups, storage, tape
from jtorch._backward import view_history
from jtorch._backward.view_history import drop_history, node_of, requires_grad, set_requires_grad
from jtorch._base import capsules, late_bindings, warned
from jtorch._base.error_notes import UNDER_JIT, with_note
from jtorch._base.layout import strided
from jtorch._base.size import Size
from jtorch._base.size import of as size_of
from jtorch._base.warned import warn_once
from jtorch._nodes import hooks
from jtorch._nodes.hooks import RemovableHandle
from jtorch._storage.typed import LEGACY, TypedStorage, warn_removal
from jtorch._storage.untyped import UntypedStorage
from jtorch.device import device as Device
from jtorch.engine import Value, batched
from jtorch.no_grad import mode
from jtorch.ops.layout import is_channels_last
from jtorch.ops.strided import is_contiguous
from jtorch.storage import Storage, VersionCounter, View, geometry_of, value_of
from jtorch.tape import AccumulateGrad, Node

if TYPE_CHECKING:
    from jtorch._bound import Bound  # the methods that are made from op records, for type checkers
else:
    Bound = object


class Tensor(Bound):
    """A mutable n-dimensional array with PyTorch's semantics over JAX's immutable ones. See torch.Tensor.

    A tensor shows a storage, whole or through a view. Its gradient goes to ``grad`` for a leaf, else to a node of the tape.
    Make tensors with ``torch.tensor``, ``torch.zeros`` and similar functions.
    """

    __slots__ = ("__dict__", "__weakref__", "_accumulator", "_base", "_counter", "_grad", "_inference", "_leaf_hooks", "_node",
                 "_node_version", "_output_nr", "_post_accumulate_hooks", "_requires_grad", "_storage", "_view")

    # Attributes that each call reads are slots, which ``blank`` fills.
    _storage: Storage
    _view: View | None                  # the geometry, or None for the whole storage
    _counter: Any                       # the object that holds the version, or None for the storage
    _requires_grad: bool
    _grad: Tensor | None
    _node: Node | None
    _output_nr: int
    _base: Tensor | None                # a view's base
    _node_version: int                  # the version of the memory when a view's node was made
    _inference: bool
    _accumulator: Callable[[], AccumulateGrad | None] | None
    _leaf_hooks: dict | None
    _post_accumulate_hooks: dict | None

    _view_op: Any = None                # a view of another dtype: (its node's name, its call on the base, an earlier view's call)
    _made_as: Any = None                # a view's geometry before it got other memory; nodes made later use this geometry
    _through: tuple = ()                # bases of the replayed views (see ``ViewRule``) on the way to the base, nearest first
    _asked_by_all = True                # True if hand-written functions also call the __torch_function__ of a subclass
    _tangents: Any = None               # a dual tensor's tangents, by level
    _creation: str | None = None        # the mode in which a view was made, if PyTorch restricts writes to such views
    _kept_hooks: dict | None = None     # hooks that stayed when the tensor got another node; new hooks are added to them
    _unheard_hooks: dict | None = None  # hooks that never run: see ``view_history.add_hook``
    _retains_grad = False
    _is_parameter = False
    _adopt: Any = None                  # subclasses: converts an optimizer's state tensor to the subclass
    _backward_from: Any = None          # subclasses: returns the tensor and gradient that backward starts from
    _show_gradient: Any = None          # subclasses: converts a gradient that autograd.grad returns
    _as_parameter: Any = None           # subclasses with their own parameter class: makes a parameter
    __array_priority__ = 1000

    def __new__(cls, *args, **kwargs):
        from jtorch._api.creation import legacy_tensor
        made = legacy_tensor(*args, **kwargs)
        return made if cls is Tensor else made.as_subclass(cls)

    # ------------------------------------------------------------ shape, dtype, device

    @property
    def shape(self) -> Size:
        """The size of each dimension."""
        return size_of(storage.aval_of(self).shape)

    def size(self, dim: int | None = None):
        """Return the shape, or the size of one dimension. See torch.Tensor.size."""
        shape = storage.aval_of(self).shape
        if dim is None:
            return size_of(shape)
        n = len(shape)
        if not hasattr(dim, "__index__"):
            raise TypeError(f"size(): argument 'dim' (position 1) must be int, not {type(dim).__name__}")
        if not -n <= dim < n:
            if n == 0:
                raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
            raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
        return shape[dim]

    @property
    def dtype(self) -> dtypes.dtype:
        """The element type."""
        return storage.aval_of(self).dtype

    @property
    def device(self) -> Device:
        """The tensor's device."""
        return storage.aval_of(self).device

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(storage.aval_of(self).shape)

    def dim(self) -> int:
        """Return the number of dimensions."""
        return len(storage.aval_of(self).shape)

    ndimension = dim

    def numel(self) -> int:
        """Return the number of elements."""
        return storage.aval_of(self).numel

    nelement = numel

    def element_size(self) -> int:
        """Return the bytes per element."""
        return self.dtype.itemsize

    itemsize = property(element_size)
    @property
    def volatile(self) -> bool:
        """False: PyTorch has removed this attribute."""
        warned.warn("volatile was removed (Variable.volatile is always False)")
        return False

    nbytes = property(lambda self: storage.aval_of(self).nbytes, doc="Bytes of all elements.")
    layout = property(lambda self: strided, doc="``torch.strided``; sparse tensors are a class of their own.")
    is_cuda = property(lambda self: self.device.type == "cuda", doc="Whether it is on a GPU.")
    is_cpu = property(lambda self: self.device.type == "cpu", doc="Whether it is on the CPU.")
    is_meta = property(lambda self: self.device.type == "meta", doc="Whether it has a shape and no data.")
    is_mps = is_sparse = is_quantized = is_mkldnn = is_xpu = is_nested = is_sparse_csr = property(
        lambda self: False, doc="False: a tensor of this class never is.")

    def is_floating_point(self) -> bool:
        """Return whether the dtype is a real floating one."""
        return storage.aval_of(self).dtype.is_floating_point

    def is_complex(self) -> bool:
        """Return whether the dtype is complex."""
        return storage.aval_of(self).dtype.is_complex

    def is_signed(self) -> bool:
        """Return whether the dtype has a sign."""
        return storage.aval_of(self).dtype.is_signed

    def is_inference(self) -> bool:
        """Return whether the tensor was made in inference mode."""
        return self._inference

    def get_device(self) -> int:
        """Return the index of the accelerator, or -1 for a tensor on the CPU or a meta tensor."""
        return -1 if self.device.type in ("cpu", "meta") else self.device.index or 0

    # ------------------------------------------------------------ memory

    def stride(self, dim: int | None = None):
        """Return the distance in memory between neighbours along each dimension, in elements."""
        stride = geometry_of(self)[1]
        if dim is None:
            return tuple(stride)
        self.size(dim)
        return stride[dim]

    def storage_offset(self) -> int:
        """Return the position of the tensor's first element in its storage, in elements."""
        return geometry_of(self)[2]

    def is_contiguous(self, memory_format=None) -> bool:
        """Return whether the elements are contiguous in the memory format."""
        size, stride, _ = geometry_of(self)
        if memory_format is None or memory_format.name == "contiguous_format":
            return self._view is None or is_contiguous(size, stride)
        if storage.aval_of(self).traced:
            batched.refuse(value_of(self), "NYI: querying is_contiguous inside of vmap for memory_format other than "
                                          "torch.contiguous_format")
        if memory_format.name == "preserve_format":
            raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
        return is_channels_last(size, stride, 4 if memory_format.name == "channels_last" else 5)

    def data_ptr(self) -> int:
        """Return the address of the first element, for code that accesses memory directly. See torch.Tensor.data_ptr.

        The elements stay at the address as long as the storage lives. From then on each read of the tensor copies them.
        On a GPU JAX moves the elements at each write, so the number only identifies tensors that share memory.
        """
        aval = storage.aval_of(self)
        if aval.traced:
            batched.refuse(value_of(self), batched.NO_MEMORY)
        return storage.address(self._storage) + self.storage_offset() * aval.np.itemsize if aval.numel else 0

    def untyped_storage(self):
        """Return the memory behind the tensor."""
        if storage.aval_of(self).traced:
            batched.refuse(value_of(self), "Cannot access storage of BatchedTensorImpl", NotImplementedError)
        return UntypedStorage(self._storage)

    def storage(self):
        """Return the memory behind the tensor (deprecated in PyTorch in favour of ``untyped_storage``)."""
        warn_removal()
        return self._typed_storage()

    def _typed_storage(self):
        return TypedStorage(wrap_storage=self.untyped_storage(), dtype=self.dtype, _internal=True)

    def storage_type(self):
        """Return the class of the tensor's typed storage."""
        return LEGACY.get(f"{self.dtype.scalar_name}Storage", TypedStorage)

    @property
    def _version(self) -> int:
        if self._inference:
            raise RuntimeError("Inference tensors do not track version counter.")
        return tape.counter_of(self).version

    def _is_view(self) -> bool:
        return self._base is not None

    @property
    def data(self) -> Tensor:
        """An alias without history. Autograd does not track writes to it."""
        if storage.aval_of(self).traced:
            batched.refuse(value_of(self), "accessing `data` under vmap transform is not allowed")
        t = alias(self)
        storage.own_version(t)
        return t

    @data.setter
    def data(self, other: Tensor) -> None:
        if not isinstance(other, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(other).__name__}")
        if requires_grad(self) and not storage.aval_of(other).is_inexact:
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        if (self.device.type == "meta") != (other.device.type == "meta"):
            raise RuntimeError("Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible "
                               "tensor type.")
        self._set_data(other)

    def _set_data(self, other: Tensor) -> None:
        """Take over another tensor's storage, also that of another device."""
        if storage.aval_of(other).shape != storage.aval_of(self).shape:
            tape.keep_shape(self, replaced=True)
        if storage.aval_of(other).traced:
            batched.check_writable(value_of(self), value_of(other),
                                  "mutating directly with `.data` under vmap transform is not allowed.")
        keep_counter(self)
        before = self._storage
        back = storage.abandoned.pop(other._storage, None) is not None       # True if tensors swap back to an earlier storage
        if before.saved and before is not other._storage and not back:      # a graph may have saved this tensor
            storage.abandoned[before] = weakref.ref(self)
        storage.show(self, other._storage, other._view)
        storage.count_apart(self)

    # ------------------------------------------------------------ autograd

    @property
    def requires_grad(self) -> bool:
        """Whether gradients are computed for this tensor."""
        return requires_grad(self)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if value is True and not storage.aval_of(self).is_inexact:
            raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
        if self._node is not None:
            raise RuntimeError("you can only change requires_grad flags of leaf variables." + ("" if value else _DETACH_INSTEAD))
        _record_leaf(self, value)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Start or stop recording operations on this leaf. See torch.Tensor.requires_grad_."""
        _record_leaf(self, requires_grad)
        return self

    @property
    def grad(self) -> Tensor | None:
        """The gradient that ``backward`` has accumulated."""
        if self._grad is None and self._node is not None and not self._retains_grad:
            warned.warn("The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute "
                        "won't be populated during autograd.backward(). If you indeed want the .grad field to be populated "
                        "for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf "
                        "Tensor by mistake, make sure you access the leaf Tensor instead. See "
                        "github.com/pytorch/pytorch/pull/30531 for more informations.")
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
            view_history.check_grad(self, value)
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def grad_fn(self) -> Node | None:
        """The node that made this tensor."""
        return node_of(self)

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made this tensor."""
        return node_of(self) is None

    @property
    def output_nr(self) -> int:
        """The number of the node's output that is this tensor."""
        return self._output_nr

    @property
    def retains_grad(self) -> bool:
        """Whether this is a non-leaf that keeps its gradient."""
        return self._retains_grad and self._node is not None

    def detach(self) -> Tensor:
        """Return an alias without history. See torch.Tensor.detach."""
        made = late_bindings.aten.function("detach", {"self": self}) if late_bindings.aten is not None else None
        return alias(self) if made is None else made

    def detach_(self) -> Tensor:
        """Make this tensor a leaf. See torch.Tensor.detach_."""
        if self._base is not None:
            raise RuntimeError("Can't detach views in-place. Use detach() instead. If you are using "
                               "DistributedDataParallel (DDP) "
                               "for training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, "
                               "and hence detach_() cannot be called on these gradients. To fix this error, please refer to the "
                               "Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution.")
        if self._node is not None:
            tape.detached.setdefault(self._node, {})[self._output_nr] = weakref.ref(self)
            self._leaf_hooks, self._kept_hooks = self._hooks_to_keep(), None
        drop_history(self)
        self._tangents = None
        return self

    def retain_grad(self) -> None:
        """Make ``backward`` fill ``grad`` of this non-leaf too."""
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        view_history.retain_grad(self)

    def register_hook(self, hook) -> RemovableHandle:
        """Run ``hook(grad)`` once this tensor's gradient is known. Its result, unless None, replaces the gradient."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        return view_history.add_hook(self, hook)

    def register_post_accumulate_grad_hook(self, hook) -> RemovableHandle:
        """Run ``hook(tensor)`` after this leaf's gradient has been accumulated."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if node_of(self) is not None:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        if self._post_accumulate_hooks is None:
            self._post_accumulate_hooks = {}
        return RemovableHandle(self._post_accumulate_hooks, hook)

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None) -> None:
        """Accumulate this tensor's gradients in the leaves of its graph. See torch.Tensor.backward."""
        from jtorch.autograd import backward
        backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    # ------------------------------------------------------------ reading

    def item(self) -> Any:
        """Return the one element as a Python number."""
        aval = storage.aval_of(self)
        if aval.numel != 1:
            raise with_note(RuntimeError(f"a Tensor with {aval.numel} elements cannot be converted to Scalar"),
                            "Use tolist() for all of them, or reduce it first, as in x.mean().item().")
        if aval.device.type == "meta":
            raise RuntimeError("Tensor.item() cannot be called on meta tensors")
        if late_bindings.aten is not None:
            made = late_bindings.aten.function("_local_scalar_dense", {"self": self})
            if made is not None:
                return made
        value = value_of(self)
        engine.read(value)
        return engine.host_array(value).item() if not aval.traced else batched.traced(value, batched.ITEM)

    def tolist(self) -> Any:
        """Return the elements as (nested lists of) Python numbers."""
        if late_bindings.aten is not None and late_bindings.aten.has_handler(type(self)):
            raise RuntimeError(f".tolist() is not supported for tensor subclasses, got {type(self).__name__}")
        if storage.aval_of(self).traced:
            batched.refuse(value_of(self), batched.NO_MEMORY)
        array = self._numpy_copy()
        return array.astype(np.float32).tolist() if array.dtype.kind == "V" else array.tolist()

    def _numpy_copy(self) -> np.ndarray:
        """Return the elements as a NumPy array that later writes to the tensor do not change. Nobody may write to the array."""
        if self._storage.host is not None and not storage.aval_of(self).traced:
            return self._storage.host_view(self._view).copy()
        value = value_of(self)
        engine.read(value)
        if value.aval.traced:
            return np.asarray(value.array)      # raises JAX's error about tracers
        if value.aval.device.type == "meta":
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        return engine.host_array(value)

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """Return the elements as a NumPy array that shares this tensor's memory. See torch.Tensor.numpy."""
        if force:
            return self.detach().cpu().resolve_conj().resolve_neg().numpy()
        if late_bindings.aten is not None and late_bindings.aten.has_handler(type(self)):
            raise RuntimeError(".numpy() is not supported for tensor subclasses.")
        if mode.grad and self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if self.device.type != "cpu":
            raise TypeError(f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to "
                            "host memory first.")
        if self.dtype.name == "bfloat16" or self.dtype.name.startswith("float8"):
            raise TypeError(f"Got unsupported ScalarType {self.dtype.scalar_name}")
        return self._shown_on_host()

    def _shown_on_host(self) -> np.ndarray:
        """Return the elements in host memory as an array that shares this tensor's memory."""
        if storage.aval_of(self).traced:
            batched.refuse(value_of(self), batched.NO_MEMORY)
            return np.asarray(value_of(self).array)
        self._storage.to_host()
        return self._storage.host_view(self._view)

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        array = self.numpy()
        if copy:
            array = array.copy()
        return array if dtype is None else array.astype(dtype, copy=False)

    def __array_wrap__(self, array: np.ndarray, context=None, return_scalar: bool = False) -> Tensor:
        from jtorch._api.creation import from_host
        return from_host(np.array(array.astype(np.uint8) if array.dtype == bool else array))      # PyTorch returns uint8 too

    def jax(self):
        """Return the elements, as they are now, as an immutable ``jax.Array``. Only elements that NumPy holds are copied."""
        value = value_of(self)
        if value.aval.traced:
            return batched.traced(value)
        engine.read(value)
        return engine.device_array(value)

    def __bool__(self) -> bool:
        n = self.numel()
        if n != 1:
            found = "no values" if n == 0 else "more than one value"
            raise with_note(RuntimeError(f"Boolean value of Tensor with {found} is ambiguous"),
                            "Say which is meant: .any() or .all(); to choose element by element, torch.where(condition, a, b).")
        if late_bindings.aten is None or not late_bindings.aten.has_handler(type(self)):
            batched.refuse_choice(value_of(self))
        try:
            return bool(self.item())
        except TypeError as error:      # JAX's, under jax.jit
            raise with_note(error, UNDER_JIT)     # noqa: B904  (the same error)

    def __int__(self) -> int:
        return int(self._real_number(dtypes.int64))

    def __float__(self) -> float:
        self._warn_of_gradient()
        return float(self._real_number(dtypes.float64))

    def __complex__(self) -> complex:
        self._warn_of_gradient()
        return complex(self._number())

    def _warn_of_gradient(self) -> None:
        if requires_grad(self):
            warn_once("Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\nConsider using "
                      "tensor.detach() first.")

    def _number(self):
        if self.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.item()

    def _real_number(self, target: dtypes.dtype):
        number = self._number()
        if isinstance(number, complex):
            dtypes.check_fits(number, target)
            return number.real
        return number

    def __index__(self) -> int:
        if storage.aval_of(self).is_inexact or self.numel() != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __len__(self) -> int:
        if self.dim() == 0:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    def __iter__(self):
        if self.dim() == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))     # type: ignore[attr-defined]

    def __reversed__(self) -> Tensor:
        return self.flip(0) if self.dim() else self     # type: ignore[attr-defined]

    def __contains__(self, element) -> bool:
        if not isinstance(element, (Tensor, int, float, complex, np.generic)):
            raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")
        return bool((self == element).any().item())

    __hash__ = object.__hash__

    def __repr__(self, *, tensor_contents=None) -> str:
        from jtorch._tensor_str import str_of_samples, tensor_str
        value = value_of(self) if storage.aval_of(self).traced else None
        return tensor_str(self) if value is None or not batched.is_batched(value) else str_of_samples(value)

    def __format__(self, spec: str) -> str:
        from jtorch._tensor_str import tensor_format
        return tensor_format(self, spec)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        if stream is not None and type(stream) is not int:
            raise TypeError("stream must be ``int`` or ``none``")
        if self.device.type == "cpu" and stream not in (None, -1):
            raise AssertionError("stream should be None on cpu.")
        if self.device.type != "cpu":
            return self.jax().__dlpack__(stream=stream)
        return capsules.exported(self._shown_on_host(), max_version)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0) if self.device.type == "cpu" else self.jax().__dlpack_device__()

    # ------------------------------------------------------------ copies

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        if self.grad_fn is not None:
            raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the "
                               "moment.  If you were attempting to deepcopy a module, this may be because of a torch.nn.utils."
                               "weight_norm usage, see https://github.com/pytorch/pytorch/pull/103001")
        import copy
        t = blank(type(self))
        memo[id(self)] = t
        t._storage = storage.deepcopy(self._storage, memo)
        if self._view is not None:
            t._view = View(self._view.aval, self._view.stride, self._view.offset, None, -1, self._view.order)
        set_requires_grad(t, self.requires_grad)
        t._grad = copy.deepcopy(self._grad, memo)
        for name in _user_slots(type(self)):
            if hasattr(self, name):
                setattr(t, name, copy.deepcopy(getattr(self, name), memo))
        t.__dict__.update(copy.deepcopy(self._attributes(), memo))
        storage.own_version(t, 0 if t._is_parameter else 1)
        return t

    def __reduce_ex__(self, protocol):
        from jtorch.serialization.plain import reduced
        return reduced(self)

    def _own_hooks(self) -> dict | None:
        """Return the hooks that ``register_hook`` added, or None."""
        node = self._node
        if node is None:
            return self._leaf_hooks
        return (node.tensor_hooks or {}).get(self._output_nr) if self._kept_hooks is None else self._kept_hooks

    def _hooks_to_keep(self) -> dict | None:
        """Return the hooks that stay with the tensor when an in-place view or ``detach_`` changes its history."""
        own = self._own_hooks()
        return None if own is None or own.keys() == {hooks.RETAIN} else own

    def _attributes(self) -> dict:
        """Return the attributes that the user has set on the tensor."""
        return {k: v for k, v in self.__dict__.items() if not hasattr(Tensor, k) and k != "_shown"}


def _user_slots(cls: type[Tensor]) -> list[str]:
    """Return the names of the slots that a user's subclass adds."""
    if cls is Tensor:
        return []
    own = copyreg._slotnames(Tensor)        # type: ignore[attr-defined]
    return [name for name in copyreg._slotnames(cls) if name not in own]        # type: ignore[attr-defined]


def _record_leaf(t: Tensor, requires_grad: bool) -> None:
    """Start or stop recording operations on a leaf."""
    if not isinstance(requires_grad, (bool, np.bool_)):
        raise TypeError(f"requires_grad_(): argument 'requires_grad' (position 1) must be bool, not "
                        f"{type(requires_grad).__name__}")
    if not requires_grad and t._node is not None:
        raise RuntimeError("you can only change requires_grad flags of leaf variables." + _DETACH_INSTEAD)
    if requires_grad and not storage.aval_of(t).is_inexact:
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    if requires_grad and t._inference and not mode.inference:
        raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
    if t._requires_grad and not requires_grad and t._accumulator is None:
        t._accumulator = tape.no_accumulator
    set_requires_grad(t, bool(requires_grad))


class _ParameterMeta(type(Tensor)):     # type: ignore[misc]
    """Makes ``isinstance(t, Parameter)`` true for parameters that keep the class of a user's tensor."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or (
            cls is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False))


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that modules register as a parameter. See torch.nn.Parameter.

    Shape: the shape of ``data``, whose dtype must be floating or complex if it requires grad.

    Args:
        data (Tensor or None): the parameter shares its memory; None gives an empty parameter.
        requires_grad (bool): compute gradients for the parameter.

    Example::

        >>> p = nn.Parameter(torch.zeros(2))
        >>> p.is_leaf, p.requires_grad
        (True, True)

    """

    _is_parameter = True

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True):
        if data is None:
            from jtorch._api.creation import legacy_tensor
            data = legacy_tensor()
        if data._as_parameter is not None:
            return data._as_parameter(requires_grad)
        if data.__class__ is not Tensor and not isinstance(data, Parameter):
            return _parameter_of(data, requires_grad)
        t = alias(data)
        t.__class__ = cls
        return with_grad(t, True) if requires_grad is True else t.requires_grad_(requires_grad)

    def __init__(self, *args: Any, **kwargs: Any):
        """Do nothing: ``__new__`` has used the arguments, for subclasses too."""

    def __deepcopy__(self, memo):
        """Copy only the elements, as PyTorch does: neither the gradient nor the user's attributes."""
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)      # type: ignore[attr-defined]
        return memo[id(self)]


def _parameter_of(data: Tensor, requires_grad: bool) -> Tensor:
    """Return a parameter that keeps the class of a user's tensor. ``isinstance`` counts it as a Parameter."""
    t = data.detach().requires_grad_(requires_grad)
    if type(t) is not type(data):
        raise RuntimeError(f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() returns "
                           f"an instance of the same type, but return type {type(t).__name__} was found instead. To use the type "
                           "as a Parameter, please correct the detach() semantics defined by its __torch_dispatch__() "
                           "implementation.")
    t._is_param = True      # type: ignore[attr-defined]
    return t


_new = object.__new__


def class_of(t: Tensor) -> type[Tensor]:
    """Return the library's class of a tensor, without the user's subclasses and their methods."""
    kind = t.__class__
    return kind if kind in library_classes else next(base for base in kind.__mro__ if base in library_classes)


library_classes: set[type] = {Tensor, Parameter}


def blank(cls: type[Tensor] = Tensor) -> Tensor:
    """Return a leaf that requires no grad and has no storage yet."""
    t = _new(cls)
    t._view = t._counter = t._grad = t._node = t._base = t._accumulator = t._leaf_hooks = t._post_accumulate_hooks = None
    t._requires_grad = t._inference = False
    t._output_nr = t._node_version = 0
    return t


def wrap(value: Value | None, edge=None, shared: Storage | None = None) -> Tensor:
    """Return a tensor of ``value``, or over the storage ``shared``, whose gradient goes to ``edge``."""
    t = blank()
    t._storage = Storage(value) if shared is None else shared     # type: ignore[arg-type]
    if edge is not None:
        t._requires_grad = True
        t._node, t._output_nr = edge
    return t


speedups.connect(globals(), "tensor")
late_bindings.wrap = wrap


def with_grad(t: Tensor, requires_grad: bool) -> Tensor:
    """Set ``requires_grad`` on a newly made tensor if the argument is True, and return the tensor."""
    if not requires_grad:
        return t
    if not storage.aval_of(t).is_inexact:
        raise with_note(RuntimeError("Only Tensors of floating point and complex dtype can require gradients"),
                        "Make it of floats: x.float(), or dtype=torch.float32.")
    return t.requires_grad_()


def alias(t: Tensor) -> Tensor:
    """Return another tensor with the same memory and version, without history."""
    made = blank()
    made._storage, made._counter, made._inference = t._storage, t._counter, t._inference
    view = t._view
    if view is not None:
        made._view = view.copy()
    return made


def keep_counter(t: Tensor) -> None:
    """Keep a tensor's version before it shows another storage. The old storage's other tensors go on sharing the version."""
    if t._counter is None:
        s = t._storage
        t._counter = VersionCounter(s.version) if getrefcount(s) <= _ALONE else s


def _references() -> int:
    """Return the ``getrefcount`` of a storage that only one tensor holds, measured as in ``keep_counter``."""
    t = _new(Tensor)
    t._storage = object()       # type: ignore[assignment]
    s = t._storage
    return getrefcount(s)


_ALONE = _references()


_DETACH_INSTEAD = (" If you want to use a computed variable in a subgraph that doesn't require differentiation use var_no_grad = "
                   "var.detach().")
