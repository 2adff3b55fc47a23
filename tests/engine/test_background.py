"""Long compilations run in another process, while the program runs on call by call."""
from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.one_mode
TRAINING = """
import hashlib
import jtorch as torch
from jtorch.engine import background, policy, stats
policy.FOREGROUND, policy.SLACK = 0.0, {slack}
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters())
x = torch.randn(32, 8)
def train(turns):
    for turn in range(turns):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        loss.item()
def digest():
    found = hashlib.sha256()
    for p in model.parameters():
        found.update(p.detach().numpy().tobytes())
    return found.hexdigest()
"""
READY_SOON, NEVER_READY = TRAINING.format(slack=0.001), TRAINING.format(slack=1e9)


@pytest.fixture
def env(tmp_path):
    return {"JTORCH_ENGINE": "auto", "JTORCH_CACHE": str(tmp_path / "cache")}


def test_the_same_bits_with_and_without_the_process(run_forked, env):
    by_process = run_forked(READY_SOON + "train(60); print(stats.counters.background > 0, digest())", env)
    by_thread = run_forked(READY_SOON + """
def refuse():
    raise OSError
background._Server = refuse
train(60); print(stats.counters.background > 0, digest())
""", env | {"JTORCH_CACHE": "0"})
    assert by_process == by_thread
    assert by_process.startswith("True")


def test_what_the_process_has_compiled_is_read_by_the_next_program(run_forked, env):
    code = READY_SOON + "train(60); print(stats.counters.read_untraced, stats.counters.programs)"
    assert run_forked(code, env).split()[0] == "0"
    read, programs = run_forked(code, env).split()
    assert int(read) >= int(programs) > 0


def test_a_program_goes_on_where_the_process_has_been_killed(run_forked, env):
    """A system without free memory kills the process in this way."""
    code = READY_SOON + """
start = background._Server.__init__
def killed(self):
    start(self)
    self._process.kill()
background._Server.__init__ = killed
train(60); print(stats.counters.program_runs > 10, digest())
"""
    assert run_forked(code, env) == run_forked(READY_SOON + "train(60); print(True, digest())", env)


@pytest.mark.parametrize("turns", [20, 24, 28, 32])
def test_a_program_may_end_while_a_result_is_loaded(run_forked, env, turns):
    assert run_forked(READY_SOON + f"train({turns}); print('done')", env | {"JTORCH_CACHE": "0"}) == "done\n"


@pytest.mark.parametrize("ending, status", [("", 0), ("raise SystemExit(3)", 3), ("1 / 0", 1)])
def test_a_program_that_ends_meanwhile_has_its_own_status(env, ending, status):
    code = NEVER_READY + f"train(30); print(stats.counters.background, stats.counters.programs, flush=True)\n{ending}"
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, **env}, text=True, check=False,
                          capture_output=True, timeout=600)
    assert (done.stdout.split(), done.returncode) == (["1", "0"], status), done.stderr


def test_a_forked_process_does_not_wait_for_what_its_parent_compiles(run_forked, env):
    printed = run_forked(NEVER_READY + """
import os
train(30)
child = os.fork()
if child == 0:
    train(30)
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""", env)
    assert printed.split() == ["7"]


def test_an_error_of_a_call_meanwhile_is_raised_at_the_call(run_forked, env):
    printed = run_forked(NEVER_READY + """
train(30)
try:
    torch.nn.functional.nll_loss(model(x), torch.full((32,), 5))
except IndexError as error:
    print(error)
train(10)
print(all(p.isfinite().all() for p in model.parameters()))
""", env)
    assert printed.splitlines() == ["Target 5 is out of bounds.", "True"]


def test_a_program_that_is_not_python_is_not_started(run_forked, env):
    """If Python is embedded, ``sys.executable`` would start the other program again."""
    code = """
import sys
sys.executable = sys.executable.replace("python", "app")
""" + READY_SOON + "train(60); print(background._worker._server, stats.counters.program_runs > 10)"
    assert run_forked(code, env).split() == ["None", "True"]
