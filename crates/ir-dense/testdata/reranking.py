"""Writes reranking/bert: a small BERT with random weights and a classification head, and reranking.json: values and
gradients of the losses of cross-encoders, and what PyTorch makes of the model in steps of training with each loss.

    pip install torch==2.15.0 transformers==5.24.0 sentence-transformers==6.2.0
    python reranking.py

`tests/integration/losses.rs` and `tests/integration/reranking.rs` read both. In training, every step sees all examples,
so that it does not matter how a trainer shuffles them, every pair is computed alone, so that none is padded, and nothing
is dropped out.
"""

import json
import shutil
from pathlib import Path

import sentence_transformers
import torch
import transformers
from sentence_transformers.cross_encoder.losses import MultipleNegativesRankingLoss
from torch.nn.functional import (
    binary_cross_entropy_with_logits, cross_entropy, kl_div, log_softmax, mse_loss, softmax, softplus,
)
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup

HERE = Path(__file__).parent
OUT = HERE / "reranking" / "bert"
STEPS, MAX_TOKENS = 6, 24
# Query, positive, negatives, each with the score of a teacher.
EXAMPLES = [
    ("ship at sea", ("the ship seen by radar", 0.9), [("green tea", 0.1), ("black tea and the sea", 0.35)]),
    ("tea", ("green tea, black tea", 0.95), [("the radar", 0.0), ("a ship", 0.05)]),
    ("radar", ("ships are seen by the radar at sea", 0.8), [("the green sea", 0.2), ("tea at sea.", 0.15)]),
    (
        "the green sea and the black sea and more",
        ("the black ship by the radar sees the green ship, and the green one sees tea at sea", 0.6),
        [("seas", 0.55), ("green tea and black tea!", 0.3)],
    ),
]


def multiple_negatives(scores, scale):
    """Loss of sentence-transformers, given the logits of every query's candidates, the positive first."""
    loss = MultipleNegativesRankingLoss.__new__(MultipleNegativesRankingLoss)
    torch.nn.Module.__init__(loss)
    loss.scale, loss.activation_fn, loss.cross_entropy_loss = scale, torch.nn.Sigmoid(), torch.nn.CrossEntropyLoss()
    return loss.calculate_loss(list(scores.T), len(scores))


def positive_first(scores):
    return torch.zeros(len(scores), dtype=torch.long)


# Losses of scores and teacher scores, [queries, candidates], the positive first.
LOSSES = {
    "binary_cross_entropy": (
        {"positive_weight": 3.0, "soft_labels": False},
        lambda s, t: binary_cross_entropy_with_logits(
            s, (torch.arange(s.shape[1]) == 0).to(s).expand_as(s), pos_weight=torch.tensor(3.0)
        ),
    ),
    "soft_labels": (
        {"kind": "binary_cross_entropy", "positive_weight": 1.0, "soft_labels": True},
        lambda s, t: binary_cross_entropy_with_logits(s, t),
    ),
    "softmax": ({"temperature": 0.5}, lambda s, t: cross_entropy(s / 0.5, positive_first(s))),
    "multiple_negatives": ({"scale": 10.0}, lambda s, t: multiple_negatives(s, 10.0)),
    "rank_net": ({}, lambda s, t: softplus(s[:, 1:] - s[:, :1]).mean()),
    "margin_mse": ({}, lambda s, t: mse_loss(s[:, :1] - s[:, 1:], t[:, :1] - t[:, 1:])),
    "kl_divergence": (
        {"temperature": 2.0},
        lambda s, t: kl_div(log_softmax(s / 2.0, 1), softmax(t / 2.0, 1), reduction="batchmean"),
    ),
}
# Losses that are trained with the candidates of all other queries as in-batch negatives.
IN_BATCH = ["softmax", "multiple_negatives"]


def rounded(values):
    return [float(f"{float(x):.9g}") for x in values]


def of_scores():
    """Values and gradients of the losses of random scores."""
    generator = torch.Generator().manual_seed(7)
    scores = torch.randn(3, 5, generator=generator, dtype=torch.float64)
    teacher = torch.rand(3, 5, generator=generator, dtype=torch.float64)
    cases = {}
    for name, (_, loss) in LOSSES.items():
        leaf = scores.clone().requires_grad_()
        value = loss(leaf, teacher)
        value.backward()
        cases[name] = {"value": value.item(), "gradient": rounded(leaf.grad.flatten())}
    return {"shape": [3, 5], "scores": rounded(scores.flatten()), "teacher": rounded(teacher.flatten()), "losses": cases}


def candidates(number, in_batch):
    """Candidates of a query, the positive first."""
    own = [EXAMPLES[number][1], *EXAMPLES[number][2]]
    others = [text for n, (_, positive, negatives) in enumerate(EXAMPLES) if n != number for text in [positive, *negatives]]
    return own + others if in_batch else own


def scores(model, tokenizer, in_batch):
    rows = []
    for number, (query, _, _) in enumerate(EXAMPLES):
        row = []
        for text, _ in candidates(number, in_batch):
            tokens = tokenizer(query, text, truncation=True, max_length=MAX_TOKENS, return_tensors="pt")
            row.append(model(**tokens).logits[0, 0])
        rows.append(torch.stack(row))
    return torch.stack(rows)


def train(name, tokenizer):
    settings, loss = LOSSES[name]
    model = BertForSequenceClassification.from_pretrained(OUT, dtype=torch.float64).eval()
    no_decay = [p for n, p in model.named_parameters() if n.endswith("bias") or "LayerNorm" in n]
    decay = [p for n, p in model.named_parameters() if not (n.endswith("bias") or "LayerNorm" in n)]
    groups = [{"params": decay, "weight_decay": 0.05}, {"params": no_decay, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=2e-3, betas=(0.9, 0.999), eps=1e-6)
    schedule = get_linear_schedule_with_warmup(optimizer, 1, STEPS)
    in_batch = name in IN_BATCH
    teacher = torch.tensor([[score for _, score in candidates(n, in_batch)] for n in range(len(EXAMPLES))], dtype=torch.float64)
    steps, gradients = [], {}
    for step in range(STEPS):
        value = loss(scores(model, tokenizer, in_batch), teacher)
        optimizer.zero_grad()
        value.backward()
        if step == 0:
            for tensor, parameter in model.named_parameters():
                gradient = parameter.grad.flatten()
                cosines = torch.cos(0.11 * torch.arange(1, len(gradient) + 1, dtype=torch.float64))
                gradients[tensor] = rounded([gradient.norm(), gradient @ cosines])
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        steps.append(rounded([value, norm]))
        optimizer.step()
        schedule.step()
    with torch.inference_mode():
        after = rounded(scores(model, tokenizer, False).flatten())
    loss = {"kind": name} | settings
    return {"loss": loss, "in_batch": in_batch, "steps": steps, "gradients": gradients, "scores_after": after}


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    vocabulary = (HERE / "tiny" / "bert" / "vocab.txt").read_text(encoding="utf-8")
    config = BertConfig(
        vocab_size=len(vocabulary.splitlines()), max_position_embeddings=32, hidden_size=12, num_attention_heads=4,
        intermediate_size=24, num_hidden_layers=2, num_labels=1,
    )
    model = BertForSequenceClassification(config).eval()
    generator = torch.Generator().manual_seed(31)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.normal_(0.0, 0.3, generator=generator)
            if name.endswith("LayerNorm.weight"):
                parameter.add_(1.0)
    model.save_pretrained(OUT)
    (OUT / "vocab.txt").write_text(vocabulary, encoding="utf-8")
    tokenizer = AutoTokenizer.from_pretrained(OUT)
    versions = {"torch": torch.__version__, "transformers": transformers.__version__}
    golden = {
        "made with": versions | {"sentence-transformers": sentence_transformers.__version__, "script": "reranking.py"},
        "scores": of_scores(),
        "max_tokens": MAX_TOKENS,
        "examples": EXAMPLES,
        "training": {name: train(name, tokenizer) for name in LOSSES},
    }
    text = json.dumps(golden, separators=(",", ":")).replace('],"', '],\n"').replace('},"', '},\n"')
    (HERE / "reranking.json").write_text(text + "\n")


main()
