"""Writes training/: a small BERT with random weights, examples, and what PyTorch makes of both in twelve
steps of training.

    pip install torch==2.9.0 transformers==4.57.1 safetensors
    python training.py

`tests/integration/training.rs` reads it. Every step sees all examples, so that it does not matter how a trainer
shuffles them. Nothing is dropped out. The gradients of the biases of keys are zero but for rounding;
epsilon is 1e-6, so that AdamW does not make steps of them.
"""

import json
import shutil
from pathlib import Path

import torch
import transformers
from safetensors.torch import save_file
from transformers import BertConfig, BertModel, BertTokenizer, get_linear_schedule_with_warmup

OUT = Path(__file__).parent / "training"
STEPS = 12
CONFIG = {
    "encoder": {"pooling": "cls", "normalize": False, "query": {"max_tokens": 8}, "document": {"max_tokens": 16}},
    "epochs": STEPS, "batch_size": 5, "hard_negatives": 2, "loss": {"kind": "softmax", "temperature": 1.0},
    "similarity": "dot", "skip_known_positives": False, "dropout": 0.0, "learning_rate": 2e-3,
    "schedule": {"warmup_ratio": 0.2, "decay": "linear"},
    "optimizer": {"beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-6, "weight_decay": 0.05},
    "max_gradient_norm": 1.0,
}
EXAMPLES = [
    ("ship at sea", "the ship seen by radar", ["green tea", "black tea and the sea"]),
    ("tea", "green tea, black tea", ["the radar", "a ship"]),
    ("radar", "ships are seen by the radar at sea", ["the green sea", "tea at sea."]),
    ("the green sea and the black sea and more", "seas", ["ships at sea", "green tea and black tea!"]),
    ("black", "the black ship by the radar sees the green ship, and the green one sees tea", ["sea", "tea ship"]),
]


def encode(model, tokenizer, texts, limit):
    batch = tokenizer(texts, truncation=True, max_length=limit, padding=True, return_tensors="pt")
    return model(**batch).last_hidden_state[:, 0]


def main():
    pieces = (OUT.parent / "tiny" / "bert" / "vocab.txt").read_text(encoding="utf-8")
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir()
    (OUT / "vocab.txt").write_text(pieces, encoding="utf-8")
    tokenizer = BertTokenizer(str(OUT / "vocab.txt"))
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_attention_heads=4, intermediate_size=32,
        num_hidden_layers=2, max_position_embeddings=32,
    )
    model = BertModel(config, add_pooling_layer=False).eval()
    generator = torch.Generator().manual_seed(11)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.normal_(0.0, 0.3, generator=generator)
            if name.endswith("LayerNorm.weight"):
                parameter.add_(1.0)
    model.save_pretrained(OUT)

    queries = [query for query, _, _ in EXAMPLES]
    documents = [text for _, positive, negatives in EXAMPLES for text in [positive, *negatives]]
    target = torch.arange(len(EXAMPLES)) * 3
    no_decay = [p for n, p in model.named_parameters() if n.endswith("bias") or "LayerNorm" in n]
    decay = [p for n, p in model.named_parameters() if not (n.endswith("bias") or "LayerNorm" in n)]
    groups = [{"params": decay, "weight_decay": 0.05}, {"params": no_decay, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=2e-3, betas=(0.9, 0.999), eps=1e-6)
    # 20 % of 12 steps, rounded up.
    schedule = get_linear_schedule_with_warmup(optimizer, 3, STEPS)
    steps = []
    for step in range(STEPS):
        scores = encode(model, tokenizer, queries, 8) @ encode(model, tokenizer, documents, 16).T
        loss = torch.nn.functional.cross_entropy(scores, target)
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        steps.append({"rate": optimizer.param_groups[0]["lr"], "loss": loss.item(), "gradient": norm.item()})
        optimizer.step()
        schedule.step()

    save_file({k: v.contiguous() for k, v in model.state_dict().items()}, OUT / "after.safetensors", {"format": "pt"})
    examples = [
        {"query": query, "positives": [{"text": positive}], "negatives": [{"text": text} for text in negatives]}
        for query, positive, negatives in EXAMPLES
    ]
    golden = {
        "made with": {"torch": torch.__version__, "transformers": transformers.__version__, "script": "training.py"},
        "config": CONFIG, "examples": examples, "steps": steps,
    }
    (OUT / "training.json").write_text(json.dumps(golden, indent=1) + "\n")


main()
