"""Model, texts and requests of the peers of `bench-encoding`.

    PEER.py MODEL WORKLOADS.json THREADS MAX_TOKENS PRECISION

MODEL is a BERT folder with mean pooling and L2 normalization, as all-MiniLM-L6-v2, or with pooler and
classifier (BertForSequenceClassification). WORKLOADS.json maps names to lists of texts, or of pairs of
texts.

The first output line of a peer has the versions. An input line `WORKLOAD BATCH` encodes the texts of a
workload, sorted by length, in batches of BATCH texts, tokenization included; the response is a line of
JSON with wall time and CPU time in seconds. `WORKLOAD BATCH FILE` also writes the vectors, or the
logits of pairs, to FILE as little-endian f32, in the order of the texts.
"""

import json
import os
import sys
import time
from pathlib import Path

folder, workloads, threads, max_tokens, precision = sys.argv[1:]
os.environ["RAYON_NUM_THREADS"] = threads
os.environ["TOKENIZERS_PARALLELISM"] = "true" if int(threads) > 1 else "false"
threads = int(threads)

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

folder = Path(folder)
config = json.loads((folder / "config.json").read_text())
weights = {name.removeprefix("bert."): values for name, values in load_file(folder / "model.safetensors").items()}
is_classifier = config["architectures"][0].endswith("ForSequenceClassification")
hidden, epsilon = config["hidden_size"], config["layer_norm_eps"]
width = len(weights["classifier.bias"]) if is_classifier else hidden

tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
tokenizer.no_padding()
tokenizer.enable_truncation(int(max_tokens))
workloads = json.loads(Path(workloads).read_text())


def tokenized(text):
    """Tokens of a text, or of a pair of texts."""
    return tokenizer.encode(*text) if isinstance(text, tuple) else tokenizer.encode(text)


def batches(texts, batch):
    """Rows of the texts of each batch and its tensors; texts one by one are tokenized one by one."""
    texts = [tuple(text) if isinstance(text, list) else text for text in texts]
    if batch == 1:
        encodings = None
        order = range(len(texts))
    else:
        encodings = tokenizer.encode_batch(texts)
        order = sorted(range(len(texts)), key=lambda text: -len(encodings[text].ids))
    for first in range(0, len(texts), batch):
        rows = order[first : first + batch]
        tokens = [encodings[row] if encodings else tokenized(texts[row]) for row in rows]
        length = max(len(it.ids) for it in tokens)
        input_ids, mask, types = (np.zeros((len(rows), length), dtype=np.int32) for _ in range(3))
        for row, text in enumerate(tokens):
            input_ids[row, : len(text.ids)] = text.ids
            types[row, : len(text.ids)] = text.type_ids
            mask[row, : len(text.ids)] = 1
        yield list(rows), {"input_ids": input_ids, "segment_ids": types, "mask": mask}


def serve(versions, run):
    """Answers the requests. `run` returns the vectors or logits of a batch of tensors."""
    print(versions, flush=True)
    for line in sys.stdin:
        name, batch, *file = line.split()
        texts = workloads[name]
        wall, cpu = time.perf_counter(), time.process_time()
        vectors = np.empty((len(texts), width), dtype=np.float32)
        for rows, feeds in batches(texts, int(batch)):
            vectors[rows] = run(feeds)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        if file:
            vectors.astype("<f4").tofile(file[0])
        print(json.dumps({"wall": wall, "cpu": cpu}), flush=True)
