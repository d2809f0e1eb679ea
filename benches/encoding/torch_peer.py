"""Times sentence-transformers and torch for the benchmark `bench-encoding`.

    torch_peer.py MODEL TEXTS.json THREADS BATCH

The first output line has the versions. Each input line, `encode` or `step`, is answered by one line of
JSON with wall time and CPU time in seconds.
"""

import json
import sys
import time
from pathlib import Path

import sentence_transformers
import torch
from transformers import BertModel

folder, texts, threads, batch = sys.argv[1:]
torch.set_num_threads(int(threads))
encoder = sentence_transformers.SentenceTransformer(folder, device="cpu")
texts = json.loads(Path(texts).read_text())
model = BertModel.from_pretrained(folder, add_pooling_layer=False, attn_implementation="sdpa").eval()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5, weight_decay=0.01)
generator = torch.Generator().manual_seed(1)


def encode():
    encoder.encode(texts, batch_size=32)


def step():
    """One training step: half of the texts are queries, half positives, all of 64 tokens."""
    half = int(batch) // 2
    ids = torch.randint(1000, 29000, (2, half, 64), generator=generator)
    sides = (model(input_ids=side).last_hidden_state.mean(1) for side in ids)
    queries, documents = (torch.nn.functional.normalize(side) for side in sides)
    scores = queries @ documents.T / 0.05
    loss = torch.nn.functional.cross_entropy(scores, torch.arange(half))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


print(
    f"sentence-transformers {sentence_transformers.__version__}, torch {torch.__version__}",
    flush=True,
)
for line in sys.stdin:
    wall, cpu = time.perf_counter(), time.process_time()
    {"encode": encode, "step": step}[line.strip()]()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(json.dumps({"wall": wall, "cpu": cpu}), flush=True)
