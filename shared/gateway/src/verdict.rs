//! How a proxy that asks about a request is told what was decided. Most take any status; some (`auth_request` of nginx)
//! take 2xx, 401 and 403, and make a failure of everything else.

use weir_core::invalid::{Fault, Invalid};
use weir_core::query::Query;

/// How a proxy is answered, as the query of its question says.
///
/// ```
/// use weir_gateway::verdict::Verdict;
/// use weir_core::query::Query;
/// let verdict = |name, value| Verdict::read(Query::new([(name, value)]).unwrap());
/// assert_eq!(verdict("deny", "403").unwrap().status(429), (403, Some(429)));
/// assert_eq!(verdict("unavailable", "deny").unwrap().status(429), (429, None));
/// assert_eq!(verdict("deny", "404").unwrap_err().field, "/deny");
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Whether a refusal is always 403.
    forbids: bool,
    /// Whether a request passes that cannot be decided.
    allows_undecided: bool,
}

/// A proxy knows what 401 is, and its challenge is for the client.
const UNAUTHORIZED: u16 = 401;

const FORBIDDEN: u16 = 403;

impl Verdict {
    /// `deny=403`, and `unavailable=allow` or `unavailable=deny`.
    ///
    /// # Errors
    /// Anything else, by its name.
    pub fn read(mut query: Query) -> Result<Self, Invalid> {
        let mut one_of = |name: &str, served: &'static str, words: &[&str]| {
            let Some(got) = query.take(name) else {
                return Ok(None);
            };
            let place = words.iter().position(|word| *word == got);
            let unserved = || Invalid::new(format!("/{name}"), Fault::Unserved { got, served });
            place.map(Some).ok_or_else(unserved)
        };
        let forbids = one_of("deny", "403", &["403"])?.is_some();
        let undecided = one_of("unavailable", "allow, deny", &["allow", "deny"])?;
        query.finish("deny, unavailable")?;
        Ok(Self {
            forbids,
            allows_undecided: undecided == Some(0),
        })
    }

    /// Whether a request passes that cannot be decided.
    #[must_use]
    pub fn allows_undecided(self) -> bool {
        self.allows_undecided
    }

    /// The status of a refusal, and the one that it stands for where it is another.
    #[must_use]
    pub fn status(self, refused: u16) -> (u16, Option<u16>) {
        match self.forbids && refused != UNAUTHORIZED {
            true => (FORBIDDEN, Some(refused)),
            false => (refused, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_decided_passes_where_the_proxy_says_so() {
        let read = |query: &[(&str, &str)]| {
            let query = Query::new(query.iter().copied()).unwrap();
            Verdict::read(query).map(Verdict::allows_undecided)
        };
        assert_eq!(read(&[("unavailable", "allow")]), Ok(true));
        assert_eq!(read(&[("unavailable", "deny")]), Ok(false));
        assert_eq!(read(&[("deny", "403")]), Ok(false));
        assert!(read(&[("unavailable", "maybe")]).is_err());
    }
}
