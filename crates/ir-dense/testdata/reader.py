"""Writes reader/: a small BERT and a small RoBERTa with random weights and a span head, and reader.json,
what transformers and PyTorch compute with them: windows, logits, spans, and steps of training.

    pip install torch==2.9.0 'transformers==5.24.0'
    python reader.py

`tests/integration/reader.rs` reads both. Spans are found by trying all pairs of a start and an end, in Python's words.
In training, the loss of each window is computed alone, so that no padding takes part in its softmax.
"""

import json
import shutil
from pathlib import Path

import torch
import transformers
from transformers import (
    AutoTokenizer, BertConfig, BertForQuestionAnswering, RobertaConfig, RobertaForQuestionAnswering,
    get_linear_schedule_with_warmup,
)

HERE = Path(__file__).parent
OUT = HERE / "reader"
LONG = "The radar sees ships. " * 3 + "Green tea, seen at sea by the ships: \u65e5\u672c\u8a9e tea and the black radar! " * 2
PAIRS = [
    ("ship at sea", "the ship seen by radar"),
    ("What is seen by the radar?", "  Ships are seen by the radar at sea, caf\u00e9 na\u00efve ships too. "),
    ("tea", LONG),
    ("who sees the black ships and the green ships at sea by the radar and tea and more", LONG),
    ("tea?", " "),
    ("", "green tea"),
    ("the green", "\U0001f600 ships \U0001f6a2\U0001f468\u200d\U0001f469 at sea [SEP] tea"),
]
LIMITS = {"max_tokens": 28, "stride": 6, "max_question_tokens": 10, "max_answer_tokens": 5}
N_BEST = 6
# Question, context, answer.
EXAMPLES = [
    ("ship at sea", "the ship seen by radar at the sea", "radar"),
    ("tea", "green tea, black tea", "black tea"),
    ("radar", "ships are seen by the radar at sea", "ships"),
    ("the green sea and the black sea", "seas and tea by the sea", "tea by the sea"),
    # The answer is not in the first window, whose target is [CLS].
    ("black", LONG[:110], "seen at sea by the ships"),
]
STEPS = 10


def fill(model, seed):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.normal_(0.0, 0.3, generator=generator)
            if "norm" in name.lower() and name.endswith("weight"):
                parameter.add_(1.0)
    return model.eval()


def windows(tokenizer, question, context):
    """Windows of the context: token ids, token types, offsets in characters of context tokens."""
    question = question.strip()
    ids = tokenizer(question, add_special_tokens=False)["input_ids"]
    if len(ids) > LIMITS["max_question_tokens"]:
        ends = tokenizer(question, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
        question = question[: ends[LIMITS["max_question_tokens"] - 1][1]]
    batch = tokenizer(
        question, context, truncation="only_second", max_length=LIMITS["max_tokens"], stride=LIMITS["stride"],
        return_overflowing_tokens=True, return_offsets_mapping=True, return_token_type_ids=True,
    )
    out = []
    for n, ids in enumerate(batch["input_ids"]):
        sequences = batch.sequence_ids(n)
        offsets = [
            list(pair) if sequence == 1 else None
            for pair, sequence in zip(batch["offset_mapping"][n], sequences)
        ]
        out.append({"ids": ids, "types": batch["token_type_ids"][n], "offsets": offsets})
    return out


def logits(model, window):
    tensors = {"input_ids": torch.tensor([window["ids"]])}
    if model.config.type_vocab_size > 1:
        tensors["token_type_ids"] = torch.tensor([window["types"]])
    out = model(**tensors)
    return out.start_logits[0], out.end_logits[0]


def spans(found):
    """Best spans over all windows by the sum of their logits, by trying all."""
    best = {}
    for window in found:
        places = [n for n, pair in enumerate(window["offsets"]) if pair and pair[0] < pair[1]]
        for start in places:
            for end in places:
                if not start <= end < start + LIMITS["max_answer_tokens"]:
                    continue
                key = (window["offsets"][start][0], window["offsets"][end][1])
                score = window["start"][start] + window["end"][end]
                best[key] = max(score, best.get(key, score))
    ranked = sorted(best.items(), key=lambda item: (-item[1], item[0]))
    return [[start, end, round(score, 6)] for (start, end), score in ranked[:N_BEST]]


def case(name, model, tokenizer):
    inputs = []
    for question, context in PAIRS:
        found = windows(tokenizer, question, context)
        with torch.no_grad():
            for window in found:
                start, end = logits(model, window)
                window["start"] = [round(x, 7) for x in start.tolist()]
                window["end"] = [round(x, 7) for x in end.tolist()]
        inputs.append({"question": question, "context": context, "windows": found, "spans": spans(found)})
    return {"model": name, "inputs": inputs}


def targets(window, start, end):
    """Tokens of an answer in a window, or the first token, if it is not in the window."""
    offsets = window["offsets"]
    first = [n for n, pair in enumerate(offsets) if pair and pair[0] <= start < pair[1]]
    last = [n for n, pair in enumerate(offsets) if pair and pair[0] < end <= pair[1]]
    return (first[0], last[0]) if first and last else (0, 0)


def training(model, tokenizer):
    examples, batch = [], []
    for question, context, answer in EXAMPLES:
        start = context.index(answer)
        examples.append({"question": question, "context": context, "answer": [start, start + len(answer)]})
        for window in windows(tokenizer, question, context):
            batch.append((window, targets(window, start, start + len(answer))))
    no_decay = [p for n, p in model.named_parameters() if n.endswith("bias") or "LayerNorm" in n]
    decay = [p for n, p in model.named_parameters() if not (n.endswith("bias") or "LayerNorm" in n)]
    groups = [{"params": decay, "weight_decay": 0.05}, {"params": no_decay, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=2e-3, betas=(0.9, 0.999), eps=1e-6)
    schedule = get_linear_schedule_with_warmup(optimizer, 2, STEPS)
    steps = []
    for _ in range(STEPS):
        loss = 0
        for window, target in batch:
            for scores, at in zip(logits(model, window), target):
                loss = loss + torch.nn.functional.cross_entropy(scores[None], torch.tensor([at]))
        loss = loss / (2 * len(batch))
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        steps.append({"loss": loss.item(), "gradient": norm.item()})
        optimizer.step()
        schedule.step()
    # Gradients of qa_outputs.bias are zero but for rounding.
    after = {
        name: [round(x, 7) for x in model.state_dict()[name].flatten().tolist()]
        for name in ["qa_outputs.weight", "bert.embeddings.token_type_embeddings.weight"]
    }
    return {"windows": len(batch), "examples": examples, "steps": steps, "after": after}


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir()
    small = dict(hidden_size=12, num_attention_heads=4, intermediate_size=24, num_hidden_layers=2)

    folder = OUT / "bert"
    vocabulary = (HERE / "tiny" / "bert" / "vocab.txt").read_text(encoding="utf-8")
    config = BertConfig(vocab_size=len(vocabulary.splitlines()), max_position_embeddings=32, **small)
    bert = fill(BertForQuestionAnswering(config), 21)
    bert.save_pretrained(folder)
    (folder / "vocab.txt").write_text(vocabulary, encoding="utf-8")
    bert_tokenizer = AutoTokenizer.from_pretrained(folder)
    cases = [case("bert", bert, bert_tokenizer)]

    folder = OUT / "roberta"
    folder.mkdir()
    shutil.copy(HERE / "tiny" / "roberta" / "tokenizer.json", folder)
    shutil.copy(HERE / "tiny" / "roberta" / "tokenizer_config.json", folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    config = RobertaConfig(
        vocab_size=len(tokenizer), max_position_embeddings=34, type_vocab_size=1, layer_norm_eps=1e-5, **small
    )
    roberta = fill(RobertaForQuestionAnswering(config), 22)
    roberta.save_pretrained(folder)
    cases.append(case("roberta", roberta, tokenizer))

    golden = {
        "made with": {"torch": torch.__version__, "transformers": transformers.__version__, "script": "reader.py"},
        "limits": LIMITS,
        "n_best": N_BEST,
        "cases": cases,
        "training": training(bert, bert_tokenizer),
    }
    text = json.dumps(golden, separators=(",", ":")).replace('},{"', '},\n{"')
    (HERE / "reader.json").write_text(text + "\n")


main()
