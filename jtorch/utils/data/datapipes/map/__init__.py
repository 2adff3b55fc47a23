"""torch.utils.data.datapipes.map: the usual pipes whose samples have keys."""
from jtorch.utils.data.datapipes.map.pipes import ConcaterMapDataPipe as Concater
from jtorch.utils.data.datapipes.map.pipes import MapperMapDataPipe as Mapper
from jtorch.utils.data.datapipes.map.pipes import SequenceWrapperMapDataPipe as SequenceWrapper
from jtorch.utils.data.datapipes.map.pipes import ZipperMapDataPipe as Zipper

__all__ = ["Concater", "Mapper", "SequenceWrapper", "Zipper"]
