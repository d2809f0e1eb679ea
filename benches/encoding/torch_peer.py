"""Times sentence-transformers and torch for the benchmark `bench-encoding`.

    torch_peer.py MODEL TEXTS.json THREADS DEVICE PRECISION BATCH

DEVICE is a device of PyTorch, such as `cpu` or `cuda`. With the PRECISION `bf16`, weights and activations
of encoding are bf16, and training uses automatic mixed precision. BATCH is the number of texts of a batch
of encoding. The first output line has the versions. Each input line, `encode` or `step QUERIES QUERY_TOKENS
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

folder, texts, threads, device, precision, batch = sys.argv[1:]
torch.set_num_threads(int(threads))
encoder = sentence_transformers.SentenceTransformer(folder, device=device)
if precision == "bf16":
    encoder.bfloat16()
texts = json.loads(Path(texts).read_text())
model = BertModel.from_pretrained(folder, add_pooling_layer=False, attn_implementation="sdpa")
model = model.to(device).eval()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5, weight_decay=0.01)
generator = torch.Generator().manual_seed(1)
autocast = torch.autocast(torch.device(device).type, torch.bfloat16, enabled=precision == "bf16")


def encode():
    encoder.encode(texts, batch_size=int(batch))


def step(queries, query_tokens, documents, document_tokens):
    """One training step. With one document per query: mean pooling and cosines with temperature
    0.05; otherwise `[CLS]` vectors and inner products."""
    shapes = [(queries, query_tokens), (queries * documents, document_tokens)]
    ids = [torch.randint(1000, 29000, shape, generator=generator).to(device) for shape in shapes]
    with autocast:
        states = [model(input_ids=side).last_hidden_state for side in ids]
        if documents == 1:
            vectors = [torch.nn.functional.normalize(side.mean(1)) for side in states]
            scores = vectors[0] @ vectors[1].T / 0.05
        else:
            vectors = [side[:, 0] for side in states]
            scores = vectors[0] @ vectors[1].T
        positives = torch.arange(queries, device=device) * documents
        loss = torch.nn.functional.cross_entropy(scores, positives)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if device.startswith("cuda"):
        torch.cuda.synchronize()


name = f"torch {torch.__version__}, {device}, {precision}"
print(f"sentence-transformers {sentence_transformers.__version__}, {name}", flush=True)
for line in sys.stdin:
    name, *numbers = line.split()
    wall, cpu = time.perf_counter(), time.process_time()
    {"encode": encode, "step": step}[name](*map(int, numbers))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(json.dumps({"wall": wall, "cpu": cpu}), flush=True)
