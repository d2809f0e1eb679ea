"""Writes the Parquet files of this folder with pyarrow, pandas and polars (README.md)."""

import datetime
import os

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

os.chdir(os.path.dirname(os.path.abspath(__file__)))

day = datetime.date(2017, 3, 1)
noon = datetime.datetime(2017, 3, 1, 12, 10, 45)
corpus = pa.table(
    {
        "_id": ["d1", "d2", "d3"],
        "title": ["Tea", None, "Milk"],
        "text": ["Green tea", "Black tea \u00e9", None],
        "year": pa.array([2017, None, 2020], pa.int16()),
        "score": pa.array([0.1, float("nan"), 2.0], pa.float32()),
        "open": [True, False, None],
        "day": pa.array([day, None, None], pa.date32()),
        "time": pa.array([noon, None, None], pa.timestamp("us")),
        "nanoseconds": pa.array([noon, None, None], pa.timestamp("ns")),
        "tags": [["a", "b"], [], None],
        "metadata": [{"venue": "ACL", "page": 7}, None, {"venue": "EMNLP", "page": None}],
        "image": [b"\x00\xff", b"", None],
        "embedding": pa.array([[0.5, 1.5], [1.0, 2.0], [0.0, 0.25]], pa.list_(pa.float32())),
    }
)
for codec in ["none", "snappy", "gzip", "lz4", "brotli", "zstd"]:
    pq.write_table(corpus, f"corpus-{codec}.parquet", compression=codec, row_group_size=2)

# pandas: an index, integers with gaps as floats, dates of nanoseconds.
frame = pd.DataFrame(
    {
        "ID": [7, 8],
        "Contents": ["Green tea", "Black tea"],
        "year": [2017.0, None],
        "date": pd.to_datetime(["2017-03-01", "2020-01-01"]),
    },
    index=["x", "y"],
)
frame.to_parquet("pandas.parquet")

# pandas: an index of ids that is a range, in the metadata only, and integers as floats.
pd.DataFrame(
    {"number": [1008.0, 1009.0, 0.5], "text": ["ship", "tea", "milk"]},
    index=pd.RangeIndex(1000, 1003, name="doc_id"),
).to_parquet("pandas-range.parquet")

pl.DataFrame({"qid": [1, 2], "query": ["tea", "milk"]}).write_parquet(
    "polars.parquet", compression="uncompressed"
)

# A dataset of the hub with judgments in two parts.
os.makedirs("hub/corpus", exist_ok=True)
os.makedirs("hub/queries", exist_ok=True)
os.makedirs("hub/data", exist_ok=True)
texts = corpus.select(["_id", "title", "text"])
pq.write_table(texts.slice(0, 2), "hub/corpus/corpus-00000-of-00002.parquet")
pq.write_table(texts.slice(2), "hub/corpus/corpus-00001-of-00002.parquet")
queries = pa.table({"_id": ["q1", "q2"], "text": ["tea", "milk"]})
pq.write_table(queries, "hub/queries/queries-00000-of-00001.parquet")
qrels = pa.table({"query-id": ["q1", "q2"], "corpus-id": ["d2", "d3"], "score": [2, 1]})
pq.write_table(qrels.slice(0, 1), "hub/data/test-00000-of-00002.parquet")
pq.write_table(qrels.slice(1), "hub/data/test-00001-of-00002.parquet")
