//! Where end-to-end tests keep what they start: in memory, where there is room.
//!
//! A deployment waits for the disk with each row that it writes, and so does whoever waits for the deployment: on a disk
//! that takes 5 ms and that seven of them share, a test is as slow as its neighbours write. What a killed process has
//! written is kept by the kernel in memory as on a disk.

use std::fs;
use std::path::Path;

/// A file system in memory, as Linux has it.
const FOLDER: &str = "/dev/shm";

/// Seven deployments, three browsers and the folders of wrangler take less than a quarter of it.
const ROOM_KIB_MIN: u64 = 4 * 1024 * 1024;

/// The folder in memory, where both the machine and that file system have room enough.
pub(super) fn folder() -> Option<&'static Path> {
    let folder = Path::new(FOLDER);
    let file_system = nix::sys::statvfs::statvfs(folder).ok()?;
    let free_kib = file_system.blocks_available() * file_system.fragment_size() / 1024;
    let memory_kib = available_kib(&fs::read_to_string("/proc/meminfo").ok()?)?;
    (free_kib.min(memory_kib) >= ROOM_KIB_MIN).then_some(folder)
}

/// What `/proc/meminfo` says new programs can have without swapping.
fn available_kib(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_in_kib() {
        let text = "MemTotal:       24683656 kB\nMemFree:  100 kB\nMemAvailable:   19000000 kB\n";
        assert_eq!(available_kib(text), Some(19_000_000));
        assert_eq!(available_kib("MemTotal: 1 kB\n"), None);
        assert_eq!(available_kib("MemAvailable: much\n"), None);
    }
}
