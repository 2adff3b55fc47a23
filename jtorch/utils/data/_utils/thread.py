"""DataLoader workers that are threads of this process."""
from __future__ import annotations

import copy
import dataclasses
import queue
import threading
from typing import Any

from jtorch.utils.data._utils import worker
from jtorch.utils.data._utils.worker import Job


class Threads:
    """Worker threads, each with a shallow copy of the dataset, so that attributes set by one do not affect the others."""

    def __init__(self, job: Job) -> None:
        self.results: queue.SimpleQueue = queue.SimpleQueue()
        self.queues: list[queue.SimpleQueue] = [queue.SimpleQueue() for _ in range(job.num_workers)]
        self.stopped = threading.Event()
        self.members = [threading.Thread(target=_run, name=f"pt_data_worker-{i}", daemon=True,
                                         args=(_with_own_dataset(job), i, self.queues[i], self.results, self.stopped))
                        for i in range(job.num_workers)]
        for t in self.members:
            t.start()

    def send(self, worker_id: int, message: Any) -> None:
        """Send a message to a worker."""
        self.queues[worker_id].put(message)

    def receive(self, timeout: float | None, active: list[bool]) -> Any:
        """Return the next result of a worker; ``queue.Empty`` after ``timeout`` seconds."""
        return self.results.get(timeout=timeout)

    def stop(self, worker_id: int) -> None:
        """Tell a worker that no more messages follow."""
        self.queues[worker_id].put(None)

    def close(self) -> None:
        """End all workers after their current batch."""
        self.stopped.set()
        for i, t in enumerate(self.members):
            self.stop(i)
            if t is not threading.current_thread():
                t.join(worker.MP_STATUS_CHECK_INTERVAL)


def _with_own_dataset(job: Job) -> Job:
    try:
        return dataclasses.replace(job, dataset=copy.copy(job.dataset))
    except Exception:  # noqa: BLE001 (whatever a dataset raises that cannot be copied)
        return job


def _run(job: Job, worker_id: int, messages: queue.SimpleQueue, results: queue.SimpleQueue, stopped: threading.Event) -> None:
    worker.enter_thread(job, worker_id)

    def receive() -> Any:
        message = messages.get()
        return None if stopped.is_set() else message
    worker.work(job, worker_id, f"in DataLoader worker thread {worker_id}", receive, results.put)
