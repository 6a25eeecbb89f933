//! Where a request comes from, whatever its headers say.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use weir_shared::gateway::address::{Cidr, client, from_trusted, name};

use super::document::get;

fn networks(texts: &[&str]) -> Vec<Cidr> {
    texts.iter().map(|text| Cidr::read(text).unwrap()).collect()
}

fn found(trusted: &[Cidr], connecting: &str, chain: Option<&str>) -> Option<String> {
    let mut headers = vec![("cf-connecting-ip", connecting)];
    headers.extend(chain.map(|chain| ("x-forwarded-for", chain)));
    let sent = get("/", &headers);
    sent.facts(|facts| client(trusted, facts))
        .map(|address| address.to_string())
}

#[test]
fn the_chain_is_believed_from_its_end_as_far_as_proxies_are_trusted() {
    let trusted = networks(&["10.0.0.0/8", "192.0.2.7", "2001:db8::/32"]);
    for (connecting, chain, expected) in [
        // Nobody in between: what the client wrote is nothing.
        ("203.0.113.9", None, "203.0.113.9"),
        ("203.0.113.9", Some("198.51.100.1"), "203.0.113.9"),
        ("203.0.113.9", Some("10.0.0.1"), "203.0.113.9"),
        // Through one proxy, and through two.
        ("10.0.0.1", Some("203.0.113.9"), "203.0.113.9"),
        ("10.0.0.1", Some("203.0.113.9, 192.0.2.7"), "203.0.113.9"),
        ("2001:db8::1", Some("203.0.113.9"), "203.0.113.9"),
        // What the client wrote stands before what the first proxy wrote.
        ("10.0.0.1", Some("198.51.100.1, 203.0.113.9"), "203.0.113.9"),
        (
            "10.0.0.1",
            Some("10.0.0.2, 203.0.113.9, 192.0.2.7"),
            "203.0.113.9",
        ),
        ("10.0.0.1", Some("192.0.2.8, 192.0.2.7"), "192.0.2.8"),
        // All are trusted: a request of the proxies' own.
        ("10.0.0.1", Some("10.0.0.3,10.0.0.2"), "10.0.0.3"),
        ("10.0.0.1", None, "10.0.0.1"),
        ("10.0.0.1", Some(""), "10.0.0.1"),
        // What cannot be read ends the chain where it was last known.
        ("10.0.0.1", Some("203.0.113.9, unknown"), "10.0.0.1"),
        ("10.0.0.1", Some("203.0.113.9, , 10.0.0.2"), "10.0.0.2"),
        ("10.0.0.1", Some("_hidden, 192.0.2.7"), "192.0.2.7"),
        // Ports and brackets, as some proxies write them.
        ("10.0.0.1", Some("203.0.113.9:4711"), "203.0.113.9"),
        ("10.0.0.1", Some("[2a00::1]:4711, [2001:db8::2]"), "2a00::1"),
        ("10.0.0.1", Some("::ffff:203.0.113.9"), "203.0.113.9"),
        ("::ffff:10.0.0.1", Some("203.0.113.9"), "203.0.113.9"),
    ] {
        let found = found(&trusted, connecting, chain);
        assert_eq!(found.as_deref(), Some(expected), "{connecting} {chain:?}");
    }
    let none = get("/", &[("x-forwarded-for", "10.0.0.1")]);
    assert_eq!(none.facts(|facts| client(&trusted, facts)), None);
    assert!(!none.facts(|facts| from_trusted(&trusted, facts)));
}

#[test]
fn a_long_chain_costs_no_more_than_its_end() {
    let trusted = networks(&["10.0.0.0/8"]);
    let chain = format!("203.0.113.9{}", ",10.0.0.1".repeat(10_000));
    assert_eq!(
        found(&trusted, "10.0.0.1", Some(&chain)).as_deref(),
        Some("10.0.0.1")
    );
}

#[test]
fn networks_begin_with_the_same_bits() {
    for (network, address, within) in [
        ("0.0.0.0/0", "255.255.255.255", true),
        ("0.0.0.0/0", "::1", false),
        ("::/0", "2001:db8::1", true),
        ("::/0", "10.0.0.1", false),
        ("10.0.0.0/8", "10.255.255.255", true),
        ("10.0.0.0/8", "11.0.0.0", false),
        ("10.0.0.0/8", "9.255.255.255", false),
        ("10.128.0.0/9", "10.127.255.255", false),
        ("192.0.2.6/31", "192.0.2.7", true),
        ("192.0.2.6/31", "192.0.2.8", false),
        ("192.0.2.7", "192.0.2.7", true),
        ("192.0.2.7/32", "192.0.2.6", false),
        ("2001:db8::/32", "2001:db8:ffff::1", true),
        ("2001:db8::/32", "2001:db9::", false),
        ("2001:db8::1/128", "2001:db8::1", true),
        ("2001:db8::1/128", "2001:db8::2", false),
    ] {
        let contains = networks(&[network])[0].contains(address.parse().unwrap());
        assert_eq!(contains, within, "{network} {address}");
    }
}

proptest! {
    #[test]
    fn a_network_has_exactly_the_addresses_with_its_bits(
        base in any::<u32>(), other in any::<u32>(), bits in 0_u32..=32,
    ) {
        let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
        let first = Ipv4Addr::from(base & mask);
        let network = Cidr::read(&format!("{first}/{bits}")).unwrap();
        let address = Ipv4Addr::from(other);
        prop_assert_eq!(network.contains(IpAddr::V4(address)), other & mask == base & mask);
        prop_assert!(network.contains(IpAddr::V4(Ipv4Addr::from(base))));
    }

    #[test]
    fn the_same_holds_of_ipv6(base in any::<u128>(), flipped in 0_u32..128, bits in 0_u32..=128) {
        let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
        // An IPv4 address that is written in IPv6 is one of IPv4.
        prop_assume!(Ipv6Addr::from(base & mask).to_ipv4_mapped().is_none());
        let network = Cidr::read(&format!("{}/{bits}", Ipv6Addr::from(base & mask))).unwrap();
        let other = Ipv6Addr::from(base ^ (1 << (127 - flipped)));
        prop_assume!(other.to_ipv4_mapped().is_none());
        prop_assert_eq!(network.contains(IpAddr::V6(other)), flipped >= bits);
    }

    #[test]
    fn whatever_a_client_writes_its_address_is_the_one_that_the_first_proxy_saw(
        forged in "[0-9a-f.:, \\[\\]]{0,60}", address in any::<u32>(),
    ) {
        let trusted = networks(&["10.0.0.0/8"]);
        let client = Ipv4Addr::from(address);
        prop_assume!(client.octets()[0] != 10);
        // Directly, and through a proxy that appends who connected to it.
        prop_assert_eq!(found(&trusted, &client.to_string(), Some(&forged)), Some(client.to_string()));
        let chain = format!("{forged}, {client}");
        prop_assert_eq!(found(&trusted, "10.0.0.1", Some(&chain)), Some(client.to_string()));
    }

    #[test]
    fn addresses_of_one_ipv6_network_are_one_client_and_others_are_not(
        base in any::<u64>(), one in any::<u64>(), other in any::<u64>(), beside in any::<u64>(),
    ) {
        prop_assume!(base != 0 && beside != 0 && base != beside);
        let name_of = |network: u64, host: u64| {
            name(IpAddr::V6(Ipv6Addr::from(u128::from(network) << 64 | u128::from(host))))
        };
        prop_assert_eq!(name_of(base, one), name_of(base, other));
        prop_assert!(name_of(base, one) != name_of(beside, one));
    }
}
