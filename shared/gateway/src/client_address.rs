//! Which field of a request tells the address of its client, as the deployment says: a field that nobody replaces is one
//! that anyone can write.

use super::address::{CONNECTING, FORWARDED_FOR};

/// The variable of the deployment that says it.
pub const CLIENT_ADDRESS: &str = "WEIR_CLIENT_ADDRESS";

/// Whose word on the client's address counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ClientAddress {
    /// Cloudflare's, which replaces `cf-connecting-ip`.
    #[default]
    Cloudflare,
    /// That of the proxy before the Worker, which appends to `x-forwarded-for`: its last address connects.
    Forwarded,
    /// Nobody's: the address is not known.
    None,
}

impl ClientAddress {
    /// What the variable says: `cloudflare`, `forwarded` or `none`. `None` for anything else.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "cloudflare" => Some(Self::Cloudflare),
            "forwarded" => Some(Self::Forwarded),
            "none" => Some(Self::None),
            _ => None,
        }
    }

    /// The value of a field as it counts, given the values as they came: the field of the address that connects is the
    /// platform's, the proxy's last word, or absent.
    ///
    /// ```
    /// use weir_gateway::client_address::ClientAddress;
    /// let came = |name: &str| match name {
    ///     "cf-connecting-ip" => Some("192.0.2.1".to_owned()),
    ///     "x-forwarded-for" => Some("198.51.100.7, 203.0.113.9".to_owned()),
    ///     _ => None,
    /// };
    /// let connecting = |source: ClientAddress| source.value("cf-connecting-ip", came);
    /// assert_eq!(connecting(ClientAddress::Cloudflare).as_deref(), Some("192.0.2.1"));
    /// assert_eq!(connecting(ClientAddress::Forwarded).as_deref(), Some("203.0.113.9"));
    /// assert_eq!(connecting(ClientAddress::None), None);
    /// let with_port = ClientAddress::Forwarded.value("cf-connecting-ip", |_| Some("[2001:db8::7]:4711".to_owned()));
    /// assert_eq!(with_port.as_deref(), Some("2001:db8::7"));
    /// ```
    pub fn value(self, name: &str, came: impl Fn(&str) -> Option<String>) -> Option<String> {
        match self {
            Self::Forwarded if name == CONNECTING => {
                let chain = came(FORWARDED_FOR)?;
                let last = chain.rsplit(',').next()?.trim();
                // Some proxies say the port too, by which each connection would be somebody else's.
                Some(
                    super::address::read(last)
                        .map_or_else(|| last.to_owned(), |one| one.to_string()),
                )
            }
            Self::None if name == CONNECTING => None,
            _ => came(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_of_the_variable_is_read_and_no_other() {
        let words = [
            ("cloudflare", Some(ClientAddress::Cloudflare)),
            ("forwarded", Some(ClientAddress::Forwarded)),
            ("none", Some(ClientAddress::None)),
            ("None", None),
            ("", None),
        ];
        for (word, source) in words {
            assert_eq!(ClientAddress::named(word), source, "{word}");
        }
    }

    #[test]
    fn other_fields_come_as_they_were_sent() {
        let came = |name: &str| (name == "user-agent").then(|| "curl".to_owned());
        for source in [
            ClientAddress::Cloudflare,
            ClientAddress::Forwarded,
            ClientAddress::None,
        ] {
            assert_eq!(
                source.value("user-agent", came).as_deref(),
                Some("curl"),
                "{source:?}"
            );
        }
    }
}
