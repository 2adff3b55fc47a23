"""keras: models with the torch backend."""

import os

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
import torch
from keras import layers


def _seeded():
    keras.utils.set_random_seed(1)


def dense():
    _seeded()
    model = keras.Sequential(
        [layers.Input((4,)), layers.Dense(8, "relu"), layers.Dropout(0.2), layers.Dense(3, "softmax")]
    )
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    x, y = np.random.rand(32, 4), np.arange(32) % 3
    history = model.fit(x, y, epochs=3, batch_size=8, verbose=0, shuffle=False)
    return history.history, model.predict(x[:4], verbose=0), model.evaluate(x, y, verbose=0)


def convolutional():
    _seeded()
    inputs = keras.Input((8, 8, 3))
    x = layers.BatchNormalization()(layers.Conv2D(6, 3, padding="same", activation="relu")(inputs))
    x = layers.GlobalAveragePooling2D()(layers.MaxPooling2D()(x))
    model = keras.Model(inputs, layers.Dense(2)(x))
    model.compile(
        keras.optimizers.SGD(0.05, momentum=0.9), keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )
    history = model.fit(
        np.random.rand(16, 8, 8, 3), np.arange(16) % 2, epochs=2, batch_size=8, verbose=0, shuffle=False
    )
    return history.history, [w.numpy() for w in model.weights]


def recurrent():
    _seeded()
    model = keras.Sequential(
        [layers.Input((6,)), layers.Embedding(20, 8), layers.LSTM(6, return_sequences=True), layers.GRU(4)]
    )
    return model(np.random.randint(0, 20, (3, 6)))


def attention():
    _seeded()
    layer = layers.MultiHeadAttention(2, 4)
    x = np.random.rand(2, 5, 8).astype("float32")
    return layer(x, x), layers.LayerNormalization()(x)


def saved():
    _seeded()
    model = keras.Sequential([layers.Input((4,)), layers.Dense(3)])
    model.save("model.keras")
    x = np.random.rand(2, 4)
    return model.predict(x, verbose=0), keras.models.load_model("model.keras").predict(x, verbose=0)


def own_loop():
    _seeded()
    model = keras.Sequential([layers.Input((4,)), layers.Dense(1)])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(3):
        loss = model(torch.rand(8, 4)).square().mean()
        model.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def operations():
    x = keras.ops.convert_to_tensor(np.random.rand(3, 4).astype("float32"))
    return (
        keras.ops.einsum("ij,kj->ik", x, x),
        keras.ops.softmax(x),
        keras.ops.top_k(x, 2),
        keras.ops.segment_sum(x[:, 0], np.array([0, 1, 0]), 2),
        keras.ops.scatter(np.array([[0], [2]]), np.array([1.0, 2.0], "float32"), (4,)),
        keras.ops.linspace(0, 1, 5),
    )
