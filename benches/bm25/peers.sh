#!/usr/bin/env bash
# Installs the peers of the BM25 benchmark from the package registry and prints their folder.
#   IR_BM25_PEERS=$(benches/bm25/peers.sh) IR_DATA=... cargo bench -p bench-bm25
# bm25s and PISA run in a Python environment; Lucene needs Java 16 or later with a compiler
# (openjdk-17-jdk-headless). A peer that cannot be installed is named on standard error and skipped
# by the benchmark. The folder is target/bm25-peers.
set -euo pipefail
cd "$(dirname "$0")/../.."

folder=$PWD/target/bm25-peers
pip=("$folder/bin/pip" --quiet --disable-pip-version-check)
[ -x "$folder/bin/pip" ] || python3 -m venv "$folder" >&2

install() { # NAME PACKAGE...
    local name=$1
    shift
    [ "$(cat "$folder/$name.packages" 2>/dev/null)" = "$*" ] && return
    if "${pip[@]}" install "$@" >&2; then
        echo "$*" >"$folder/$name.packages"
    else
        echo "$name: not installed" >&2
    fi
}

install bm25s bm25s==0.3.16 numba==0.68.1 numpy==2.4.6
# The Python package needs a dozen others, the extension module numpy and TBB.
install pisa --no-deps pyterrier-pisa==0.4.9 tbb==2020.3.254

# The wheel or archive of pyserini contains Anserini with Lucene 9.9.1.
if [ ! -f "$folder/anserini.jar" ]; then
    archives=$(mktemp -d)
    if "${pip[@]}" download --no-deps --dest "$archives" pyserini==1.6.0 >&2; then
        tar -xzf "$archives"/pyserini-*.tar.gz -C "$archives" --wildcards '*-fatjar.jar' >&2 ||
            "$folder/bin/python" -m zipfile -e "$archives"/pyserini-*.whl "$archives"
        jar=$(find "$archives" -name '*-fatjar.jar' -print -quit)
        if [ -n "$jar" ]; then mv "$jar" "$folder/anserini.jar"; fi
    fi
    rm -rf "$archives"
    [ -f "$folder/anserini.jar" ] || echo "Lucene: not installed" >&2
fi
echo "$folder"
