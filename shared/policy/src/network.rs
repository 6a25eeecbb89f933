//! Networks of addresses (CIDR, RFC 4632).

use std::net::IpAddr;

use weir_core::invalid::Fault;

/// A network: the addresses that begin with the same bits.
///
/// ```
/// use weir_policy::network::Cidr;
/// let network = Cidr::read("10.0.0.0/8").unwrap();
/// assert!(network.contains("10.255.0.1".parse().unwrap()));
/// assert!(!network.contains("11.0.0.0".parse().unwrap()));
/// // An IPv4 address is the same one when it is written in IPv6.
/// assert!(network.contains("::ffff:10.0.0.1".parse().unwrap()));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cidr {
    address: IpAddr,
    bits: u8,
}

impl Cidr {
    /// Reads a network: an address and how many leading bits count; all of them when that is left out.
    ///
    /// # Errors
    /// What is wrong with it, for the caller to place. Bits beyond those that count must be 0: whoever writes
    /// `10.1.0.0/8` may mean another network.
    pub fn read(text: &str) -> Result<Self, Fault> {
        let form = |message: &str| Fault::Form {
            message: message.to_owned(),
        };
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address
            .parse()
            .map_err(|_| form("is not an IPv4 or IPv6 address with the length of a prefix"))?;
        if address.to_canonical() != address {
            return Err(form("is an IPv4 address written in IPv6"));
        }
        let whole = if address.is_ipv4() { 32 } else { 128 };
        let digits = |bits: &str| bits.bytes().all(|byte| byte.is_ascii_digit());
        let bits = match bits {
            None => whole,
            Some(bits) => match bits.parse() {
                Ok(given) if given <= whole && digits(bits) => given,
                _ => {
                    return Err(Fault::OutOfRange {
                        got: format!("a prefix of {bits:?} bits"),
                        min: "0".to_owned(),
                        max: whole.to_string(),
                    });
                }
            },
        };
        if leading(address, bits) != leading(address, whole) {
            return Err(form("has bits after its prefix"));
        }
        Ok(Self { address, bits })
    }

    /// Whether an address is one of them.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.address.is_ipv4()
            && leading(address, self.bits) == leading(self.address, self.bits)
    }
}

/// The leading bits of an address, the others 0, at the upper end of 128.
pub fn leading(address: IpAddr, bits: u8) -> u128 {
    let value = match address {
        IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
        IpAddr::V6(address) => address.to_bits(),
    };
    let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
    value & mask
}
