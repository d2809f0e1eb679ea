"""Writes token_codes.json: residual codes of ColBERT, computed with torch.

    python token_codes.py > token_codes.json      (torch 2.15)

The formulas are those of ColBERT's `ResidualCodec` and `CollectionIndexer`: nearest centroid by inner product,
`torch.quantile` of held-out residuals, `torch.bucketize`, centroid + bucket weight, normalized.
"""
import json

import torch
from torch.nn.functional import normalize

torch.manual_seed(5)
DIM, CENTROIDS, VECTORS = 6, 4, 12


def numbers(tensor):
    return [float(value) for value in tensor.flatten()]


centroids = normalize(torch.randn(CENTROIDS, DIM), dim=-1)
vectors = normalize(centroids.repeat(VECTORS // CENTROIDS, 1) + 0.3 * torch.randn(VECTORS, DIM), dim=-1)
held_out = normalize(centroids.repeat(10, 1) + 0.3 * torch.randn(10 * CENTROIDS, DIM), dim=-1)


def nearest(rows):
    return (centroids @ rows.T).max(dim=0).indices


residuals = held_out - centroids[nearest(held_out)]
codes = nearest(vectors)
encodings = {}
for bits in [2, 4]:
    options = 2**bits
    quantiles = torch.arange(0, options, dtype=torch.float32) / options
    cutoffs = residuals.flatten().quantile(quantiles[1:])
    weights = residuals.flatten().quantile(quantiles + 0.5 / options)
    buckets = torch.bucketize(vectors - centroids[codes], cutoffs)
    decoded = normalize(centroids[codes] + weights[buckets], p=2, dim=-1)
    encodings[f"residual{bits}"] = {"cutoffs": numbers(cutoffs), "weights": numbers(weights), "decoded": numbers(decoded)}
print(json.dumps({
    "dim": DIM, "centroids": numbers(centroids), "residuals": numbers(residuals), "vectors": numbers(vectors),
    "nearest": codes.tolist(), "encodings": encodings,
}))
