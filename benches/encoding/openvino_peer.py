"""Times OpenVINO for the benchmarks of `bench-encoding`.

    openvino_peer.py MODEL WORKLOADS.json THREADS MAX_TOKENS PRECISION

Builds the model of operations of OpenVINO, with its scaled dot-product attention. PRECISION is `f32`, or
`int8` for NNCF's quantization of transformers, calibrated with the first texts of the largest workload.
Other operations stay f32. `peer.py` has the requests.
"""

import contextlib
import sys

# Before the libraries: it sets the number of threads.
from peer import batches, config, epsilon, hidden, is_classifier, precision, serve, threads, weights, workloads

import numpy as np
import openvino as ov
from openvino import opset13 as ops

# Number of texts for calibration.
CALIBRATION = 64


def constant(values):
    return ops.constant(np.ascontiguousarray(values))


def scalar(value):
    return ops.constant(value, np.int64)


def integers(*values):
    return constant(np.array(values, dtype=np.int64))


def linear(name, x):
    product = ops.matmul(x, constant(weights[f"{name}.weight"]), False, True)
    return ops.add(product, constant(weights[f"{name}.bias"]))


def norm(name, x):
    x = ops.mvn(x, integers(-1), True, epsilon, "INSIDE_SQRT")
    x = ops.multiply(x, constant(weights[f"{name}.LayerNorm.weight"]))
    return ops.add(x, constant(weights[f"{name}.LayerNorm.bias"]))


def lookup(table, ids):
    return ops.gather(constant(weights[f"embeddings.{table}_embeddings.weight"]), ids, integers(0))


def build_model():
    names = ("input_ids", "segment_ids", "mask")
    inputs = [ops.parameter([-1, -1], np.int32, name) for name in names]
    for name, it in zip(names, inputs):
        it.output(0).tensor.set_names({name})
    input_ids, segment_ids, mask = inputs
    length = ops.gather(ops.shape_of(input_ids), scalar(1), integers(0))
    positions = ops.range(scalar(0), length, scalar(1), output_type="i64")
    x = ops.add(lookup("word", input_ids), lookup("token_type", segment_ids))
    x = norm("embeddings", ops.add(x, lookup("position", positions)))
    mask = ops.convert(mask, np.float32)
    # Keys of padding have no weight.
    padding = ops.subtract(mask, ops.constant(1, np.float32))
    padding = ops.multiply(ops.unsqueeze(padding, integers(1, 2)), ops.constant(1e4, np.float32))
    heads = config["num_attention_heads"]

    def split(x):
        x = ops.reshape(x, integers(0, 0, heads, hidden // heads), True)
        return ops.transpose(x, integers(0, 2, 1, 3))

    for number in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{number}"
        query, key, value = (split(linear(f"{layer}.attention.self.{part}", x)) for part in ("query", "key", "value"))
        context = ops.scaled_dot_product_attention(query, key, value, padding)
        context = ops.reshape(ops.transpose(context, integers(0, 2, 1, 3)), integers(0, 0, hidden), True)
        output = linear(f"{layer}.attention.output.dense", context)
        x = norm(f"{layer}.attention.output", ops.add(output, x))
        inner = ops.gelu(linear(f"{layer}.intermediate.dense", x), "erf")
        x = norm(f"{layer}.output", ops.add(linear(f"{layer}.output.dense", inner), x))
    if is_classifier:
        # The first token, pooler and classifier.
        first = ops.gather(x, scalar(0), integers(1))
        vectors = linear("classifier", ops.tanh(linear("pooler.dense", first)))
    else:
        # Mean pooling and L2 normalization.
        column = ops.unsqueeze(mask, integers(2))
        total = ops.reduce_sum(ops.multiply(x, column), integers(1), False)
        mean = ops.divide(total, ops.reduce_sum(column, integers(1), False))
        vectors = ops.normalize_l2(mean, integers(1), 1e-24, "max")
    return ov.Model([ops.result(vectors)], inputs)


def quantized(model):
    import nncf

    texts = max(workloads.values(), key=len)[:CALIBRATION]
    feeds = [feeds for _, feeds in batches(texts, 1)]
    # Standard output is for responses.
    with contextlib.redirect_stdout(sys.stderr):
        return nncf.quantize(
            model, nncf.Dataset(feeds), model_type=nncf.ModelType.TRANSFORMER, subset_size=len(feeds)
        )


model = build_model()
if precision == "int8":
    model = quantized(model)
settings = {
    "INFERENCE_NUM_THREADS": threads,
    "NUM_STREAMS": 1,
    "INFERENCE_PRECISION_HINT": "f32",
    # The caller sets the cores.
    "ENABLE_CPU_PINNING": False,
}
request = ov.Core().compile_model(model, "CPU", settings).create_infer_request()
serve(f"openvino {ov.__version__}, {precision}", lambda feeds: request.infer(feeds)[0])
