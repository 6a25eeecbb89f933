//! The rate-limit headers of the IETF draft (draft-ietf-httpapi-ratelimit-headers): structured-field lists of one
//! item each, such as `RateLimit: "tokens";r=12;t=30`.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};

/// One item: a quoted name and its integer parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The name of the policy.
    pub name: String,
    /// `r`, `t`, `q`, `w`, ...
    pub parameters: BTreeMap<String, u64>,
}

impl Item {
    /// A parameter that must be there.
    pub fn parameter(&self, key: &str) -> Result<u64> {
        self.parameters
            .get(key)
            .copied()
            .with_context(|| format!("no parameter {key} in {self:?}"))
    }
}

/// Parses a header of one item whose parameters are integers; others are passed over.
pub fn parse(header: &str) -> Result<Item> {
    let rest = header
        .trim()
        .strip_prefix('"')
        .with_context(|| format!("{header:?} does not start with a string"))?;
    let Some((name, rest)) = rest.split_once('"') else {
        bail!("the string in {header:?} does not end")
    };
    let mut parameters = BTreeMap::new();
    for part in rest
        .split(';')
        .map(str::trim)
        .filter(|part| !part.is_empty())
    {
        let (key, value) = part
            .split_once('=')
            .with_context(|| format!("{part:?} in {header:?} has no value"))?;
        ensure!(!value.contains(','), "{header:?} has more than one item");
        if let Ok(value) = value.parse() {
            parameters.insert(key.to_owned(), value);
        }
    }
    Ok(Item {
        name: name.to_owned(),
        parameters,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_name_and_the_parameters() {
        let item = parse(r#""tokens";r=12;t=30"#).unwrap();
        assert_eq!(item.name, "tokens");
        assert_eq!(
            (item.parameter("r").unwrap(), item.parameter("t").unwrap()),
            (12, 30)
        );
        assert!(item.parameter("q").is_err());
    }

    #[test]
    fn refuses_what_is_not_one_item() {
        for bad in [
            "",
            "tokens;r=1",
            r#""tokens;r=1"#,
            r#""a";r=1, "b";r=2"#,
            r#""a";r"#,
        ] {
            assert!(parse(bad).is_err(), "{bad:?} was accepted");
        }
    }
}
