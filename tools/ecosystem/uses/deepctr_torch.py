"""deepctr-torch: models of clicks."""

import numpy as np
from deepctr_torch.inputs import DenseFeat, SparseFeat, VarLenSparseFeat, get_feature_names
from deepctr_torch.models import DCN, DeepFM


def _data():
    generator = np.random.default_rng(0)
    columns = [SparseFeat("user", 5, embedding_dim=4), SparseFeat("item", 7, embedding_dim=4), DenseFeat("age", 1)]
    data = {"user": generator.integers(0, 5, 32), "item": generator.integers(0, 7, 32), "age": generator.random(32)}
    return columns, {name: data[name] for name in get_feature_names(columns)}, generator.integers(0, 2, 32).astype("float32")


def _fitted(model, data, y):
    model.compile("adam", "binary_crossentropy", metrics=["binary_crossentropy"])
    history = model.fit(data, y, batch_size=8, epochs=2, verbose=0, shuffle=False)
    return history.history["loss"], model.predict(data, 16)


def factorization():
    columns, data, y = _data()
    return _fitted(DeepFM(columns, columns, dnn_hidden_units=(8, 4), task="binary", device="cpu"), data, y)


def crossed():
    columns, data, y = _data()
    columns = [*columns, VarLenSparseFeat(SparseFeat("seen", 6, embedding_dim=4), maxlen=3, combiner="mean")]
    data = {**data, "seen": np.random.default_rng(1).integers(0, 6, (32, 3))}
    return _fitted(DCN(columns, columns, cross_num=2, dnn_hidden_units=(8,), task="binary", device="cpu"), data, y)
