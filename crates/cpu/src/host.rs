//! Facts of the machine that a plan depends on.

use std::path::{Path, PathBuf};

use crate::simd::Isa;

/// What [`resolve_plan`](crate::resolve_plan) knows of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Cores this process may run on.
    pub cores: usize,
    /// Bytes that can be taken without swapping, where the system says.
    pub available: Option<u64>,
    /// The widest instruction set usable here.
    pub isa: Isa,
}

impl Host {
    /// Asks the operating system.
    pub fn detect() -> Self {
        Self {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            available: available_memory(),
            isa: Isa::detect(),
        }
    }
}

/// The least of what the system and every enclosing control group leave. Linux only: elsewhere nothing is known
/// cheaply, and an allocation that fails is what tells.
fn available_memory() -> Option<u64> {
    let meminfo = std::fs::read_to_string("/proc/meminfo").ok()?;
    let system = parse_meminfo(&meminfo)?;
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let root = Path::new("/sys/fs/cgroup");
    let limited = groups.lines().filter_map(|line| line.strip_prefix("0::/")).flat_map(|group| {
        let path = root.join(group);
        let up: Vec<PathBuf> =
            path.ancestors().take_while(|p| p.starts_with(root)).map(Path::to_path_buf).collect();
        up.into_iter().filter_map(|p| group_headroom(&p))
    });
    limited.chain([system]).min()
}

/// `MemAvailable` in bytes.
fn parse_meminfo(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// What a version-2 control group has left; `None` when it sets no limit. File pages count as used there, but
/// are given up on demand.
fn group_headroom(group: &Path) -> Option<u64> {
    let text = |name: &str| std::fs::read_to_string(group.join(name)).ok();
    let number = |name: &str| text(name)?.trim().parse::<u64>().ok();
    let stat = text("memory.stat").unwrap_or_default();
    let reclaimable: u64 = stat
        .lines()
        .filter_map(|l| l.strip_prefix("inactive_file ").or_else(|| l.strip_prefix("active_file ")))
        .filter_map(|n| n.parse::<u64>().ok())
        .sum();
    let used = number("memory.current")?.saturating_sub(reclaimable);
    Some(number("memory.max")?.saturating_sub(used))
}

#[cfg(test)]
mod tests;
