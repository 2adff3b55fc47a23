"""torchio: transforms of volumes, patches, queues and predictions put together."""

import torch
import torchio as tio
from torch.utils.data import DataLoader


def _subject(label=0):
    volume = torch.rand(1, 12, 14, 10)
    return tio.Subject(image=tio.ScalarImage(tensor=volume), mask=tio.LabelMap(tensor=volume > 0.5), label=label)


def spatial():
    subject = _subject()
    steps = (tio.RandomFlip(axes=(0, 1), flip_probability=1), tio.Pad(2), tio.CropOrPad(12), tio.Resample(1.5),
             tio.RandomAffine(), tio.RandomElasticDeformation(num_control_points=5, max_displacement=1))  # fmt: skip
    return [step(subject).image.data for step in steps]


def intensity():
    subject = _subject()
    steps = (tio.RescaleIntensity((0, 1)), tio.ZNormalization(), tio.RandomNoise(), tio.RandomBiasField(),
             tio.RandomGamma(), tio.RandomBlur(), tio.Clamp(0.2, 0.8))  # fmt: skip
    return [step(subject).image.data for step in steps]


def artefacts():
    subject = _subject()
    steps = tio.RandomMotion(), tio.RandomGhosting(), tio.RandomSpike(), tio.RandomSwap(patch_size=2, num_iterations=3)
    return [step(subject).image.data for step in steps]


def patches():
    grid = tio.GridSampler(_subject(), patch_size=(6, 7, 5), patch_overlap=(2, 0, 0))
    together = tio.GridAggregator(grid, overlap_mode="average")
    model = torch.nn.Conv3d(1, 2, 3, padding=1)
    for batch in DataLoader(grid, batch_size=4):
        with torch.no_grad():
            together.add_batch(model(batch["image"][tio.DATA]), batch[tio.LOCATION])
    return together.get_output_tensor()


def queue():
    data = tio.SubjectsDataset([_subject(i) for i in range(3)], transform=tio.ToCanonical())
    queue = tio.Queue(data, 6, 2, tio.data.LabelSampler(4, "mask"), num_workers=0, shuffle_subjects=False)
    return [(b["image"][tio.DATA], b["label"]) for b in tio.SubjectsLoader(queue, batch_size=2)]


def history():
    transform = tio.Compose([tio.RandomFlip(), tio.RandomNoise(), tio.OneOf({tio.RandomBlur(): 0.5, tio.Pad(1): 0.5})])
    out = transform(_subject())
    return out.image.data, [type(t).__name__ for t in out.get_composed_history()]


def files():
    subject = _subject()
    subject.image.save("image.nii.gz")
    again = tio.ScalarImage("image.nii.gz")
    return again.data, again.affine, again.spacing, again.orientation
