"""torch.utils.data.graph_settings: shuffle, seed and shard settings of all pipes in a graph."""
from __future__ import annotations

import inspect
from typing import Any

from jtorch._api import functions
from jtorch._base import warned
from jtorch.dtype import named
from jtorch.utils.data.datapipes.graph import Graph, pipes_of, traverse_dps

__all__ = ["apply_random_seed", "apply_sharding", "apply_shuffle_settings", "get_all_graph_pipes"]


def get_all_graph_pipes(graph: Graph) -> list:
    """Return all pipes of a graph, each once."""
    return pipes_of(graph)


def apply_sharding(datapipe: Any, num_of_instances: int, instance_id: int, sharding_group: Any = None) -> Any:
    """Set the shard of each ``sharding_filter``; RuntimeError for two in one branch. See torch.utils.data.graph_settings."""
    _share(traverse_dps(datapipe), (num_of_instances, instance_id), sharding_group, None)
    return datapipe


def _share(graph: Graph, part: tuple[int, int], group: Any, above: Any) -> None:
    for pipe, below in graph.values():
        shared = inspect.ismethod(getattr(pipe, "apply_sharding", None))
        if shared and above is not None:
            raise RuntimeError("Sharding twice on a single pipeline is likely unintended and will cause data loss. "
                               f"Sharding already applied to {above} while trying to apply to {pipe}")
        if shared:
            takes_group = len(inspect.signature(pipe.apply_sharding).parameters) > 2
            pipe.apply_sharding(*part, **({"sharding_group": group} if takes_group else {}))
        _share(below, part, group, pipe if shared else above)


def apply_shuffle_settings(datapipe: Any, shuffle: bool | None = None) -> Any:
    """Enable or disable each ``shuffle``, and append one if there is none. See torch.utils.data.graph_settings."""
    if shuffle is None:
        return datapipe
    found = [p for p in pipes_of(traverse_dps(datapipe)) if inspect.ismethod(getattr(p, "set_shuffle", None))]
    if not found and shuffle:
        warned.warn("`shuffle=True` was set, but the datapipe does not contain a `Shuffler`. Adding one at the end. Be aware "
                    "that the default buffer size might not be sufficient for your task.")
        datapipe = datapipe.shuffle()
        found = [datapipe]
    for pipe in found:
        pipe.set_shuffle(shuffle)
    return datapipe


def apply_random_seed(datapipe: Any, rng: Any) -> Any:
    """Seed each pipe that draws random numbers, from one generator. See torch.utils.data.graph_settings."""
    for pipe in pipes_of(traverse_dps(datapipe)):
        if inspect.ismethod(getattr(pipe, "set_seed", None)):
            pipe.set_seed(int(functions.empty((), dtype=named("int64")).random_(generator=rng).item()))
    return datapipe
