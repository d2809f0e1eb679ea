"""Writes the Parquet files of this folder: invented papers in the layout of the ICLR dataset.

pyarrow 26.0.1, Python 3.11: `pip install pyarrow==26.0.1 && python papers.py`
"""

import pyarrow as pa
import pyarrow.parquet as pq

TEXT = pa.string()
SCHEMA = pa.schema(
    [
        ("year", pa.int64()),
        ("id", TEXT),
        ("title", TEXT),
        ("abstract", TEXT),
        ("authors", TEXT),
        ("author_ids", TEXT),
        ("decision", TEXT),
        ("scores", pa.list_(pa.int64())),
        ("keywords", pa.list_(TEXT)),
        ("labels", TEXT),
    ]
)
TOPICS = [
    ("graphs", "graph neural networks", "messages pass along the edges of a graph"),
    ("RL", "reinforcement learning", "an agent learns by reward which steps to take"),
    ("unlabeled", "tea", "leaves are steeped, and the colour of the water is predicted"),
]


def paper(number):
    label, keyword, text = TOPICS[number % 3]
    return {
        "year": 2017 + number // 10,
        "id": f"paper-{number:02}",
        "title": f"On {keyword}, part {number}",
        "abstract": f"In part {number} {text}; größer, 图 and a \"quote\"\nover two lines.",
        "authors": "" if number == 4 else f"Ann Author, Ben Author {number}",
        "author_ids": "" if number < 20 else f"~Ann{number}",
        "decision": "Reject" if number % 2 else "Accept (poster)",
        "scores": [] if number == 5 else list(range(3, 3 + number % 5)),
        "keywords": [] if number == 6 else [keyword, f"topic {number}"],
        "labels": "unlabeled" if number == 6 else label,
    }


def table(papers, schema):
    return pa.Table.from_pylist(papers, schema=schema)


def without(schema, name):
    return schema.remove(schema.get_field_index(name))


def changed(schema, name, kind):
    return schema.set(schema.get_field_index(name), pa.field(name, kind))


PAPERS = [paper(number) for number in range(24)]
# As pandas writes it by default (snappy), in several groups of rows.
pq.write_table(table(PAPERS, SCHEMA), "papers.parquet", row_group_size=10)
# As before 2025: no author_ids. Smaller integers, no dictionary, no compression.
older = changed(without(SCHEMA, "author_ids"), "year", pa.int32())
older = changed(older, "scores", pa.list_(pa.int32()))
pq.write_table(table(PAPERS, older), "older.parquet", compression="none", use_dictionary=False)
# What is wrong is in the name.
few = PAPERS[:3]
pq.write_table(table(few, without(SCHEMA, "abstract")), "no-abstract.parquet")
as_text = [{**one, "year": str(one["year"])} for one in few]
pq.write_table(table(as_text, changed(SCHEMA, "year", TEXT)), "year-is-text.parquet")
joined = [{**one, "keywords": "; ".join(one["keywords"])} for one in few]
pq.write_table(table(joined, changed(SCHEMA, "keywords", TEXT)), "keywords-are-text.parquet")
nothing = [few[0], {**few[1], "abstract": None}, few[2]]
pq.write_table(table(nothing, SCHEMA), "second-abstract-is-null.parquet")
holes = [few[0], few[1], {**few[2], "keywords": ["tea", None]}]
pq.write_table(table(holes, SCHEMA), "third-has-a-null-keyword.parquet")
far = [{**few[0], "year": 1 << 40}]
pq.write_table(table(far, SCHEMA), "year-is-far.parquet")
# Not what pandas does unasked.
pq.write_table(table(few, SCHEMA), "zstd.parquet", compression="zstd")
