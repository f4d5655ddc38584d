//! How much memory a piece of work takes at its peak, where the system can tell.
//!
//! Linux keeps the highest resident size of a process in `/proc/self/status` and forgets it when `5` is written to
//! `/proc/self/clear_refs`. The growth over what was resident before is the work's own. Memory that earlier work gave
//! back to the allocator and that is used again does not count, so the figure is a lower bound. Elsewhere there is none.

use std::fs;

/// A piece of work under way.
#[derive(Debug)]
pub(super) struct Peak {
    before: Option<u64>,
}

impl Peak {
    /// Starts to watch.
    pub(super) fn start() -> Self {
        Peak { before: fs::write("/proc/self/clear_refs", "5").ok().and_then(|()| resident("VmRSS:")) }
    }

    /// Bytes that the process grew by at most since the start.
    pub(super) fn growth(&self) -> Option<u64> {
        Some(resident("VmHWM:")?.saturating_sub(self.before?))
    }
}

fn resident(name: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_array_is_seen_where_the_system_can_tell() {
        let peak = Peak::start();
        let array = vec![1u8; 64 << 20];
        assert_eq!(array.iter().map(|&byte| u64::from(byte)).sum::<u64>(), 64 << 20);
        drop(array);
        // Other tests run at the same time and may give memory back, so only the order of size is sure.
        if let Some(growth) = peak.growth() {
            assert!(growth > 16 << 20, "{growth}");
        }
    }
}
