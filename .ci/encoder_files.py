"""Gradients and files of the folders of `.ci/encoder-folders`."""

import json
import math
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

# First: checks the versions, and sets variables of the libraries.
from encoder_tokenizers import TESTDATA, rounded

import torch
import transformers as tf
from safetensors import safe_open

torch.set_num_threads(1)
tf.logging.set_verbosity_error()
tf.logging.disable_progress_bar()


def with_padding_gradients(encoder):
    """Otherwise the row of the padding token has no gradient, which is the last token of some tokenizers."""
    for module in encoder.modules():
        if isinstance(module, torch.nn.Embedding):
            module.padding_idx = None
    return encoder


def tensor_gradients(encoder, folder, original_format=True, name=lambda name: name):
    """Norm of the gradient of every tensor of the weight file of a folder, and its projection on cosines.

    `name`: name in the files of a tensor of the encoder, which may be a tensor of an adapter.
    """
    with tempfile.TemporaryDirectory() as temporary:
        # Gradients as weights: saving changes their names and layout as it does those of the weights.
        for parameter in encoder.parameters():
            parameter.data = torch.full_like(parameter, math.nan) if parameter.grad is None else parameter.grad
        encoder.save_pretrained(temporary, save_original_format=original_format)
        found = {name(tensor): gradient for tensor, gradient in tensors(temporary).items()}
    in_file = tensors(folder)
    values = {}
    for tensor, gradient in found.items():
        if gradient.isnan().all():
            continue
        # A model with a head has a prefix.
        if ".adapters." not in tensor:
            [tensor] = [it for it in in_file if it == tensor] or [it for it in in_file if it.endswith(f".{tensor}")]
            assert in_file[tensor].shape == gradient.shape, tensor
        gradient = gradient.double().flatten()
        values[tensor] = rounded([[gradient.norm(), gradient @ cosines(0.11, gradient)]])[0]
    return values


def cosines(frequency, like):
    return torch.cos(frequency * torch.arange(1, len(like) + 1, dtype=torch.float64))


def tensors(folder):
    """Tensors of a weight file."""
    with safe_open(Path(folder) / "model.safetensors", "pt") as file:
        return {name: file.get_tensor(name) for name in sorted(file.keys())}


def write_expected(folder, values, between="],["):
    """Writes expected.json, with a line break after the comma of every `between`."""
    values = {name: version(name.replace("_", "-")) for name in ("transformers", "sentence_transformers")} | values
    text = json.dumps(values, separators=(",", ":"))
    (folder / "expected.json").write_text(text.replace(between, between.replace(",", ",\n")) + "\n")


def write_gradients(folder, values):
    text = json.dumps(values, separators=(",", ":"))
    (folder / "gradients.json").write_text(text.replace("],", "],\n") + "\n")


def finish(name, folder, note):
    files = [file for file in folder.rglob("*") if file.is_file()]
    for file in files:
        file.chmod(0o644)
    size = sum(file.stat().st_size for file in files)
    print(f"{name:30} {size // 1024:4} KiB, {note}", flush=True)


def write_all(arguments, known, committed, testdata, write):
    """Calls `write` with name and path of each folder that the arguments choose; `testdata` has the committed ones."""
    if not arguments:
        sys.exit("expected --committed, or FOLDER [NAME ...]")
    is_committed = arguments[0] == "--committed"
    root = TESTDATA / testdata if is_committed else Path(arguments[0])
    names = committed if is_committed else arguments[1:] or known
    for name in names:
        if name not in known:
            sys.exit(f"{name}: no such folder; expected one of {', '.join(known)}")
    for name in names:
        write(name, root / name)
