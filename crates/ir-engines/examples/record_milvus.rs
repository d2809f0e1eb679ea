//! Records an exchange with a Milvus server, for `tests/integration/replay.rs`. `.ci/milvus`
//! starts the server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

use std::sync::Arc;

use ir_engines::Recorder;

#[path = "../tests/common/exchange.rs"]
mod exchange;
#[path = "../tests/milvus_server/setup.rs"]
mod setup;

fn main() {
    let path = std::env::args().nth(1);
    let path = path.expect("the path of the recording, which must not exist");
    let recorder = Arc::new(Recorder::create(&path).unwrap());
    exchange::run(&|name| {
        setup::collection(name, &setup::patient()).with_recorder(Arc::clone(&recorder))
    });
    eprintln!("recorded: {path}");
}
