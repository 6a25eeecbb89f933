//! Where a request comes from. The platform's word counts; what a header adds is believed only as far as proxies that the
//! policy trusts have written it.

use std::net::IpAddr;

use weir_core::limits::{CLIENT_PREFIX_BITS_IPV6, FORWARDED_HOPS_MAX, OWNER_PREFIX_BITS_IPV6};
use weir_limiting::owner::{Account, Owner};

use super::facts::Facts;
pub use weir_policy::network::Cidr;
use weir_policy::network::leading;

/// The header in which the platform says who connects. It replaces what a client sends under that name.
pub const CONNECTING: &str = "cf-connecting-ip";

/// The header to which each proxy appends who connected to it.
pub const FORWARDED_FOR: &str = "x-forwarded-for";

/// The key of requests whose address is not known: they share one.
pub const UNKNOWN: &str = "unknown";

/// The address of the client: who connects, or, while that is a trusted proxy, who it says connected to it. The chain
/// is read from its end, where the nearest proxy wrote, and stops at the first address that is not trusted; what a
/// client wrote itself stands before that and is never reached.
///
/// ```
/// use weir_gateway::address::{Cidr, client};
/// use weir_gateway::facts::{BodyLength, Facts};
/// let header = |name: &str| match name {
///     "cf-connecting-ip" => Some("10.0.0.7".to_owned()),
///     // Forged by the client, then the client as the first proxy saw it, then that proxy as the second did.
///     "x-forwarded-for" => Some("192.0.2.1, 203.0.113.9, 10.0.0.3".to_owned()),
///     _ => None,
/// };
/// let facts = Facts {
///     method: "GET", host: "h", path: "/", header: &header, country: None, asn: None, body: BodyLength::None,
/// };
/// let trusted = [Cidr::read("10.0.0.0/8").unwrap()];
/// assert_eq!(client(&trusted, &facts), "203.0.113.9".parse().ok());
/// assert_eq!(client(&[], &facts), "10.0.0.7".parse().ok());
/// ```
#[must_use]
pub fn client(trusted: &[Cidr], facts: &Facts<'_>) -> Option<IpAddr> {
    let connecting = read(&facts.value(CONNECTING)?)?;
    if !is_among(trusted, connecting) {
        return Some(connecting);
    }
    Some(behind(trusted, facts).unwrap_or(connecting))
}

/// The address of the client of a request that somebody else has received and speaks for: the last one of the chain that
/// is no trusted proxy, or its first where all are. `None` where the chain names nobody.
///
/// ```
/// use weir_gateway::address::{Cidr, behind};
/// use weir_gateway::facts::{BodyLength, Facts};
/// let header = |name: &str| (name == "x-forwarded-for").then(|| "192.0.2.1, 203.0.113.9, 10.0.0.3".to_owned());
/// let facts = Facts {
///     method: "GET", host: "h", path: "/", header: &header, country: None, asn: None, body: BodyLength::None,
/// };
/// assert_eq!(behind(&[Cidr::read("10.0.0.0/8").unwrap()], &facts), "203.0.113.9".parse().ok());
/// assert_eq!(behind(&[], &facts), "10.0.0.3".parse().ok());
/// ```
#[must_use]
pub fn behind(trusted: &[Cidr], facts: &Facts<'_>) -> Option<IpAddr> {
    let chain = facts.value(FORWARDED_FOR)?;
    let mut client = None;
    for hop in chain.rsplit(',').take(FORWARDED_HOPS_MAX) {
        // Whoever wrote what cannot be read is the last one known.
        let Some(address) = read(hop) else {
            break;
        };
        client = Some(address);
        if !is_among(trusted, address) {
            break;
        }
    }
    client
}

/// Whether the one who connects is a proxy whose word is taken.
#[must_use]
pub fn from_trusted(trusted: &[Cidr], facts: &Facts<'_>) -> bool {
    let connecting = facts.value(CONNECTING).and_then(|value| read(&value));
    connecting.is_some_and(|address| is_among(trusted, address))
}

fn is_among(networks: &[Cidr], address: IpAddr) -> bool {
    networks.iter().any(|network| network.contains(address))
}

/// The name of a client by its address: of IPv6 its network of 64 bits, as whoever has one has all its addresses.
///
/// ```
/// use weir_gateway::address::name;
/// assert_eq!(name("203.0.113.9".parse().unwrap()), "203.0.113.9");
/// assert_eq!(name("2001:db8:1:2:3:4:5:6".parse().unwrap()), "2001:db8:1:2::/64");
/// assert_eq!(name("::ffff:203.0.113.9".parse().unwrap()), "203.0.113.9");
/// ```
#[must_use]
pub fn name(address: IpAddr) -> String {
    network(address, CLIENT_PREFIX_BITS_IPV6)
}

/// On whose account keys go that come from an address: of IPv6 its network of 48 bits, as whoever has one can be a client
/// of 65,536 names.
///
/// ```
/// use weir_gateway::address::owner;
/// use weir_limiting::owner::Owner;
/// let of = |text: &str| owner(text.parse().unwrap());
/// assert_eq!(of("203.0.113.9"), Owner::address("203.0.113.9"));
/// assert_eq!(of("2001:db8:1:2:3:4:5:6"), Owner::address("2001:db8:1::/48"));
/// assert_eq!(of("2001:db8:1:ffff::1"), of("2001:db8:1:2:3:4:5:6"));
/// ```
#[must_use]
pub fn owner(address: IpAddr) -> Owner {
    Owner::address(&network(address, OWNER_PREFIX_BITS_IPV6))
}

/// The account of whoever is known by an address alone, which may be no address at all.
///
/// ```
/// use weir_gateway::address::{account, owner};
/// let of = |text: &str| account(text).owner;
/// assert_eq!(of("2001:db8:1:2::7"), Some(owner("2001:db8:1::".parse().unwrap())));
/// assert_eq!(of("no address"), None);
/// ```
#[must_use]
pub fn account(text: &str) -> Account {
    Account {
        owner: text.trim().parse().ok().map(owner),
        ..Account::default()
    }
}

/// An address, of IPv6 the network of its leading bits.
fn network(address: IpAddr, bits: u8) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let network = std::net::Ipv6Addr::from_bits(leading(IpAddr::V6(address), bits));
            format!("{network}/{bits}")
        }
    }
}

/// An address with or without a port, an IPv6 address also in brackets.
pub(super) fn read(text: &str) -> Option<IpAddr> {
    let text = text.trim_matches([' ', '\t']);
    let bare = || text.parse::<IpAddr>().ok();
    let bracketed = || text.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    let with_port = || {
        text.parse::<std::net::SocketAddr>()
            .ok()
            .map(|one| one.ip())
    };
    let address = bare().or_else(bracketed).or_else(with_port)?;
    Some(address.to_canonical())
}
