//! How much memory this process may use.

use sysinfo::System;

use super::ByteSize;

/// Part of the memory that assignments may take unless configured, in per cent: the rest is for keys, shapes, circuit code
/// and the prover's working memory.
pub const ASSIGNMENT_BUDGET_PERCENT: u64 = 50;

/// Memory taken for granted where the system does not say.
const MEMORY_UNKNOWN: ByteSize = ByteSize::mebibytes(4096);

/// Memory of the machine, or of the control group this process is in if that is less (a container's limit).
#[must_use]
pub fn memory_limit() -> ByteSize {
    let Ok(mut system) = System::new() else {
        return MEMORY_UNKNOWN;
    };
    system.refresh_memory();
    let group = system.cgroup_limits().map(|limits| limits.total_memory);
    let known = [Some(system.total_memory()), group].into_iter().flatten();
    known
        .filter(|bytes| *bytes > 0)
        .min()
        .map_or(MEMORY_UNKNOWN, ByteSize::bytes)
}

/// [`ASSIGNMENT_BUDGET_PERCENT`] of [`memory_limit`].
#[must_use]
pub fn assignment_budget_default() -> ByteSize {
    ByteSize::bytes(memory_limit().as_u64() / 100 * ASSIGNMENT_BUDGET_PERCENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_no_more_than_the_machine_has() {
        let machine = std::fs::read_to_string("/proc/meminfo").unwrap();
        let total = machine.lines().find(|line| line.starts_with("MemTotal:"));
        let kib: u64 = total
            .and_then(|line| line.split_whitespace().nth(1)?.parse().ok())
            .unwrap();
        let limit = memory_limit();
        assert!(limit > ByteSize::mebibytes(64), "{limit}");
        assert!(limit.as_u64() <= kib * 1024, "{limit}");
        assert!(assignment_budget_default() < limit);
    }
}
