"""Times ONNX Runtime for the benchmarks of `bench-encoding`.

    onnx_peer.py MODEL WORKLOADS.json THREADS MAX_TOKENS PRECISION

Builds a graph of ONNX Runtime's fused operators (EmbedLayerNormalization, Attention,
SkipLayerNormalization, BiasGelu) from a BERT folder with mean pooling and L2 normalization, as in
all-MiniLM-L6-v2, or with pooler and classifier (BertForSequenceClassification). PRECISION is `f32`,
or `int8` for dynamic quantization. WORKLOADS.json maps names to lists of texts, or of pairs of texts.

`peer.py` has the requests.
"""

import os
import tempfile

# Before the libraries: it sets the number of threads.
from peer import config, epsilon, is_classifier, precision, serve, threads, weights, width

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic


def build_graph():
    nodes, initializers = [], []

    def weight(name, values):
        values = np.ascontiguousarray(values, dtype=np.float32)
        initializers.append(numpy_helper.from_array(values, name))
        return name

    def tensor(name):
        return weight(name, weights[name])

    def matrix(name):
        return weight(name, weights[name].T)

    def fused(kind, inputs, outputs, **attributes):
        nodes.append(helper.make_node(kind, inputs, outputs, domain="com.microsoft", **attributes))

    def node(kind, inputs, output, **attributes):
        nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def norm(prefix):
        return [tensor(f"{prefix}.LayerNorm.weight"), tensor(f"{prefix}.LayerNorm.bias")]

    tables = [tensor(f"embeddings.{part}_embeddings.weight") for part in ("word", "position", "token_type")]
    fused(
        "EmbedLayerNormalization",
        ["input_ids", "segment_ids", *tables, *norm("embeddings"), "mask"],
        ["x", "lengths"],
        epsilon=epsilon,
    )
    x = "x"
    for number in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{number}"
        parts = [f"{layer}.attention.self.{part}" for part in ("query", "key", "value")]
        qkv = weight(f"{layer}.qkv", np.concatenate([weights[f"{p}.weight"].T for p in parts], axis=1))
        bias = weight(f"{layer}.qkv_bias", np.concatenate([weights[f"{p}.bias"] for p in parts]))
        fused(
            "Attention", [x, qkv, bias, "lengths"], [f"{layer}.context"], num_heads=config["num_attention_heads"]
        )

        def project(name, source):
            return node("MatMul", [source, matrix(f"{name}.weight")], f"{name}.product")

        def skip_norm(name, source, skip):
            bias = tensor(f"{name}.dense.bias")
            output = f"{name}.normalized"
            fused("SkipLayerNormalization", [source, skip, *norm(name), bias], [output], epsilon=epsilon)
            return output

        output = project(f"{layer}.attention.output.dense", f"{layer}.context")
        attended = skip_norm(f"{layer}.attention.output", output, x)
        up = project(f"{layer}.intermediate.dense", attended)
        fused("BiasGelu", [up, tensor(f"{layer}.intermediate.dense.bias")], [f"{layer}.inner"])
        down = project(f"{layer}.output.dense", f"{layer}.inner")
        x = skip_norm(f"{layer}.output", down, attended)
    if is_classifier:
        # The first token, pooler and classifier.
        initializers.append(numpy_helper.from_array(np.array(0), "first"))
        x = node("Gather", [x, "first"], "first_token", axis=1)
        x = node("Gemm", [x, tensor("pooler.dense.weight"), tensor("pooler.dense.bias")], "pooler", transB=1)
        x = node("Tanh", [x], "pooled")
        node("Gemm", [x, tensor("classifier.weight"), tensor("classifier.bias")], "vectors", transB=1)
        return finish(nodes, initializers)
    # Mean pooling and L2 normalization.
    axes = {name: numpy_helper.from_array(np.array([axis]), name) for name, axis in [("last", 2), ("tokens", 1)]}
    initializers.extend(axes.values())
    mask = node("Cast", ["mask"], "mask_float", to=TensorProto.FLOAT)
    mask = node("Unsqueeze", [mask, "last"], "mask_column")
    total = node("ReduceSum", [node("Mul", [x, mask], "masked"), "tokens"], "total", keepdims=0)
    count = node("ReduceSum", [mask, "tokens"], "count", keepdims=0)
    mean = node("Div", [total, count], "mean")
    node("LpNormalization", [mean], "vectors", axis=1, p=2)
    return finish(nodes, initializers)


def finish(nodes, initializers):
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT32, ["texts", "length"])
        for name in ("input_ids", "segment_ids", "mask")
    ]
    outputs = [helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["texts", width])]
    graph = helper.make_graph(nodes, "encoder", inputs, outputs, initializers)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def open_session():
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    if threads == 1:
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    with tempfile.TemporaryDirectory() as temporary:
        path = os.path.join(temporary, "model.onnx")
        onnx.save(build_graph(), path)
        if precision == "int8":
            quantized = os.path.join(temporary, "quantized.onnx")
            quantize_dynamic(
                path,
                quantized,
                weight_type=QuantType.QInt8,
                op_types_to_quantize=["MatMul", "Attention"],
                extra_options={"DefaultTensorType": TensorProto.FLOAT},
            )
            path = quantized
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


session = open_session()
serve(f"onnxruntime {onnxruntime.__version__}, fused graph, {precision}", lambda feeds: session.run(["vectors"], feeds)[0])
