//! Free ports on the loopback address.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

use anyhow::{Result, bail};

/// Below the ports that the system gives to outgoing connections: a port that a killed server leaves is still
/// free when the server comes back.
const FIRST: u16 = 20_000;
const COUNT: u16 = 10_000;

/// A port that nobody listens on and that this process has not handed out before.
pub fn free() -> Result<u16> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Test binaries may run side by side: each starts somewhere else.
    let offset = (std::process::id() % u32::from(COUNT)) as u16;
    for _ in 0..COUNT {
        let step = NEXT.fetch_add(1, Ordering::Relaxed) % COUNT;
        let port = FIRST + (offset.wrapping_mul(37) % COUNT + step) % COUNT;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no free port between {FIRST} and {}", FIRST + COUNT)
}
