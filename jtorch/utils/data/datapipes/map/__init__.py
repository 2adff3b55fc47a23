"""torch.utils.data.datapipes.map: the standard pipes whose samples have keys."""
from jtorch.utils.data.datapipes.map import pipes as _pipes
from jtorch.utils.data.datapipes.map.pipes import ConcaterMapDataPipe as Concater
from jtorch.utils.data.datapipes.map.pipes import MapperMapDataPipe as Mapper
from jtorch.utils.data.datapipes.map.pipes import SequenceWrapperMapDataPipe as SequenceWrapper
from jtorch.utils.data.datapipes.map.pipes import ZipperMapDataPipe as Zipper

__all__ = ["Concater", "Mapper", "SequenceWrapper", "Zipper"]


def __getattr__(name: str):
    if name.endswith("MapDataPipe") and hasattr(_pipes, name):      # Pickles of earlier versions of jtorch contain these names.
        return getattr(_pipes, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
