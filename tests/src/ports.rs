//! Free ports on the loopback address.

use std::fs::File;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU16, Ordering};

use anyhow::{Context, Result, bail};

/// Below the ports that the system gives to outgoing connections: a port that a killed server leaves is still
/// free when the server comes back.
const FIRST: u16 = 20_000;
const COUNT: u16 = 10_000;

/// What this process has taken. A lock ends with its file: with the process, however that ends.
static TAKEN: Mutex<Vec<File>> = Mutex::new(Vec::new());

/// A port that nobody listens on, and that no test that is still running has been given: each test is a process of its
/// own, and a server that is started or killed does not listen for a while.
pub fn free() -> Result<u16> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let folder = folder()?;
    // Each process starts somewhere else.
    let offset = (std::process::id() % u32::from(COUNT)) as u16;
    for _ in 0..COUNT {
        let step = NEXT.fetch_add(1, Ordering::Relaxed) % COUNT;
        let port = FIRST + (offset.wrapping_mul(37) % COUNT + step) % COUNT;
        let lock = folder.join(port.to_string());
        let lock = File::create(&lock).with_context(|| format!("create {}", lock.display()))?;
        if lock.try_lock().is_err() || TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_err() {
            continue;
        }
        TAKEN.lock().expect("no thread panics with it").push(lock);
        return Ok(port);
    }
    bail!("no free port between {FIRST} and {}", FIRST + COUNT)
}

fn folder() -> Result<PathBuf> {
    let folder = std::env::temp_dir().join("weir-ports");
    std::fs::create_dir_all(&folder).context("make the folder of the ports' locks")?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_given_once_also_where_nobody_listens_yet() {
        let mut ports: Vec<_> = (0..50).map(|_| free().unwrap()).collect();
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 50);
        let lock = File::open(folder().unwrap().join(ports[0].to_string())).unwrap();
        assert!(lock.try_lock().is_err(), "another process could take it");
    }
}
