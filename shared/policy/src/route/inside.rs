//! Hosts that only the inside of a network reaches, by how they are written.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Names that are never public (RFC 6761, RFC 6762, RFC 8375, and what clouds call their own machines).
const NAMES: [&str; 6] = [
    "localhost",
    "local",
    "internal",
    "localdomain",
    "home.arpa",
    "lan",
];

/// Whether a host, in lower case and without port and final dot, is inside.
pub(super) fn is_inside(host: &str) -> bool {
    if let Some(v6) = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
    {
        return v6
            .parse()
            .is_ok_and(|address| is_special(IpAddr::V6(address)));
    }
    if let Ok(address) = host.parse() {
        return is_special(IpAddr::V4(address));
    }
    is_odd_address(host) || !host.contains('.') || NAMES.iter().any(|name| is_below(host, name))
}

/// Whether browsers and platforms would read a host as an IPv4 address that is written in another way, as `127.1` or
/// `0x7f000001` (WHATWG URL, "ends in a number"). Nobody needs one.
fn is_odd_address(host: &str) -> bool {
    let last = host.rsplit('.').next().unwrap_or_default();
    let hexadecimal = last.strip_prefix("0x");
    hexadecimal.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
        || last.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_below(host: &str, name: &str) -> bool {
    let rest = host.strip_suffix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

fn is_special(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_special_v4(address),
        IpAddr::V6(address) => is_special_v6(address),
    }
}

/// The networks of RFC 6890 that are not reached over the internet, and those without a host.
fn is_special_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || a == 0
        || a >= 224
        || (a == 100 && b & 0xc0 == 64)
        || (a == 198 && b & 0xfe == 18)
        || (a == 192 && b == 0 && c == 0)
}

/// As for IPv4; an address that has one of IPv4 in it, by a translator or a tunnel, is as that one is.
fn is_special_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let v4 = |high: u16, low: u16| {
        let [[a, b], [c, d]] = [high.to_be_bytes(), low.to_be_bytes()];
        is_special_v4(Ipv4Addr::new(a, b, c, d))
    };
    let translated = a == 0x64 && b == 0xff9b && (c, d, e, f) == (0, 0, 0, 0);
    let compatible = (a, b, c, d, e, f) == (0, 0, 0, 0, 0, 0);
    a & 0xfe00 == 0xfc00
        || a & 0xffc0 == 0xfe80
        || a & 0xffc0 == 0xfec0
        || a & 0xff00 == 0xff00
        || (a == 0x64 && b == 0xff9b && c == 1)
        || (a == 0x100 && (b, c, d) == (0, 0, 0))
        || ((translated || compatible) && v4(g, h))
        || (a == 0x2002 && v4(b, c))
}
