"""``python -m torch.distributed.run [--nproc-per-node N] script.py [args…]``: start a program's processes and watch them.

On one machine use ``--standalone``, or nothing. On several machines run the same command on each, with ``--nnodes``,
``--node-rank``, ``--master-addr`` and ``--master-port``. If a process fails, the launcher ends the others and the report
names the failed one. ``--max-restarts`` restarts all of them.
"""
from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

from jtorch.distributed import _agent
from jtorch.distributed.elastic.multiprocessing.errors import ChildFailedError


def get_args_parser() -> argparse.ArgumentParser:
    """Return the parser of the command's arguments, which accept dashes and underscores as PyTorch's do."""
    parser = argparse.ArgumentParser("torchrun", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)

    def add(name: str, **options: Any) -> None:
        parser.add_argument(f"--{name}", *([f"--{name.replace('-', '_')}"] if "-" in name else []), **options)
    add("nnodes", default="1", help="how many machines")
    add("nproc-per-node", default="1", help="processes on each, or auto: one a core")
    add("rdzv-backend", default="static", help="static, or c10d: machines say by the endpoint which they are")
    add("rdzv-endpoint", default="", help="host:port of the first machine")
    add("rdzv-id", default="none", help="a name of the job")
    add("rdzv-conf", default="", help="timeout=SECONDS")
    add("standalone", action="store_true", help="one machine, at a port that is free")
    add("max-restarts", type=int, default=0, help="how often to start again after a failure")
    add("monitor-interval", type=float, default=0.1, help="seconds between two looks at the processes")
    add("start-method", default="spawn", choices=["spawn", "fork", "forkserver"], help="accepted; processes are always new ones")
    add("role", default="default")
    parser.add_argument("-m", "--module", action="store_true", help="the program is a module")
    add("no-python", action="store_true", help="the program is run as it is")
    add("run-path", action="store_true", help="accepted: a script is run by its path")
    add("log-dir", help="a folder for the logs")
    parser.add_argument("-r", "--redirects", default="0", help="1 stdout, 2 stderr, 3 both: into files of log-dir")
    parser.add_argument("-t", "--tee", default="0", help="as --redirects, and shown too")
    add("local-ranks-filter", default="", help="the local ranks whose output is shown")
    add("node-rank", type=int, default=0, help="which machine this is")
    add("master-addr", default=None, help="the first machine's address")
    add("master-port", type=int, default=None, help="a port of it")
    add("local-addr", default=None, help="this machine's address")
    parser.add_argument("training_script", help="the program")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER, help="its arguments")
    return parser


_HANDLED = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT")      # SIGINT too: background jobs begin with SIGINT ignored.


@contextlib.contextmanager
def _signals_raise() -> Iterator[None]:
    """Let signals end the processes as Ctrl-C does, in this block."""
    def stop(number: int, frame: Any) -> None:
        raise KeyboardInterrupt
    in_main = threading.current_thread() is threading.main_thread()
    numbers = [getattr(signal, name) for name in _HANDLED if in_main and hasattr(signal, name)]
    before: list[Any] = [signal.signal(number, stop) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def run(args: argparse.Namespace) -> None:
    """Run a program; ChildFailedError if a rank fails."""
    agent = _agent.Agent(args)
    with _signals_raise():
        failures = agent.run()
    if failures:
        raise ChildFailedError(args.training_script, failures)


def main(args: list[str] | None = None) -> None:
    """Run the command."""
    from jtorch._import_hook import install_in_children, serves_processes
    given = get_args_parser().parse_args(args)
    if not serves_processes():
        # The command was started as jtorch.distributed.run, so ``import torch`` has to be set up for the processes.
        install_in_children()
    try:
        run(given)
    except ChildFailedError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
