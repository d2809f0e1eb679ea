#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod biocaddie;
pub mod datafinder;
pub mod iclr;
pub mod papers;
pub mod part_of_speech;
