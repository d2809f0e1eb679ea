//! ONNX Runtime and OpenVINO beside ir-dense.

use std::env;
use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};
use bench_common::{Clock, Python, Seconds};
use ir_dense::Precision;
use serde_json::Value;

/// A model of ir-dense or of a peer, in a precision.
pub(crate) enum System<M> {
    IrDense(Precision, Box<M>),
    Peer(Library, Precision, Python),
}

/// Library of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Library {
    OnnxRuntime,
    OpenVino,
}

impl Library {
    const ALL: [Self; 2] = [Self::OnnxRuntime, Self::OpenVino];

    const fn name(self) -> &'static str {
        match self {
            Self::OnnxRuntime => "ONNX Runtime",
            Self::OpenVino => "OpenVINO",
        }
    }

    /// Variable with the Python interpreter, and the script.
    const fn program(self) -> (&'static str, &'static str) {
        match self {
            Self::OnnxRuntime => ("IR_ONNX_PYTHON", "encoding/onnx_peer.py"),
            Self::OpenVino => ("IR_OPENVINO_PYTHON", "encoding/openvino_peer.py"),
        }
    }
}

impl<M> System<M> {
    pub(crate) fn name(&self) -> String {
        match self {
            Self::IrDense(precision, _) => format!("ir-dense, {precision}"),
            Self::Peer(library, precision, _) => format!("{}, {precision}", library.name()),
        }
    }

    /// Returns `true` for a peer in f32.
    pub(crate) fn is_exact_peer(&self) -> bool {
        matches!(self, Self::Peer(_, Precision::F32, _))
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
            Self::Peer(_, _, peer) => peer.ask(request),
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
            Self::Peer(_, _, peer) => {
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

/// Adds the peers in f32 and int8, of `IR_ONNX_PYTHON` and `IR_OPENVINO_PYTHON`. `lists` has lists
/// of texts, or of pairs of texts, by name. `settings` are the number of threads and the maximum
/// sequence length.
pub(crate) fn add_peers<M>(
    systems: &mut Vec<System<M>>,
    model: &Path,
    lists: &Value,
    settings: [usize; 2],
    folder: &Path,
) -> Result<()> {
    let file = folder.join("workloads.json");
    fs::write(&file, serde_json::to_vec(lists)?)?;
    let [threads, max_tokens] = settings.map(|number| number.to_string());
    for library in Library::ALL {
        let (variable, script) = library.program();
        let Some(python) = env::var_os(variable) else {
            eprintln!("{variable} is not set: not timing {}", library.name());
            continue;
        };
        for precision in [Precision::F32, Precision::Int8] {
            let arguments = [
                model.as_os_str(),
                file.as_ref(),
                threads.as_ref(),
                max_tokens.as_ref(),
                precision.name().as_ref(),
            ];
            let mut peer = Python::start(Path::new(&python), script, arguments)?;
            println!("{}", peer.line()?);
            systems.push(System::Peer(library, precision, peer));
        }
    }
    Ok(())
}
