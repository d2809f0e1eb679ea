//! Compute backends: CPU, libtorch and GPUs.

use std::fmt;
use std::str::FromStr;

use burn::tensor::Device;
#[cfg(any(feature = "wgpu", feature = "vulkan"))]
use burn::tensor::DeviceKind;
#[cfg(any(
    feature = "tch",
    feature = "wgpu",
    feature = "vulkan",
    feature = "cuda"
))]
use burn::tensor::DeviceType;
use serde::{Deserialize, Serialize};

/// Compute backend, chosen at run time. Backends other than [`Backend::Cpu`] need a feature of this
/// crate.
///
/// ```
/// use ir_dense::{Backend, BackendError};
/// assert_eq!("cuda:1".parse::<Backend>()?, Backend::Cuda(1));
/// assert!(Backend::Cpu.device().is_ok());
/// # Ok::<(), BackendError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub enum Backend {
    /// CPU, pure Rust. Always available.
    #[default]
    Cpu,
    /// libtorch on the CPU. Feature `tch`.
    Tch,
    /// libtorch on the NVIDIA GPU of this index. Feature `tch`.
    TchCuda(usize),
    /// Default GPU of wgpu. Feature `wgpu`.
    Wgpu,
    /// Default GPU of Vulkan. Feature `vulkan`.
    Vulkan,
    /// NVIDIA GPU of this index. Feature `cuda`.
    Cuda(usize),
}

impl Backend {
    /// Returns the feature that compiles the backend; `None` for [`Backend::Cpu`].
    pub const fn feature(self) -> Option<&'static str> {
        match self {
            Self::Cpu => None,
            Self::Tch | Self::TchCuda(_) => Some("tch"),
            Self::Wgpu => Some("wgpu"),
            Self::Vulkan => Some("vulkan"),
            Self::Cuda(_) => Some("cuda"),
        }
    }

    /// Backends that this crate was built with, by the names of their features.
    pub(crate) fn built() -> Vec<&'static str> {
        let all = [
            ("cpu", true),
            ("tch", cfg!(feature = "tch")),
            ("wgpu", cfg!(feature = "wgpu")),
            ("vulkan", cfg!(feature = "vulkan")),
            ("cuda", cfg!(feature = "cuda")),
        ];
        let built = all.into_iter().filter(|(_, is_built)| *is_built);
        built.map(|(name, _)| name).collect()
    }

    /// Returns the burn device.
    ///
    /// # Errors
    /// If the feature was off when the program was built, or this machine has no such GPU.
    #[allow(deprecated, reason = "the pinned version of burn supports libtorch")]
    pub fn device(self) -> Result<Device, BackendError> {
        match self {
            Self::Cpu => Ok(Device::flex()),
            #[cfg(feature = "tch")]
            Self::Tch => Ok(Device::libtorch()),
            #[cfg(feature = "tch")]
            Self::TchCuda(index) => {
                self.gpu(DeviceType::LibTorch, index, || Device::libtorch_cuda(index))
            }
            #[cfg(feature = "wgpu")]
            Self::Wgpu => self.gpu(DeviceType::Wgpu, 0, || {
                Device::wgpu(DeviceKind::DefaultDevice)
            }),
            #[cfg(feature = "vulkan")]
            Self::Vulkan => self.gpu(DeviceType::Vulkan, 0, || {
                Device::vulkan(DeviceKind::DefaultDevice)
            }),
            #[cfg(feature = "cuda")]
            Self::Cuda(index) => self.gpu(DeviceType::Cuda, index, || Device::cuda(index)),
            #[allow(unreachable_patterns)]
            other => Err(BackendError::NotCompiledIn {
                backend: other,
                feature: other.feature().unwrap_or("default"),
            }),
        }
    }

    /// Returns the GPU `index`, or an error if there is none, where burn would panic.
    #[cfg(any(
        feature = "tch",
        feature = "wgpu",
        feature = "vulkan",
        feature = "cuda"
    ))]
    fn gpu(
        self,
        kind: DeviceType,
        index: usize,
        device: impl FnOnce() -> Device,
    ) -> Result<Device, BackendError> {
        let found = Device::enumerate(kind).len();
        if found <= index {
            return Err(BackendError::NoGpu {
                backend: self,
                found,
            });
        }
        Ok(device())
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TchCuda(index) => write!(f, "tch-cuda:{index}"),
            Self::Cuda(index) => write!(f, "cuda:{index}"),
            _ => f.write_str(self.feature().unwrap_or("cpu")),
        }
    }
}

impl FromStr for Backend {
    type Err = BackendError;

    fn from_str(text: &str) -> Result<Self, BackendError> {
        let unknown = || BackendError::Unknown { found: text.into() };
        let (name, index) = match text.split_once(':') {
            Some((name, index)) => (name, Some(index.parse().map_err(|_| unknown())?)),
            None => (text, None),
        };
        match (name, index) {
            ("cpu", None) => Ok(Self::Cpu),
            ("tch", None) => Ok(Self::Tch),
            ("tch-cuda", index) => Ok(Self::TchCuda(index.unwrap_or(0))),
            ("wgpu", None) => Ok(Self::Wgpu),
            ("vulkan", None) => Ok(Self::Vulkan),
            ("cuda", index) => Ok(Self::Cuda(index.unwrap_or(0))),
            _ => Err(unknown()),
        }
    }
}

impl TryFrom<String> for Backend {
    type Error = BackendError;

    fn try_from(text: String) -> Result<Self, BackendError> {
        text.parse()
    }
}

impl From<Backend> for String {
    fn from(backend: Backend) -> Self {
        backend.to_string()
    }
}

/// Error selecting a backend.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum BackendError {
    /// The feature of the backend was off when the program was built.
    #[error("the backend {backend} was not compiled in: build with the feature `{feature}`")]
    NotCompiledIn {
        backend: Backend,
        feature: &'static str,
    },
    /// This machine has no GPU of this index for the backend; `found` is their number.
    #[error("no GPU for the backend {backend}: found {found} on this machine")]
    NoGpu { backend: Backend, found: usize },
    /// No backend has this name.
    #[error("unknown backend {found:?}: expected cpu, tch, tch-cuda:N, wgpu, vulkan or cuda:N")]
    Unknown { found: String },
}
