"""Encodes documents and searches their vectors on a Spark cluster with `mapInArrow`: batches of Arrow to and from `ir worker`.

    spark-submit --master spark://HOST:7077 spark_arrow.py encode MODEL docs.jsonl vectors.parquet
    spark-submit --master spark://HOST:7077 spark_arrow.py search docs.vectors vectors.parquet hits.parquet

The command `ir`, built with the feature `arrow`, and the model or the vector index have the same paths on all workers. A
partition whose worker is lost is computed again by another one. The values are those of `ir worker` over the whole input.
"""

import argparse
import os
import subprocess
import threading
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import SparkSession


def through(command: list[str], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Passes the batches of a partition through a command."""
    first = next(batches, None)
    if first is None:
        return
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    failures: list[BaseException] = []

    def feed() -> None:
        try:
            with process.stdin, pa.ipc.new_stream(process.stdin, first.schema) as stream:
                stream.write_batch(first)
                for batch in batches:
                    stream.write_batch(batch)
        except BrokenPipeError:  # the command has ended: its exit code tells how
            pass
        except BaseException as error:  # raised by the reading thread
            failures.append(error)
            process.kill()

    feeder = threading.Thread(target=feed)
    feeder.start()
    try:
        with pa.ipc.open_stream(process.stdout) as results:
            yield from results
    finally:
        process.stdout.close()
        feeder.join()
        # The exit code decides: a stream that ends early may have no error.
        code = process.wait()
        if failures:
            raise failures[0]
        if code != 0:
            raise RuntimeError(f"{command[0]}: expected exit code 0, found {code}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=["encode", "search"])
    parser.add_argument("model", help="model of the encoder, or vector index to search")
    parser.add_argument("input", help="texts in JSON lines, or vectors in Parquet; readable by all workers")
    parser.add_argument("output", help="folder of Parquet files to write, on storage that all workers share")
    parser.add_argument("--partitions", type=int, default=16)
    parser.add_argument("--ir", default="ir", help="path of the command")
    args = parser.parse_args()

    # Executors have working directories of their own.
    if os.path.exists(args.model):
        args.model = os.path.abspath(args.model)
    session = SparkSession.builder.appName(f"ir {args.task}").getOrCreate()
    if args.task == "encode":
        options = [args.model]
        records = session.read.schema("id string, title string, text string").json(args.input)
        schema = "id string, vector array<float>"
    else:
        options = ["--vectors", args.model]
        records = session.read.parquet(args.input).select("id", "vector")
        schema = "id string, hits array<struct<id: string, score: float>>"
    command = [args.ir, "--quiet", "worker", args.task, *options, "--format", "arrow", "--threads", "1"]
    results = records.repartition(args.partitions).mapInArrow(lambda batches: through(command, batches), schema)
    results.write.mode("overwrite").parquet(args.output)
    session.stop()


if __name__ == "__main__":
    main()
