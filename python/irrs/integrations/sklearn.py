"""Estimators of scikit-learn.

>>> import numpy as np
>>> from irrs.integrations.sklearn import KNeighborsClassifier
>>> X = np.array([[0, 1], [0, 0.9], [1, 0], [0.9, 0]], dtype=np.float32)
>>> KNeighborsClassifier(n_neighbors=1).fit(X, ["north", "north", "east", "east"]).predict(X).tolist()
['north', 'north', 'east', 'east']
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._irrs import FlatIndex
from ..encoders import Encoder


class SentenceEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Transformer of texts to vectors by an encoder, for pipelines.

    Parameters
    ----------
    model : path or str
        Model as in :class:`irrs.Encoder`.
    side : str
        "" for texts without a prompt, "query" or "document".
    """

    def __init__(self, model: str, side: str = "") -> None:
        self.model = model
        self.side = side

    def fit(self, X: Any, y: Any = None) -> SentenceEncoder:
        """Open the model; texts are not read."""
        self.encoder_ = Encoder(self.model)
        self.n_features_out_ = self.encoder_.dim
        return self

    def transform(self, X: Any) -> Any:
        """Return the vectors of texts, float32 of shape [texts, dim]."""
        check_is_fitted(self)
        encode = {"": self.encoder_.encode, "query": self.encoder_.encode_query, "document": self.encoder_.encode_document}
        if self.side not in encode:
            raise ValueError(f"side: expected one of query, document or an empty string, found {self.side!r}")
        return encode[self.side](list(X))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "encoder_")


class KNeighborsClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classification by the majority of the nearest neighbors, found exactly.

    Parameters
    ----------
    n_neighbors : int
        Number of neighbors.
    metric : str
        "cosine", "inner-product" or "euclidean". Euclidean gives the classes of scikit-learn's class of this name, unless
        distances or majorities are equal.
    """

    def __init__(self, n_neighbors: int = 5, metric: str = "euclidean") -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric

    def fit(self, X: Any, y: Any) -> KNeighborsClassifier:
        """Index the vectors of the training set; X is copied."""
        X = np.array(X, dtype=np.float32)
        labels = np.asarray(y)
        if len(X) != len(labels):
            raise ValueError(f"expected one class per vector, found {len(X)} vectors and {len(labels)} classes")
        if not 1 <= self.n_neighbors <= len(X):
            raise ValueError(f"n_neighbors: expected 1 to {len(X)}, found {self.n_neighbors}")
        self.classes_, self._labels = np.unique(labels, return_inverse=True)
        self.n_features_in_ = X.shape[1]
        self.index_ = FlatIndex(X, similarity=self.metric)
        return self

    def predict_proba(self, X: Any) -> Any:
        """Return the fraction of the neighbors in each class, float64 of shape [rows, classes]."""
        check_is_fitted(self)
        found = self.index_.search(np.atleast_2d(np.asarray(X, dtype=np.float32)), k=self.n_neighbors).docs
        counts = np.zeros((len(found), len(self.classes_)))
        for row, neighbors in enumerate(self._labels[found]):
            counts[row] = np.bincount(neighbors, minlength=len(self.classes_))
        return counts / self.n_neighbors

    def predict(self, X: Any) -> Any:
        """Return the classes of rows; of equal majorities the first."""
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]
