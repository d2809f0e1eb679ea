"""Times sentence-transformers and torch for the benchmark `bench-encoding`.

    torch_peer.py MODEL TEXTS.json THREADS

The first output line has the versions. Each input line, `encode` or `step QUERIES QUERY_TOKENS
DOCUMENTS DOCUMENT_TOKENS` with the number of documents per query, is answered by one line of JSON with
wall time and CPU time in seconds.
"""

import json
import sys
import time
from pathlib import Path

import sentence_transformers
import torch
from transformers import BertModel

folder, texts, threads = sys.argv[1:]
torch.set_num_threads(int(threads))
encoder = sentence_transformers.SentenceTransformer(folder, device="cpu")
texts = json.loads(Path(texts).read_text())
model = BertModel.from_pretrained(folder, add_pooling_layer=False, attn_implementation="sdpa").eval()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5, weight_decay=0.01)
generator = torch.Generator().manual_seed(1)


def encode():
    encoder.encode(texts, batch_size=32)


def step(queries, query_tokens, documents, document_tokens):
    """One training step. With one document per query: mean pooling and cosines with temperature
    0.05; otherwise `[CLS]` vectors and inner products."""
    shapes = [(queries, query_tokens), (queries * documents, document_tokens)]
    ids = [torch.randint(1000, 29000, shape, generator=generator) for shape in shapes]
    states = [model(input_ids=side).last_hidden_state for side in ids]
    if documents == 1:
        vectors = [torch.nn.functional.normalize(side.mean(1)) for side in states]
        scores = vectors[0] @ vectors[1].T / 0.05
    else:
        vectors = [side[:, 0] for side in states]
        scores = vectors[0] @ vectors[1].T
    loss = torch.nn.functional.cross_entropy(scores, torch.arange(queries) * documents)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


print(
    f"sentence-transformers {sentence_transformers.__version__}, torch {torch.__version__}",
    flush=True,
)
for line in sys.stdin:
    name, *numbers = line.split()
    wall, cpu = time.perf_counter(), time.process_time()
    {"encode": encode, "step": step}[name](*map(int, numbers))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(json.dumps({"wall": wall, "cpu": cpu}), flush=True)
