"""Writes the Arrow files of this folder with pyarrow, pandas and datasets (README.md)."""

import datetime
import decimal
import os
import shutil

import datasets
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather

os.chdir(os.path.dirname(os.path.abspath(__file__)))

day = datetime.date(2017, 3, 1)
noon = datetime.datetime(2017, 3, 1, 12, 10, 45)
corpus = pa.table(
    {
        "_id": pa.array(["d1", "d2", "d3"], pa.string_view()),
        "title": ["Tea", None, "Milk"],
        "text": pa.array(["Green tea", "Black tea \u00e9", None], pa.large_string()),
        "year": pa.array([2017, None, 2020], pa.int16()),
        "score": pa.array([0.1, float("nan"), 2.0], pa.float32()),
        "open": [True, False, None],
        "day": pa.array([day, None, None], pa.date32()),
        "time": pa.array([noon, None, None], pa.timestamp("us", "UTC")),
        "nanoseconds": pa.array([noon, None, None], pa.timestamp("ns")),
        "millennium": pa.array([day, None, None], pa.date64()),
        "price": pa.array([decimal.Decimal("1.50"), None, None], pa.decimal128(5, 2)),
        "tags": [["a", "b"], [], None],
        "pair": pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int64(), 2)),
        "metadata": [{"venue": "ACL", "page": 7}, None, {"venue": "EMNLP", "page": None}],
        "counts": pa.array([[("tea", 2)], None, []], pa.map_(pa.string(), pa.int8())),
        "language": pa.array(["en", None, "fr"]).dictionary_encode(),
        "nothing": pa.nulls(3),
        "image": [b"\x00\xff", b"", None],
        "embedding": pa.array([[0.5, 1.5], [1.0, 2.0], [0.0, 0.25]], pa.list_(pa.float32())),
    }
)
for codec in ["uncompressed", "lz4", "zstd"]:
    feather.write_feather(corpus, f"corpus-{codec}.arrow", compression=codec, chunksize=2)
with pa.OSFile("corpus-stream.arrow", "wb") as file:
    with pa.ipc.new_stream(file, corpus.schema) as writer:
        writer.write_table(corpus, max_chunksize=2)

# pandas: an index, integers with gaps as floats, a category.
frame = pd.DataFrame(
    {
        "ID": [7, 8],
        "Contents": ["Green tea", "Black tea"],
        "year": [2017.0, None],
        "language": pd.Categorical(["en", "fr"]),
    }
)
frame.to_feather("pandas.feather")

feather.write_feather(pa.table({"qid": [1, 2], "query": ["tea", "milk"]}), "queries.arrow")
qrels = pa.table({"query-id": ["q1", "q2"], "corpus-id": ["d2", "d3"], "score": [2, 1]})
feather.write_feather(qrels, "qrels.arrow")

# A dataset of the library datasets, saved to a folder.
shutil.rmtree("saved", ignore_errors=True)
texts = {"_id": ["d1", "d2", "d3"], "title": ["Tea", "", "Milk"], "text": ["Green tea", "Black", ""]}
datasets.Dataset.from_dict(texts).save_to_disk("saved", num_shards=2)
