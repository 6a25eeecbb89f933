//! The parameters of a query: each at most once, each known, none longer than its bound.

use crate::invalid::{Fault, Invalid};
use crate::json::pointer::step;
use crate::limits::QUERY_PARAMETERS_MAX;
use crate::name::tenant_name;
use crate::ordered::OrderedMap;

/// The parameters of one request, decoded, of which those that are known are taken one by one.
///
/// ```
/// use weir_core::query::Query;
/// let mut query = Query::new([("from", "5"), ("colour", "red")]).unwrap();
/// assert_eq!(query.number("from"), Ok(Some(5)));
/// assert_eq!(query.finish("from").unwrap_err().field, "/colour");
/// ```
#[derive(Debug, Clone, Default)]
pub struct Query {
    left: OrderedMap<String, String>,
}

impl Query {
    /// The parameters by name.
    ///
    /// # Errors
    /// One that is given twice, or more than [`QUERY_PARAMETERS_MAX`].
    pub fn new<N: Into<String>, V: Into<String>>(
        pairs: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Self, Invalid> {
        let mut left = OrderedMap::new();
        for (name, value) in pairs {
            let name = name.into();
            if left.len() >= QUERY_PARAMETERS_MAX {
                let (got, max, what) = (left.len() + 1, QUERY_PARAMETERS_MAX, "parameters");
                return Err(Invalid::new("", Fault::TooMany { got, max, what }));
            }
            if left.contains_key(&name) {
                let got = name.clone();
                return Err(Invalid::new(step(&name), Fault::Duplicate { got }));
            }
            left.insert(name, value.into());
        }
        Ok(Self { left })
    }

    /// The value of a parameter, which then counts as known.
    pub fn take(&mut self, name: &str) -> Option<String> {
        self.left.remove(name)
    }

    /// An integer of at least 0.
    ///
    /// # Errors
    /// Anything else.
    pub fn number(&mut self, name: &str) -> Result<Option<u64>, Invalid> {
        let Some(text) = self.take(name) else {
            return Ok(None);
        };
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|_| digits);
        number
            .map(Some)
            .ok_or_else(|| form(name, "must be an integer of at least 0, below 2^64"))
    }

    /// `true` or `false`.
    ///
    /// # Errors
    /// Anything else.
    pub fn flag(&mut self, name: &str) -> Result<Option<bool>, Invalid> {
        match self.take(name).as_deref() {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(_) => Err(form(name, "must be true or false")),
        }
    }

    /// Text of at most `bytes_max` bytes without control characters; an empty one counts as absent.
    ///
    /// # Errors
    /// Anything else.
    pub fn text(&mut self, name: &str, bytes_max: usize) -> Result<Option<String>, Invalid> {
        let Some(text) = self.take(name).filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        if text.len() > bytes_max {
            let (got, max, what) = (text.len(), bytes_max, "bytes");
            return Err(Invalid::new(step(name), Fault::TooMany { got, max, what }));
        }
        if let Some(got) = text.chars().find(|c| c.is_control()) {
            let allowed = "all but control characters";
            return Err(Invalid::new(step(name), Fault::Character { got, allowed }));
        }
        Ok(Some(text))
    }

    /// The name of a tenant.
    ///
    /// # Errors
    /// What cannot be one.
    pub fn tenant(&mut self, name: &str) -> Result<Option<String>, Invalid> {
        let Some(tenant) = self.take(name) else {
            return Ok(None);
        };
        tenant_name(&tenant).map_err(|fault| Invalid::new(step(name), fault))?;
        Ok(Some(tenant))
    }

    /// Refuses what was not taken: a misspelt parameter that is ignored answers another question than was asked.
    ///
    /// # Errors
    /// The first that is left.
    pub fn finish(self, served: &'static str) -> Result<(), Invalid> {
        match self.left.into_keys().next() {
            None => Ok(()),
            Some(name) => {
                let field = step(&name);
                let got = format!("{:?}", name.chars().take(64).collect::<String>());
                Err(Invalid::new(field, Fault::Unserved { got, served }))
            }
        }
    }
}

fn form(name: &str, message: &str) -> Invalid {
    let message = message.to_owned();
    Invalid::new(step(name), Fault::Form { message })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_read_as_what_it_is_or_refused_by_its_name() {
        let mut query = Query::new([("n", "12"), ("f", "true"), ("t", "a b"), ("e", "")]).unwrap();
        assert_eq!(query.number("n"), Ok(Some(12)));
        assert_eq!(query.flag("f"), Ok(Some(true)));
        assert_eq!(query.text("t", 3), Ok(Some("a b".to_owned())));
        assert_eq!(query.text("e", 3), Ok(None));
        assert_eq!(query.number("absent"), Ok(None));
        assert_eq!(query.finish("n, f, t, e"), Ok(()));
        for (value, read) in [("1.5", "n"), ("+1", "n"), ("-1", "n"), (" 1", "n")] {
            let mut query = Query::new([("n", value)]).unwrap();
            assert_eq!(query.number(read).unwrap_err().field, "/n", "{value:?}");
        }
        let mut query = Query::new([("f", "yes"), ("t", "four"), ("tenant", "")]).unwrap();
        assert_eq!(query.flag("f").unwrap_err().field, "/f");
        assert_eq!(query.text("t", 3).unwrap_err().field, "/t");
        assert_eq!(query.tenant("tenant").unwrap_err().field, "/tenant");
    }

    #[test]
    fn parameters_are_bounded() {
        let pairs = (0..=QUERY_PARAMETERS_MAX).map(|number| (format!("p{number}"), "x"));
        assert!(Query::new(pairs).is_err());
    }
}
