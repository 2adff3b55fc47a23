"""DeviceMesh: dimensions, groups, slices, what is refused. Unmodified PyTorch."""

import torch
import torch.distributed as dist
from ranks import saying
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh


def main(say, rank, n):
    flat = init_device_mesh("cpu", (n,))
    say(flat, flat.mesh.tolist(), flat.size(), flat.ndim, flat.shape, flat.get_local_rank(), flat.get_coordinate(), flat.device_type)
    mesh = init_device_mesh("cpu", (n // 2, 2), mesh_dim_names=("dp", "tp"))
    say(mesh, mesh.mesh.tolist(), mesh.mesh_dim_names, mesh.get_coordinate(), mesh.size(0), mesh.size())
    for name in ("dp", "tp"):
        part = mesh[name]
        x = torch.tensor([rank + 1.])
        dist.all_reduce(x, group=part.get_group())
        say(name, part, part.mesh.tolist(), part.get_local_rank(), mesh.get_local_rank(name), x,
            dist.get_process_group_ranks(mesh.get_group(name)))
    say([dist.get_process_group_ranks(g) for g in mesh.get_all_groups()], mesh["dp", "tp"] is mesh)
    together = mesh._flatten("all")
    say(together, together.mesh.tolist(), together.get_local_rank(), mesh["all"] == together)
    say(DeviceMesh("cpu", list(range(n))) == flat, hash(DeviceMesh("cpu", torch.arange(n))) == hash(flat), mesh == flat)
    say(DeviceMesh.from_group(dist.group.WORLD, "cpu"))
    for wrong in (lambda: mesh["pp"], lambda: mesh["tp", "dp"], lambda: flat["dp"], lambda: mesh.get_group(),
                  lambda: mesh.get_local_rank(), lambda: mesh.get_group("pp"), lambda: init_device_mesh("cpu", (2 * n,)),
                  lambda: init_device_mesh("cpu", (n,), mesh_dim_names=("a", "b")), lambda: init_device_mesh("cpu:0", (n,)),
                  lambda: init_device_mesh("cpu", (n // 2, 2), mesh_dim_names=("a", "a")),
                  lambda: DeviceMesh.from_group(dist.group.WORLD, "cpu", mesh=[5])):
        try:
            say(wrong())
        except Exception as error:
            say(type(error).__name__, *error.args)


if __name__ == "__main__":
    with saying() as (say, rank, n):
        main(say, rank, n)
