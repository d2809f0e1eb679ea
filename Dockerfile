# The static command, and nothing else. Build the program first; it needs the musl target and a C compiler for it:
#
#   rustup target add x86_64-unknown-linux-musl && sudo apt-get install musl-tools
#   .ci/dist x86_64-unknown-linux-musl
#   docker build -t ir .
#   docker run --rm -v "$PWD:/data" ir search corpus.jsonl 'vitamin d'
FROM scratch
COPY target/dist-assets/ir /ir
# Temporary files of large indexes.
WORKDIR /tmp
WORKDIR /data
ENTRYPOINT ["/ir"]
