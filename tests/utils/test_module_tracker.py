"""ModuleTracker knows the modules being run."""
from __future__ import annotations

import importlib


def test_forward_and_backward(xp):
    tracker = importlib.import_module(f"{xp.__name__}.utils.module_tracker").ModuleTracker()
    seen = []

    class Note(xp.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append((sorted(tracker.parents), tracker.is_bw))
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            seen.append((sorted(tracker.parents), tracker.is_bw))
            return g

    class Inner(xp.nn.Module):
        def forward(self, x):
            return Note.apply(x * 2)

    model = xp.nn.Sequential(xp.nn.Linear(2, 2), Inner())
    with tracker:
        model(xp.ones(1, 2, requires_grad=True)).sum().backward()
        assert tracker.parents == {"Global"} and not tracker.is_bw
    where = ["Global", "Sequential", "Sequential.1"]
    assert seen == [(where, False), (where, True)]
