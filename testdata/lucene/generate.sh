#!/bin/bash
# Rewrites the reference files of this folder.
# Usage: generate.sh ANSERINI_JAR DATA_DIR STREAMS_DIR   (JAVA names a Java 21 or later; javac 17 or later compiles)
# DATA_DIR holds beir/, datafinder/ and snowball/ as IR_DATA does; STREAMS_DIR receives the full token streams.
set -euo pipefail
jar=$1 data=$2 streams=$3 java=${JAVA:-java}
here=$(cd "$(dirname "$0")" && pwd)
classes=$(mktemp -d)
trap 'rm -rf "$classes"' EXIT
mkdir -p "$streams"
javac -nowarn -cp "$jar" -d "$classes" "$here/Generate.java" 2>&1 | { grep -v warning || true; }
gen() { "$java" -cp "$classes:$jar" Generate "$@"; }
tool='Lucene 9.9.1 in the Anserini 1.7.1 fat jar (PyPI pyserini 1.6.0), Temurin 21.0.8'
head_() { printf '# tool: %s\n# data: %s\n# command: Generate %s\n# columns: %s\n' "$tool" "$@"; }
# Deterministic gzip: no name, no time.
pack() { gzip -9n > "$here/$1"; }

chain='whole chain = io.anserini.analysis.DefaultEnglishAnalyzer.newDefaultInstance()'
cols='input (JSON string), StandardTokenizer tokens [token, start, end] in UTF-16 units (JSON), whole-chain tokens (JSON)'
grep -v '^#' "$here/tokens.tsv" | cut -f1 > "$classes/inputs"
{ head_ "hand-made strings, the first column; $chain" 'tokens tokens.tsv' "$cols"; gen tokens "$classes/inputs"; } > "$classes/t" && cp "$classes/t" "$here/tokens.tsv"
{ head_ "8,000 strings drawn with java.util.Random(20240601); $chain" fuzz "$cols"; gen fuzz; } | pack fuzz.tsv.gz
{ head_ '24 hand-made strings, 2,000 drawn with java.util.Random(20261128), and long runs; CJKAnalyzer, and the same chain with unigrams' cjk \
  'input (JSON string), tokens of CJKAnalyzer [term, start, end, position] in UTF-16 units (JSON), tokens with unigrams'; gen cjk; } | pack cjk.tsv.gz
{ head_ 'every code point but the surrogates, put in place of {} in each template; runs of code points that cut alike' codepoints \
  'first, last (hexadecimal, inclusive), then for each template the StandardTokenizer tokens as start-end in code points, parted by blanks'; gen codepoints; } | pack codepoints.tsv.gz
{ head_ 'every code point that Character.toLowerCase changes' lowercase 'code point, its lower case (hexadecimal)'; gen lowercase; } > "$here/lowercase.tsv"

for s in porter english; do
  { head_ "snowball/$s/voc.txt and output.txt (snowball-data ba91f32); words whose stem differs, the count in the last line" "stem $s voc.txt output.txt" \
    "word, output.txt, Lucene's $([ $s = porter ] && echo PorterStemFilter || echo 'SnowballFilter(EnglishStemmer)')"; gen stem $s "$data/snowball/$s/voc.txt" "$data/snowball/$s/output.txt"; } > "$here/${s}_differences.tsv"
done

stream() { gen stream "$1" "$data/$2" "$3" "$streams"; }
{ head_ "fields joined by a newline, units in file order; $chain" 'stream NAME FILE FIELDS OUTDIR' \
  'collection, fields, standard (StandardTokenizer alone) or chain, units, units with a token, tokens, distinct terms, tokens per unit with a token (Lucene avgdl, float), SHA-256 of the stream (one unit a line, tokens joined by one blank, every line ended by a newline, UTF-8)'
  stream nfcorpus.corpus beir/nfcorpus/corpus.jsonl.zst title,text
  stream nfcorpus.queries beir/nfcorpus/queries.jsonl text
  stream arguana.corpus beir/arguana/corpus.jsonl.zst title,text
  stream arguana.queries beir/arguana/queries.jsonl.zst text
  stream datafinder.corpus datafinder/corpus_7602.jsonl.zst contents
  stream datafinder.corpus-full datafinder/corpus_7602.jsonl.zst id,contents,title
  stream datafinder.queries datafinder/test_clean/queries.jsonl text
  stream datafinder.queries-keyphrase datafinder/test_clean/queries.jsonl keyphrase
} > "$here/streams.tsv"

for c in nfcorpus arguana; do
  own=$([ $c = arguana ] && echo true || echo false)
  note='each distinct query term one SHOULD clause boosted by its count, score descending then id ascending as bytes, from the top 1,000'
  [ $own = true ] && note="$note, then the document whose id is the query's taken out"
  { head_ "BEIR $c, test qrels, contents = title + newline + text, BM25 k1 0.9 b 0.4, $note" "search beir/$c $own 10" \
    'query id, rank, document id, score (Float.toString)'; gen search "$data/beir/$c" $own 10; } | pack $c.top10.tsv.gz
  for m in 'qld LMDirichletSimilarity, mu 1000' 'qljm LMJelinekMercerSimilarity, lambda 0.1' 'classic ClassicSimilarity'; do
    model=${m%% *}
    { head_ "BEIR $c, test qrels, contents = title + newline + text, ${m#* }, $note" "search beir/$c $own 10 $model" \
      'query id, rank, document id, score (Float.toString)'; gen search "$data/beir/$c" $own 10 $model; } | pack $c.$model.top10.tsv.gz
  done
done
