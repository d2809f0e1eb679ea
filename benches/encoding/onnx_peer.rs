//! ONNX Runtime beside ir-dense.

use std::env;
use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};
use bench_common::{Clock, Python, Seconds};
use ir_dense::Precision;
use serde_json::Value;

/// A model of ir-dense or of ONNX Runtime, in a precision.
pub(crate) enum System<M> {
    IrDense(Precision, Box<M>),
    OnnxRuntime(Precision, Python),
}

impl<M> System<M> {
    pub(crate) fn name(&self) -> String {
        match self {
            Self::IrDense(precision, _) => format!("ir-dense, {precision}"),
            Self::OnnxRuntime(precision, _) => format!("ONNX Runtime, {precision}"),
        }
    }

    /// Time of `run` with the model of ir-dense, or of a request to the peer.
    pub(crate) fn time(
        &mut self,
        request: &str,
        run: impl FnOnce(&M) -> Result<Vec<f32>>,
    ) -> Result<Seconds> {
        match self {
            Self::IrDense(_, model) => {
                let clock = Clock::process();
                run(model)?;
                Ok(clock.seconds())
            }
            Self::OnnxRuntime(_, peer) => peer.ask(request),
        }
    }

    /// Vectors or logits that [`System::time`] computes; `file` is a temporary file.
    pub(crate) fn outputs(
        &mut self,
        request: &str,
        file: &Path,
        run: impl FnOnce(&M) -> Result<Vec<f32>>,
    ) -> Result<Vec<f32>> {
        let values = match self {
            Self::IrDense(_, model) => run(model)?,
            Self::OnnxRuntime(_, peer) => {
                let _: Seconds = peer.ask(&format!("{request} {}", file.display()))?;
                let bytes = fs::read(file)?;
                let (values, _) = bytes.as_chunks::<4>();
                let values = values.iter().map(|&value| f32::from_le_bytes(value));
                values.collect()
            }
        };
        let is_finite = values.iter().all(|value| value.is_finite());
        ensure!(is_finite, "{}: expected finite numbers", self.name());
        Ok(values)
    }
}

/// Adds ONNX Runtime in f32 and int8; nothing without `IR_ONNX_PYTHON`. `lists` has lists of texts,
/// or of pairs of texts, by name. `settings` are the number of threads and the maximum sequence
/// length.
pub(crate) fn add_peers<M>(
    systems: &mut Vec<System<M>>,
    model: &Path,
    lists: &Value,
    settings: [usize; 2],
    folder: &Path,
) -> Result<()> {
    let Some(python) = env::var_os("IR_ONNX_PYTHON") else {
        eprintln!("IR_ONNX_PYTHON is not set: not timing ONNX Runtime");
        return Ok(());
    };
    let file = folder.join("workloads.json");
    fs::write(&file, serde_json::to_vec(lists)?)?;
    let [threads, max_tokens] = settings.map(|number| number.to_string());
    for precision in [Precision::F32, Precision::Int8] {
        let arguments = [
            model.as_os_str(),
            file.as_ref(),
            threads.as_ref(),
            max_tokens.as_ref(),
            precision.name().as_ref(),
        ];
        let mut peer = Python::start(Path::new(&python), "encoding/onnx_peer.py", arguments)?;
        println!("{}", peer.line()?);
        systems.push(System::OnnxRuntime(precision, peer));
    }
    Ok(())
}
