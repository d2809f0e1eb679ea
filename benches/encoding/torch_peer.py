"""Times sentence-transformers and torch for the benchmark `bench-encoding`.

    torch_peer.py MODEL TEXTS.json THREADS DEVICE PRECISION BATCH

DEVICE is a device of PyTorch, such as `cpu` or `cuda`, or `openvino`: the transformer of sentence-transformers
is then converted to OpenVINO on the CPU, once per shape of a batch. It has no training. With the PRECISION `bf16`, weights and activations
of encoding are bf16, and training uses automatic mixed precision. BATCH is the number of texts of a batch
of encoding. The first output line has the versions. Each input line, `encode` or `step QUERIES QUERY_TOKENS
DOCUMENTS DOCUMENT_TOKENS` with the number of documents per query, is answered by one line of JSON with
wall time and CPU time in seconds.
"""

import functools
import json
import sys
import time
from pathlib import Path

import sentence_transformers
import torch
from transformers import BertModel
from transformers.modeling_outputs import BaseModelOutput

folder, texts, threads, device, precision, batch = sys.argv[1:]
torch.set_num_threads(int(threads))
use_openvino = device == "openvino"
if use_openvino:
    device = "cpu"
encoder = sentence_transformers.SentenceTransformer(folder, device=device)
texts = json.loads(Path(texts).read_text())
generator = torch.Generator().manual_seed(1)
autocast = torch.autocast(torch.device(device).type, torch.bfloat16, enabled=precision == "bf16")


def convert_to_openvino(transformer):
    """Replaces the pass of a transformer by that of OpenVINO."""
    import openvino

    settings = {
        "INFERENCE_NUM_THREADS": int(threads),
        "NUM_STREAMS": 1,
        "INFERENCE_PRECISION_HINT": precision,
        # The caller sets the cores.
        "ENABLE_CPU_PINNING": False,
    }
    requests = {}

    class States(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.transformer = transformer

        def forward(self, input_ids, attention_mask):
            states = type(transformer).forward(transformer, input_ids=input_ids, attention_mask=attention_mask)
            return states.last_hidden_state

    def forward(input_ids, attention_mask, **_):
        shape = tuple(input_ids.shape)
        if shape not in requests:
            graph = torch.export.export(States(), (input_ids, attention_mask), strict=False)
            compiled = openvino.Core().compile_model(openvino.convert_model(graph), "CPU", settings)
            requests[shape] = compiled.create_infer_request()
        states = requests[shape].infer([input_ids.numpy(), attention_mask.numpy()])[0]
        return BaseModelOutput(last_hidden_state=torch.from_numpy(states.copy()))

    transformer.forward = forward


if use_openvino:
    convert_to_openvino(encoder[0].auto_model)
elif precision == "bf16":
    encoder.bfloat16()


@functools.cache
def trained_model():
    """Model and optimizer of training steps."""
    model = BertModel.from_pretrained(folder, add_pooling_layer=False, attn_implementation="sdpa")
    model = model.to(device).eval()
    return model, torch.optim.AdamW(model.parameters(), lr=2e-5, weight_decay=0.01)


def encode():
    encoder.encode(texts, batch_size=int(batch))


def step(queries, query_tokens, documents, document_tokens):
    """One training step. With one document per query: mean pooling and cosines with temperature
    0.05; otherwise `[CLS]` vectors and inner products."""
    model, optimizer = trained_model()
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


name = f"torch {torch.__version__}, {'OpenVINO' if use_openvino else device}, {precision}"
print(f"sentence-transformers {sentence_transformers.__version__}, {name}", flush=True)
for line in sys.stdin:
    name, *numbers = line.split()
    wall, cpu = time.perf_counter(), time.process_time()
    {"encode": encode, "step": step}[name](*map(int, numbers))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(json.dumps({"wall": wall, "cpu": cpu}), flush=True)
