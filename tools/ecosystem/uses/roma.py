"""roma: rotations as matrices, vectors and quaternions."""

import roma
import torch


def conversions():
    v = torch.randn(5, 3, requires_grad=True)
    q = roma.rotvec_to_unitquat(v)
    r = roma.unitquat_to_rotmat(q)
    back = roma.rotmat_to_rotvec(r)
    back.square().sum().backward()
    angles = roma.rotmat_to_euler("xyz", r.detach(), degrees=True)
    return q, r, back, v.grad, angles, roma.rotmat_geodesic_distance(r[:-1], r[1:])


def means_and_registration():
    x = torch.randn(20, 3)
    r = roma.rotvec_to_rotmat(torch.tensor([0.3, -0.2, 0.5]))
    found, t = roma.rigid_points_registration(x, x @ r.T + 1.0)
    nearest = roma.special_procrustes(r + 0.1 * torch.randn(4, 3, 3))
    q = roma.rotmat_to_unitquat(nearest)
    halfway = roma.unitquat_slerp(q[0], q[1], torch.linspace(0, 1, 5))
    return found, t, nearest, halfway, roma.RotationUnitQuat(q)[0].inverse().linear
