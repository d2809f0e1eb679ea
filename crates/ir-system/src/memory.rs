//! Memory of the machine.

use std::fs;

/// Memory that can be allocated without swapping, in bytes; `None` where the system does not say:
/// the minimum of `MemAvailable` of `/proc/meminfo` and the limit of the control group.
pub(crate) fn available_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok();
    let free = text.and_then(|text| available(&text));
    let group = |name: &str| {
        let text = fs::read_to_string(format!("/sys/fs/cgroup/memory.{name}")).ok()?;
        text.trim().parse::<u64>().ok()
    };
    let of_group = group("max").map(|max| max.saturating_sub(group("current").unwrap_or(0)));
    free.into_iter().chain(of_group).min()
}

/// `MemAvailable` of `/proc/meminfo` in bytes.
fn available(text: &str) -> Option<u64> {
    let mut lines = text.lines();
    let value = lines.find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1 << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_linux() {
        let text = "MemTotal:       24683656 kB\nMemAvailable:   23076152 kB\n";
        assert_eq!(available(text), Some(23_076_152 << 10));
        assert_eq!(available("MemTotal: 1 kB\n"), None);
        assert_eq!(available("MemAvailable: many kB\n"), None);
        if cfg!(target_os = "linux") {
            assert!(available_memory().is_some_and(|bytes| bytes > 1 << 20));
        }
    }
}
