"""The parts of a DataLoader: collating, fetching, workers and the messages between them."""
from __future__ import annotations

from jtorch.utils.data._utils import collate as collate
from jtorch.utils.data._utils import fetch as fetch
from jtorch.utils.data._utils import pin_memory as pin_memory
from jtorch.utils.data._utils import signal_handling as signal_handling
from jtorch.utils.data._utils import worker as worker
from jtorch.utils.data._utils.errors import ExceptionWrapper as ExceptionWrapper
from jtorch.utils.data._utils.worker import MP_STATUS_CHECK_INTERVAL as MP_STATUS_CHECK_INTERVAL

HAS_NUMPY, python_exit_status = True, False
