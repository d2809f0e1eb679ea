#!/usr/bin/env bash
# Creates a Python environment with OpenVINO and prints the path of its interpreter.
#   IR_OPENVINO_PYTHON=$(benches/encoding/openvino.sh) cargo bench -p bench-encoding --bench cross_encoder
# The environment is created once, in target/openvino, from the package registry.
set -euo pipefail
cd "$(dirname "$0")/../.."

packages="openvino==2026.4.1 nncf==3.4.0 tokenizers==0.23.3 safetensors==0.8.0 numpy==2.4.6"
folder=${CARGO_TARGET_DIR:-$PWD/target}/openvino
if [ "$(cat "$folder/packages" 2>/dev/null)" != "$packages" ]; then
    rm -rf "$folder"
    python3 -m venv "$folder" >&2
    # shellcheck disable=SC2086
    "$folder/bin/pip" install --quiet --disable-pip-version-check $packages >&2
    "$folder/bin/python" -c 'import nncf, openvino, safetensors, tokenizers' >&2
    echo "$packages" >"$folder/packages"
fi
echo "$folder/bin/python"
