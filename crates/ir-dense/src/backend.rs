//! Where the arithmetic happens.

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

/// What computes: the processor in pure Rust, libtorch, or a graphics card.
///
/// All are named at run time; whether one is there was decided when the program was built.
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
    /// Pure Rust, on the processor. Always there.
    #[default]
    Cpu,
    /// libtorch on the processor. Feature `tch`.
    Tch,
    /// libtorch on NVIDIA's card of this number. Feature `tch`.
    TchCuda(usize),
    /// The graphics card that wgpu chooses. Feature `wgpu`.
    Wgpu,
    /// The graphics card that Vulkan chooses. Feature `vulkan`.
    Vulkan,
    /// NVIDIA's card of this number. Feature `cuda`.
    Cuda(usize),
}

impl Backend {
    /// The feature of this crate that compiles it in; `None` for what is always there.
    pub const fn feature(self) -> Option<&'static str> {
        match self {
            Self::Cpu => None,
            Self::Tch | Self::TchCuda(_) => Some("tch"),
            Self::Wgpu => Some("wgpu"),
            Self::Vulkan => Some("vulkan"),
            Self::Cuda(_) => Some("cuda"),
        }
    }

    /// burn's device.
    ///
    /// # Errors
    /// When its feature was off when the program was built (the error names the feature), or this
    /// machine has no such card.
    #[allow(
        deprecated,
        reason = "libtorch is there in the version of burn that is pinned"
    )]
    pub fn device(self) -> Result<Device, BackendError> {
        match self {
            Self::Cpu => Ok(Device::flex()),
            #[cfg(feature = "tch")]
            Self::Tch => Ok(Device::libtorch()),
            #[cfg(feature = "tch")]
            Self::TchCuda(card) => {
                self.card(DeviceType::LibTorch, card, || Device::libtorch_cuda(card))
            }
            #[cfg(feature = "wgpu")]
            Self::Wgpu => self.card(DeviceType::Wgpu, 0, || {
                Device::wgpu(DeviceKind::DefaultDevice)
            }),
            #[cfg(feature = "vulkan")]
            Self::Vulkan => self.card(DeviceType::Vulkan, 0, || {
                Device::vulkan(DeviceKind::DefaultDevice)
            }),
            #[cfg(feature = "cuda")]
            Self::Cuda(card) => self.card(DeviceType::Cuda, card, || Device::cuda(card)),
            #[allow(unreachable_patterns)]
            other => Err(BackendError::NotCompiledIn {
                backend: other,
                feature: other.feature().unwrap_or("default"),
            }),
        }
    }

    /// A card, when there are more than `before` of its kind. burn itself would panic later.
    #[cfg(any(
        feature = "tch",
        feature = "wgpu",
        feature = "vulkan",
        feature = "cuda"
    ))]
    fn card(
        self,
        kind: DeviceType,
        before: usize,
        device: impl FnOnce() -> Device,
    ) -> Result<Device, BackendError> {
        let found = Device::enumerate(kind).len();
        if found <= before {
            return Err(BackendError::NoCard {
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
            Self::Cpu => f.write_str("cpu"),
            Self::Tch => f.write_str("tch"),
            Self::TchCuda(card) => write!(f, "tch-cuda:{card}"),
            Self::Wgpu => f.write_str("wgpu"),
            Self::Vulkan => f.write_str("vulkan"),
            Self::Cuda(card) => write!(f, "cuda:{card}"),
        }
    }
}

impl FromStr for Backend {
    type Err = BackendError;

    fn from_str(text: &str) -> Result<Self, BackendError> {
        let unknown = || BackendError::Unknown { found: text.into() };
        let (name, card) = match text.split_once(':') {
            Some((name, card)) => (name, Some(card.parse().map_err(|_| unknown())?)),
            None => (text, None),
        };
        match (name, card) {
            ("cpu", None) => Ok(Self::Cpu),
            ("tch", None) => Ok(Self::Tch),
            ("tch-cuda", card) => Ok(Self::TchCuda(card.unwrap_or(0))),
            ("wgpu", None) => Ok(Self::Wgpu),
            ("vulkan", None) => Ok(Self::Vulkan),
            ("cuda", card) => Ok(Self::Cuda(card.unwrap_or(0))),
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

/// Why a backend cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BackendError {
    /// It was left out when the program was built.
    #[error("the backend {backend} was not compiled in: build with the feature `{feature}`")]
    NotCompiledIn {
        /// What was asked for.
        backend: Backend,
        /// The feature that brings it.
        feature: &'static str,
    },
    /// It was built, and this machine has no card for it.
    #[error("no card for the backend {backend}: found {found} of its kind on this machine")]
    NoCard {
        /// What was asked for.
        backend: Backend,
        /// Cards that it would run on.
        found: usize,
    },
    /// There is none of that name.
    #[error("unknown backend {found:?}: expected cpu, tch, tch-cuda:N, wgpu, vulkan or cuda:N")]
    Unknown {
        /// What was asked for.
        found: String,
    },
}
