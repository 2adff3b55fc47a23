"""Device meshes, which arrange the ranks of a job as an array. See torch.distributed.device_mesh."""
from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from jtorch._api.creation import tensor as as_tensor
from jtorch._base import warned
from jtorch.distributed import membership, own_devices
from jtorch.distributed.groups import ProcessGroup
from jtorch.dtype import named
from jtorch.tensor import Tensor

__all__ = ["DeviceMesh", "init_device_mesh"]

_entered: list[DeviceMesh] = []


class DeviceMesh:
    """The ranks of a job as an array, with a process group along each dimension. See
    torch.distributed.device_mesh.DeviceMesh.

    In a process that has joined no job, and that no launcher has started, the mesh consists of this process's devices. In a job
    with the backend "xla" it consists of the devices of all processes.

    Args:
        device_type: the type of the devices, such as ``"cpu"`` or ``"cuda"``.
        mesh: the ranks, or the numbers of the devices, as nested lists or an integer tensor.
        mesh_dim_names: a name for each dimension.

    Raises:
        RuntimeError: the mesh has more ranks than the job, or more devices than this process.

    >>> mesh = DeviceMesh("cpu", [[0, 1], [2, 3]], mesh_dim_names=("dp", "tp"))     # doctest: +SKIP
    >>> mesh["tp"].get_group()                                                      # doctest: +SKIP

    """

    def __init__(self, device_type: str, mesh: Any = None, *, mesh_dim_names: Sequence[str] | None = None,
                 backend_override: Any = None, _init_backend: bool = True):
        if mesh is None:
            raise TypeError("The mesh argument is required except for PRIVATE USAGE ONLY!")
        ranks = np.asarray(mesh.detach().tolist() if isinstance(mesh, Tensor) else mesh, np.int64)
        self._set(device_type, ranks, mesh_dim_names, self, _contiguous_strides(ranks.shape))
        if _init_backend and own_devices.are_meant():
            self._set_own(own_devices.named(device_type, ranks))
        elif _init_backend:
            _join(ranks.size)
            self._groups: list[Any] | None = [_groups_along(ranks, dim, self._dim_name(dim)) for dim in range(ranks.ndim)]
            self._place()

    def _set(self, device_type: str, ranks: np.ndarray, names: Sequence[str] | None, root: DeviceMesh, strides: tuple) -> None:
        self.device_type, self._ranks, self._root, self._strides = device_type, ranks, root, strides
        self.mesh_dim_names = tuple(names) if names else None
        self._flattened: dict[str, DeviceMesh] = {}
        self._coordinate: tuple[int, ...] | None = None
        self._groups = None
        self._own: Any = None       # JAX's mesh, if the mesh consists of devices that XLA's programs span.
        self._axes: tuple[tuple[str, ...], ...] = ()        # The axes of JAX's mesh that make up each dimension.

    def _set_own(self, mesh: Any, axes: tuple[tuple[str, ...], ...] = ()) -> None:
        """Set JAX's mesh, and the axes of it that make up each dimension."""
        self._own, self._axes = mesh, axes or tuple([(name,) for name in mesh.axis_names])
        self._place()

    def _place(self) -> None:
        """Compute this process's coordinate."""
        if self._own is not None:
            self._coordinate = (0,) * self.ndim
            return
        found = np.argwhere(self._ranks == membership.get_rank())
        self._coordinate = tuple(found[0].tolist()) if len(found) else None

    def _dim_name(self, dim: int) -> str:
        return f"mesh_{self.mesh_dim_names[dim]}" if self.mesh_dim_names else f"mesh_dim_{dim}"

    # ------------------------------------------------------------ ranks and coordinates

    @property
    def mesh(self) -> Tensor:
        """The ranks as an int32 tensor."""
        return as_tensor(self._ranks.tolist(), dtype=named("int32"))

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._ranks.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of ranks along each dimension."""
        return self._ranks.shape

    def size(self, mesh_dim: int | None = None) -> int:
        """Return the number of ranks, in all or along a dimension."""
        return self._ranks.size if mesh_dim is None else self._ranks.shape[mesh_dim]

    def get_rank(self) -> int:
        """Return this process's rank in the job; 0 if the mesh consists of its devices."""
        return 0 if self._own is not None else membership.get_rank()

    def get_coordinate(self) -> Any:
        """Return this process's coordinate; None if the process is not in the mesh."""
        return self._coordinate

    def _is_current_rank_part_of_mesh(self) -> bool:
        return self._coordinate is not None

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """Return this process's coordinate along a dimension."""
        if self.ndim > 1 and mesh_dim is None:
            raise RuntimeError(f"Found the DeviceMesh have {self.ndim} dimensions",
                               "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.")
        if self._own is not None:
            return 0
        return membership.get_rank(self.get_group(0 if mesh_dim is None else mesh_dim))

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """Return the process group along a dimension that contains this process."""
        if self._own is not None:
            raise NotImplementedError("A mesh of one process's devices has no process groups, and needs none: XLA moves what is "
                                      "to be moved. Ask redistribute() and full_tensor() for what collectives would do.")
        if self._groups is None:
            raise RuntimeError("DeviceMesh process groups not initialized!")
        if mesh_dim is None and self.ndim > 1:
            raise RuntimeError(f"Found the DeviceMesh have {self.ndim} dimensions",
                               "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.",
                               "If you want to get the list of all the ProcessGroups in the DeviceMesh,"
                               "please use `get_all_groups()` instead.")
        if mesh_dim is None:
            return self._groups[0]
        if isinstance(mesh_dim, str) and mesh_dim in self._root._flattened:
            return self._root._flattened[mesh_dim].get_group()
        return self._groups[self._dim_of(mesh_dim) if isinstance(mesh_dim, str) else mesh_dim]

    def get_all_groups(self) -> list[ProcessGroup]:
        """Return the process groups along all dimensions that contain this process."""
        return [self.get_group(i) for i in range(self.ndim)]

    def _dim_of(self, name: str) -> int:
        if not self.mesh_dim_names:
            raise KeyError("No `mesh_dim_names` found.")
        if name not in self.mesh_dim_names:
            raise KeyError(f"Mesh dimension '{name}' does not exist.",
                           f"Available mesh dimensions are: mesh_dim_names={self.mesh_dim_names}")
        return self.mesh_dim_names.index(name)

    _get_mesh_dim_by_name = _dim_of

    def _get_root_mesh(self) -> DeviceMesh:
        return self._root

    # ------------------------------------------------------------ submeshes

    def __getitem__(self, mesh_dim_names: str | tuple[str, ...]) -> DeviceMesh:
        """Return the submesh along the named dimensions that contains this process."""
        if not self.mesh_dim_names:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        names = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        if names == self.mesh_dim_names:
            return self
        flattened = self._flattened if self._root is self else {}
        valid = [*self.mesh_dim_names, *flattened]
        if any(name not in valid for name in names):
            raise KeyError(f"Invalid mesh_dim_names {names} specified. Valid mesh_dim_names are {valid}.")
        if len(names) == 1 and names[0] in flattened:
            warned.warn("Slicing a flattened dim from root mesh will be deprecated in PT 2.11. Users need to bookkeep the "
                        "flattened mesh directly. ")
            return flattened[names[0]]
        if any(name in flattened for name in names):
            raise NotImplementedError("a mesh of a flattened dimension and others is not built: slice, then flatten")
        return self._sliced([self._dim_of(name) for name in names], names)

    def _sliced(self, dims: list[int], names: tuple[str, ...]) -> DeviceMesh:
        larger = [d for d in dims if self.shape[d] != 1]
        if larger != sorted(larger):
            raise KeyError(f"Invalid mesh_dim_names {names} specified. Mesh dim indices should be in ascending order.")
        made = DeviceMesh.__new__(DeviceMesh)
        made._set(self.device_type, self._part(dims), names, self._root, tuple([self._strides[d] for d in dims]))
        made._groups = None if self._groups is None else [self._groups[d] for d in dims] if self._groups else []
        if self._own is not None:
            made._set_own(self._own, tuple([self._axes[d] for d in dims]))
        made._place()
        return made

    def _part(self, dims: list[int]) -> np.ndarray:
        """Return the ranks along some dimensions that contain this process; the first ones, if it is not in the mesh."""
        at = self._coordinate or (0,) * self.ndim
        part = self._ranks[tuple([slice(None) if d in dims else at[d] for d in range(self.ndim)])]
        return part.transpose([sorted(dims).index(d) for d in dims])

    def _flatten(self, mesh_dim_name: str | None = None, backend_override: Any = None) -> DeviceMesh:
        """Return a mesh of one dimension with all ranks, and register it at the root mesh under its name."""
        if not self.mesh_dim_names:
            raise RuntimeError("Cannot flatten a DeviceMesh without mesh_dim_names!")
        name, root = mesh_dim_name or "_".join(self.mesh_dim_names), self._root
        if self.ndim == 1 and name in self.mesh_dim_names:
            return self
        if name in (root.mesh_dim_names or ()):
            raise ValueError(f"{name} already exists for submesh of the {root}. ", "The mesh_dim_names of submesh and flattened "
                             f"mesh are {root.mesh_dim_names}. Please specify another valid mesh_dim_name.")
        ranks = self._ranks.reshape(-1)
        if name in root._flattened and not np.array_equal(root._flattened[name]._ranks, ranks):
            raise ValueError(f"Flatten mesh with mesh_dim_name {name} has been created before, Please specify another valid "
                             "mesh_dim_name.")
        if name not in root._flattened:
            root._flattened[name] = self._made_flat(ranks, name)
        return root._flattened[name]

    def _made_flat(self, ranks: np.ndarray, name: str) -> DeviceMesh:
        made = DeviceMesh.__new__(DeviceMesh)
        made._set(self.device_type, ranks, (name,), self._root, (_collapsed(self.shape, self._strides),))
        if self._own is not None:
            made._set_own(self._own, (tuple([axis for axes in self._axes for axis in axes]),))
            return made
        dims = [self._root._dim_of(n) for n in self.mesh_dim_names or ()]
        others = np.moveaxis(self._root._ranks, dims, range(len(dims))).reshape(ranks.size, -1)
        made._groups = [_groups_along(others, 0, f"mesh_{name}")]
        made._place()
        return made

    @staticmethod
    def from_group(group: ProcessGroup | list[ProcessGroup], device_type: str, mesh: Any = None, *,
                   mesh_dim_names: Sequence[str] | None = None) -> DeviceMesh:
        """Return a mesh of existing groups, one along each dimension."""
        groups = [group] if isinstance(group, ProcessGroup) else list(group)
        ranks = np.asarray(_checked_ranks(group, groups, mesh, mesh_dim_names), np.int64)
        if ranks.ndim != len(groups):
            raise ValueError("Expects mesh with ndim equal to number of ProcessGroups but got mesh "
                             f"{ranks.tolist()} and {len(groups)} ProcessGroups")
        made = DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names, _init_backend=False)
        made._groups = groups
        made._place()
        return made

    # ------------------------------------------------------------ context manager, equality and pickling

    def __enter__(self) -> DeviceMesh:
        """Make this the current mesh, which functions use when they are given none."""
        _entered.append(self)
        return self

    def __exit__(self, *exception: Any) -> None:
        _entered.pop()

    def _key(self) -> tuple:
        return tuple(self._ranks.reshape(-1).tolist()), self.shape, self.device_type, self.mesh_dim_names

    def __hash__(self) -> int:
        return hash(self._key())

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, DeviceMesh) and self._key() == other._key())

    def _shown_strides(self) -> tuple:
        return tuple([() if n == 1 else stride for n, stride in zip(self.shape, self._strides, strict=True)])

    def __repr__(self) -> str:
        names = self.mesh_dim_names
        sizes = f"({', '.join(f'{k}={v}' for k, v in zip(names, self.shape, strict=True))})" if names else str(self.shape)
        text = f"DeviceMesh({sizes}, '{self.device_type}', stride={self._shown_strides()}"
        detail = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "") == "DETAIL"
        return text + (f", Mesh: {self._ranks.tolist()})" if detail else ")")

    def __getstate__(self) -> dict:
        """Return the state without process groups, which belong to one process."""
        root = None if self._root is self else self._root
        return {**self.__dict__, "_ranks": self._ranks.tolist(), "_groups": None, "_root": root, "_flattened": {},
                "_own": self._own is not None}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self._ranks, self._root = np.array(self._ranks), self._root or self
        self._own = own_devices.named(self.device_type, self._root._ranks) if state["_own"] else None


def _contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([int(np.prod(shape[i + 1:])) for i in range(len(shape))])


def _collapsed(shape: tuple[int, ...], strides: tuple) -> Any:
    """Return the common stride of dimensions that are contiguous with each other, or the strides if they are not."""
    alike = all(strides[i] == shape[i + 1] * strides[i + 1] for i in range(len(shape) - 1))
    return strides[-1] if alike else strides


def _join(ranks: int) -> None:
    if not membership.is_initialized():
        membership.init_process_group()
    size = membership.get_world_size()
    if ranks > size:
        raise RuntimeError(f"Mesh should not be bigger than default world size {size}, but found {ranks} ranks!")


def _groups_along(ranks: np.ndarray, dim: int, desc: str) -> Any:
    """Return this process's group along a dimension. Every process creates all groups."""
    rows = np.moveaxis(ranks, dim, -1).reshape(-1, ranks.shape[dim]).tolist()
    if ranks.ndim == 1 and rows[0] == list(range(membership.get_world_size())):
        return membership._get_default_group()
    made = [membership.new_group(row, group_desc=desc) for row in rows]
    return next((g for g in made if isinstance(g, ProcessGroup)), None)


def _checked_ranks(group: Any, groups: list[ProcessGroup], mesh: Any, names: Sequence[str] | None) -> Any:
    ranks = mesh.tolist() if isinstance(mesh, Tensor) else mesh
    if isinstance(group, ProcessGroup):
        if ranks is not None and list(ranks) != group.ranks:
            raise ValueError(f"Invalid mesh {mesh} for ProcessGroup with ranks {group.ranks}")
        return group.ranks
    if not groups:
        raise ValueError("Expects at least one ProcessGroup to be passed")
    if ranks is None:
        raise ValueError("Must pass mesh if passing multiple ProcessGroups")
    if names is None:
        raise ValueError("Must pass mesh_dim_names if passing multiple ProcessGroups")
    return ranks


def current_mesh() -> DeviceMesh:
    """Return the mesh of the innermost ``with`` block; RuntimeError outside any."""
    if not _entered:
        raise RuntimeError("No device mesh is currently active!")
    return _entered[-1]


def init_device_mesh(device_type: str, mesh_shape: Sequence[int], *, mesh_dim_names: Sequence[str] | None = None,
                     backend_override: Any = None) -> DeviceMesh:
    """Return a mesh of the job's ranks in order. See torch.distributed.device_mesh.init_device_mesh.

    Args:
        device_type: the type of the devices, without an index.
        mesh_shape: the number of ranks along each dimension.
        mesh_dim_names: a name for each dimension.
        backend_override: accepted and ignored.

    Returns:
        The mesh. In a process that has joined no job, and that no launcher has started, it consists of this process's
            devices.

    Raises:
        RuntimeError: names that do not fit, or more ranks than there are.

    >>> mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (1,), mesh_dim_names=("dp",))
    >>> mesh.shape, mesh.mesh_dim_names
    ((1,), ('dp',))

    """
    if mesh_dim_names is not None and len(set(mesh_dim_names)) != len(mesh_dim_names):
        raise RuntimeError("Each mesh_dim_name must be unique. Found repeated mesh_dim_name in mesh_dim_names "
                           f"{mesh_dim_names}")
    if mesh_dim_names is not None and len(mesh_shape) != len(mesh_dim_names):
        raise RuntimeError("mesh_shape and mesh_dim_names should have same length! Found len(mesh_dim_names): "
                           f"{len(mesh_dim_names)} and len(mesh_shape):{len(mesh_shape)}.")
    if device_type and not device_type.isalpha():
        raise RuntimeError(f"Device type with index is not supported but got {device_type}. ",
                           "If you maintained a 'torch.device' object, it's recommended to pass in 'device.type'.")
    shape = tuple(mesh_shape)
    return DeviceMesh(device_type, np.arange(int(np.prod(shape))).reshape(shape), mesh_dim_names=mesh_dim_names,
                      backend_override=backend_override)
