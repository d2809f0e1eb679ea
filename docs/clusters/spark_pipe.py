"""Encodes documents and searches their vectors on a Spark cluster, with `ir worker` on every partition.

    spark-submit --master spark://HOST:7077 spark_pipe.py encode MODEL docs.jsonl vectors.jsonl
    spark-submit --master spark://HOST:7077 spark_pipe.py search docs.vectors queries.jsonl hits.jsonl

The command `ir`, the model and the vector index have the same paths on all workers. A partition whose worker is lost is
computed again by another one. The output has the bytes of `ir worker` over the whole input.
"""

import argparse
import os
import shlex

from pyspark import SparkContext


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=["encode", "search"])
    parser.add_argument("model", help="model of the encoder, or vector index to search")
    parser.add_argument("input", help="records in JSON lines, readable by all workers")
    parser.add_argument("output", help="file to write, on the driver")
    parser.add_argument("--partitions", type=int, default=16)
    parser.add_argument("--ir", default="ir", help="path of the command")
    args = parser.parse_args()

    # Executors have working directories of their own.
    if os.path.exists(args.model):
        args.model = os.path.abspath(args.model)
    if args.task == "encode":
        command = [args.ir, "--quiet", "worker", "encode", args.model, "--threads", "1"]
    else:
        command = [args.ir, "--quiet", "worker", "search", "--vectors", args.model, "--threads", "1"]
    context = SparkContext(appName=f"ir {args.task}")
    # checkCode: a worker that fails is an error, and its partition is tried again.
    lines = context.textFile(args.input, args.partitions).pipe(shlex.join(command), checkCode=True)
    # Computed in parallel once; `toLocalIterator` alone would compute one partition after another.
    lines = lines.cache()
    count = lines.count()
    partial = args.output + ".partial"
    with open(partial, "w", encoding="utf-8") as out:
        for line in lines.toLocalIterator():
            out.write(line + "\n")
    os.replace(partial, args.output)
    print(f"{args.output}: {count} records")
    context.stop()


if __name__ == "__main__":
    main()
