//! Recording of an exchange with the server, for the test `replay`.

use std::sync::Arc;

use ir_engines::Recorder;

use super::{collection, patient};

#[path = "../common/exchange.rs"]
mod exchange;

/// Writes the recording to the file that `IR_MILVUS_RECORDING` names, which must not exist.
#[test]
#[ignore = "needs a Milvus server: .ci/milvus"]
fn recording() {
    let Ok(path) = std::env::var("IR_MILVUS_RECORDING") else {
        eprintln!("recording: skipped, IR_MILVUS_RECORDING is not set");
        return;
    };
    let recorder = Arc::new(Recorder::create(&path).unwrap());
    exchange::run(&|name| collection(name, &patient()).with_recorder(Arc::clone(&recorder)));
    eprintln!("recorded: {path}");
}
