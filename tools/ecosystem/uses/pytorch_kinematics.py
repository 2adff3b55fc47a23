"""pytorch-kinematics: positions and Jacobians of robots."""

import pytorch_kinematics as pk
import torch


def _robot(joints=3):
    links = "".join(f'<link name="link{k}"/>' for k in range(joints + 1))
    axes = ("1 0 0", "0 1 0", "0 0 1")
    made = "".join(
        f'<joint name="joint{k}" type="revolute"><parent link="link{k}"/><child link="link{k + 1}"/>'
        f'<origin xyz="0.1 0 0.3" rpy="0 0.2 0"/><axis xyz="{axes[k % 3]}"/>'
        f'<limit lower="-2" upper="2" effort="1" velocity="1"/></joint>'
        for k in range(joints)
    )
    return f'<?xml version="1.0"?><robot name="arm">{links}{made}</robot>'


def forward():
    chain = pk.build_serial_chain_from_urdf(_robot(), "link3")
    angles = torch.randn(4, 3, requires_grad=True)
    ends = chain.forward_kinematics(angles)
    matrix = ends.get_matrix()
    matrix[:, :3, 3].sum().backward()
    every = chain.forward_kinematics(angles.detach(), end_only=False)
    return matrix, angles.grad, {k: t.get_matrix() for k, t in every.items()}, pk.matrix_to_quaternion(matrix[:, :3, :3])


def jacobians():
    chain = pk.build_serial_chain_from_urdf(_robot(6), "link6")
    return chain.get_joint_parameter_names(), chain.jacobian(torch.randn(2, 6))
