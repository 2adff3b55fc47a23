"""hummingbird-ml: scikit-learn's models as tensors."""

import numpy as np
import sklearn.ensemble
import sklearn.linear_model
import sklearn.neural_network
import sklearn.pipeline
import sklearn.preprocessing
import sklearn.tree
from hummingbird.ml import convert


def _data():
    generator = np.random.default_rng(0)
    x = generator.random((60, 5)).astype(np.float32)
    return x, (x[:, 0] + x[:, 1] > 1).astype(int)


def _converted(model, x, method="predict"):
    return getattr(convert(model, "torch", x), method)(x)


def forests():
    x, y = _data()
    forest = sklearn.ensemble.RandomForestClassifier(5, max_depth=4, random_state=0).fit(x, y)
    return _converted(forest, x), _converted(forest, x, "predict_proba")


def trees_in_other_forms():
    x, y = _data()
    tree = sklearn.tree.DecisionTreeRegressor(max_depth=6, random_state=0).fit(x, y)
    return [
        convert(tree, "torch", extra_config={"tree_implementation": kind}).predict(x)
        for kind in ("gemm", "tree_trav", "perf_tree_trav")
    ]


def linear():
    x, y = _data()
    return (
        _converted(sklearn.linear_model.LogisticRegression().fit(x, y), x, "predict_proba"),
        _converted(sklearn.linear_model.LinearRegression().fit(x, y), x),
        _converted(
            sklearn.neural_network.MLPClassifier((6,), max_iter=20, random_state=0).fit(x, y), x, "predict_proba"
        ),
    )
