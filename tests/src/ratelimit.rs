//! The rate-limit headers of the IETF draft (draft-ietf-httpapi-ratelimit-headers): lists of structured fields
//! (RFC 9651), such as `RateLimit: "tokens";r=12;t=30, "per_ip";r=3;t=9`.

use weir_shared::ordered::OrderedMap;

use anyhow::{Context, Result, anyhow, bail};
use sfv::{BareItem, List, ListEntry, Parser};

/// One item: the name of a policy and its parameters, which are integers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The name.
    pub name: String,
    /// `r`, `t`, `q`, `w`.
    pub parameters: OrderedMap<String, u64>,
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

/// Parses a header: a list of strings, each with integer parameters.
pub fn parse(header: &str) -> Result<Vec<Item>> {
    let list: List = Parser::new(header)
        .parse()
        .map_err(|error| anyhow!("{header:?} is no list of structured fields: {error}"))?;
    list.into_iter()
        .map(|entry| item(entry).with_context(|| format!("in {header:?}")))
        .collect()
}

/// Parses a header of one item.
pub fn parse_one(header: &str) -> Result<Item> {
    let [item]: [Item; 1] = parse(header)?
        .try_into()
        .map_err(|items: Vec<Item>| anyhow!("{} items in {header:?}", items.len()))?;
    Ok(item)
}

fn item(entry: ListEntry) -> Result<Item> {
    let ListEntry::Item(item) = entry else {
        bail!("a list within the list")
    };
    let BareItem::String(name) = &item.bare_item else {
        bail!("{:?} is not a string", item.bare_item)
    };
    let mut parameters = OrderedMap::new();
    for (key, value) in &item.params {
        let BareItem::Integer(number) = value else {
            bail!("{key} is {value:?}, not an integer")
        };
        let number = u64::try_from(i64::from(*number)).context("a negative parameter")?;
        parameters.insert(key.as_str().to_owned(), number);
    }
    Ok(Item {
        name: name.as_str().to_owned(),
        parameters,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_names_and_parameters_in_their_order() {
        let items = parse(r#""tokens";r=12;t=30, "per_ip";r=0;t=9"#).unwrap();
        let names: Vec<_> = items.iter().map(|item| item.name.as_str()).collect();
        assert_eq!(names, ["tokens", "per_ip"]);
        let [tokens, _] = items.as_slice() else {
            panic!("two items")
        };
        assert_eq!(
            (
                tokens.parameter("r").unwrap(),
                tokens.parameter("t").unwrap()
            ),
            (12, 30)
        );
        assert!(tokens.parameter("q").is_err());
    }

    #[test]
    fn refuses_what_is_no_list_of_strings_with_integers() {
        for bad in [
            "tokens;r=1",
            r#""tokens;r=1"#,
            r#""a";r=1 "b";r=2"#,
            r#""a";r"#,
            r#""a";r=-1"#,
            r#""a";r=1.5"#,
            r#""a";r=1000000000000000"#,
            r#"("a" "b")"#,
            r#""é";r=1"#,
        ] {
            assert!(parse(bad).is_err(), "{bad:?} was accepted");
        }
        for several in ["", r#""a";r=1, "b";r=2"#] {
            assert!(parse_one(several).is_err(), "{several:?} was accepted");
        }
    }
}
