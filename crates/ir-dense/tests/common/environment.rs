//! Model and backend that environment variables name.

use std::path::{Path, PathBuf};

use ir_dense::{Backend, EncoderConfig};

/// Backend of the tests: the variable IR_BACKEND, `tch` for example, or the default.
pub fn backend() -> Backend {
    match std::env::var("IR_BACKEND") {
        Ok(name) => name.parse().expect("IR_BACKEND names no backend"),
        Err(_) => Backend::default(),
    }
}

/// Default configuration on the backend of the tests.
pub fn on_backend() -> EncoderConfig {
    EncoderConfig::default().with_backend(backend())
}

/// Folder of all-MiniLM-L6-v2: the variable IR_MODEL, or the output of `.ci/model`. `None` without
/// either.
pub fn minilm() -> Option<PathBuf> {
    let folder = match std::env::var_os("IR_MODEL") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/model/all-MiniLM-L6-v2"),
    };
    if folder.join("model.safetensors").exists() {
        return Some(folder);
    }
    skip(&format!(
        "no model in {} (.ci/model fetches it, IR_MODEL names it)",
        folder.display()
    ));
    None
}

/// Prints that a test is skipped, and why.
pub fn skip(reason: &str) {
    eprintln!("SKIPPED: {reason}");
}
