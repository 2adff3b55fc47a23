"""The examples in the docstrings of ``torch.distributed`` print what they say, each in a job of one process."""
from __future__ import annotations

import pytest

MODULES = """distributed.barriers distributed.collectives distributed.device_mesh distributed.fsdp.wrap distributed.membership
    distributed.objects distributed.store distributed.tcp_store _parallel.checkpoint.loading _parallel.checkpoint.saving
    _parallel.checkpoint.state_dict _parallel.create _parallel.dtensor _parallel.fsdp.fully_shard _parallel.modules
    _parallel.pipelining.microbatch""".split()
PROGRAM = """
import doctest, importlib, os, sys, warnings
import jtorch as torch
warnings.simplefilter("ignore")
runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
for name in {modules}:
    module = importlib.import_module(f"jtorch.{{name}}")
    scope = {{**vars(module), "torch": torch}}
    tests = [t for t in doctest.DocTestFinder().find(module, name, module=module, globs=scope) if t.examples]
    assert tests, name
    for test in tests:
        runner.run(test, out=sys.stderr.write)
assert not runner.failures
print("run:", runner.tries, flush=True)
os._exit(0)     # at a usual exit the services and clients of all the jobs end in no order, and JAX aborts the process
"""


@pytest.mark.slow
def test_examples_of_distributed_run(run_python):
    printed = run_python(PROGRAM.format(modules=MODULES), {"JTORCH_CACHE": "0"})
    assert int(printed.rpartition("run:")[2]) > 50
