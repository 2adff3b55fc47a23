"""pytorch-forecasting: data sets of series, networks that forecast them, and metrics."""

import lightning.pytorch as pl
import numpy as np
import pandas as pd
import torch
from pytorch_forecasting import DeepAR, NBeats, TemporalFusionTransformer, TimeSeriesDataSet
from pytorch_forecasting.data import EncoderNormalizer, GroupNormalizer
from pytorch_forecasting.metrics import MAE, MAPE, SMAPE, NormalDistributionLoss, QuantileLoss


def _data():
    rows = [
        {"time": t, "series": s, "value": np.sin(t / 3) + int(s) + 0.1 * np.random.rand(), "price": np.random.rand()}
        for s in "012"
        for t in range(24)
    ]
    return pd.DataFrame(rows)


def _set(**options):
    given = dict(
        time_idx="time",
        target="value",
        group_ids=["series"],
        max_encoder_length=8,
        max_prediction_length=3,
        time_varying_unknown_reals=["value"],
        target_normalizer=GroupNormalizer(groups=["series"]),
    )
    return TimeSeriesDataSet(_data(), **{**given, **options})


def _fitted(make, data):
    loader = data.to_dataloader(train=True, batch_size=8, num_workers=0, shuffle=False)
    model = make(data)
    trainer = pl.Trainer(
        max_epochs=1,
        limit_train_batches=3,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        gradient_clip_val=0.1,
    )
    trainer.fit(model, loader)
    model.eval()
    x, _ = next(iter(loader))
    with torch.no_grad():
        return trainer.callback_metrics["train_loss_epoch"], model(x)["prediction"]


def data_sets():
    data = _set(time_varying_known_reals=["time", "price"], static_categoricals=["series"], add_relative_time_idx=True)
    x, y = next(iter(data.to_dataloader(train=False, batch_size=4, num_workers=0)))
    return {key: value for key, value in x.items() if isinstance(value, torch.Tensor)}, y[0]


def fusion_transformer():
    data = _set(time_varying_known_reals=["time", "price"], static_categoricals=["series"], add_encoder_length=True)
    return _fitted(
        lambda d: TemporalFusionTransformer.from_dataset(
            d, hidden_size=8, attention_head_size=2, hidden_continuous_size=4, loss=QuantileLoss(), dropout=0.1
        ),
        data,
    )


def nbeats():
    data = _set(min_encoder_length=8)
    return _fitted(
        lambda d: NBeats.from_dataset(
            d, widths=[16, 16], num_blocks=[1, 1], num_block_layers=[1, 1], backcast_loss_ratio=0.1
        ),
        data,
    )


def deep_ar():
    data = _set(static_categoricals=["series"])
    loss, prediction = _fitted(
        lambda d: DeepAR.from_dataset(d, hidden_size=8, rnn_layers=1, loss=NormalDistributionLoss()), data
    )
    return loss, prediction.shape


def metrics():
    predicted, actual = torch.rand(6, 3, 7), torch.rand(6, 3)
    plain = predicted[..., 3]
    return QuantileLoss()(predicted, actual), MAE()(plain, actual), SMAPE()(plain, actual), MAPE()(plain, actual + 1)


def normalizers():
    y = torch.rand(20) * 5
    encoder = EncoderNormalizer(transformation="softplus").fit(y)
    scaled = encoder.transform(y)
    return scaled, encoder.inverse_transform(scaled), encoder.get_parameters()
