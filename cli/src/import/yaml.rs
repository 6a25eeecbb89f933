//! YAML with lines: what it says, and where.

use saphyr::{LoadableYamlNode, MarkedYamlOwned, ScalarOwned, YamlDataOwned};

use super::Unparsed;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The line on which it begins.
    pub line: usize,
    /// What it is.
    pub content: Content,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Nothing.
    Null,
    /// A text, a number, a word.
    Scalar(String),
    /// A list.
    List(Vec<Node>),
    /// Fields in their order.
    Map(Vec<Field>),
}

/// One field of a map.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The line on which its name stands.
    pub line: usize,
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Node,
}

impl Node {
    /// Its fields; none where it is no map.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        match &self.content {
            Content::Map(fields) => fields,
            _ => &[],
        }
    }

    /// Its entries; none where it is no list.
    #[must_use]
    pub fn entries(&self) -> &[Self] {
        match &self.content {
            Content::List(entries) => entries,
            _ => &[],
        }
    }

    /// The field of a name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields().iter().find(|field| field.name == name)
    }

    /// The value of a field.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.field(name).map(|field| &field.value)
    }

    /// A text, a number or a word, as it is written.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar(text) => Some(text),
            _ => None,
        }
    }

    /// The text of a field.
    #[must_use]
    pub fn text_of(&self, name: &str) -> Option<&str> {
        self.get(name)?.text()
    }
}

/// Reads the first document of a text; nothing where it has none.
///
/// # Errors
/// When it is no YAML.
///
/// ```
/// use weir_cli::import::yaml::read;
/// let node = read("domain: a\nlist:\n  - key: b\n").unwrap();
/// assert_eq!(node.text_of("domain"), Some("a"));
/// assert_eq!(node.get("list").unwrap().entries()[0].field("key").unwrap().line, 3);
/// ```
pub fn read(text: &str) -> Result<Node, Unparsed> {
    let documents = MarkedYamlOwned::load_from_str(text)
        .map_err(|error| Unparsed::new(error.marker().line(), error.info()))?;
    let nothing = Node {
        line: 1,
        content: Content::Null,
    };
    Ok(documents.into_iter().next().map_or(nothing, node))
}

fn node(yaml: MarkedYamlOwned) -> Node {
    let line = yaml.span.start.line();
    let content = match yaml.data {
        YamlDataOwned::Representation(text, ..) => Content::Scalar(text),
        YamlDataOwned::Value(scalar) => of_scalar(scalar),
        YamlDataOwned::Sequence(entries) => Content::List(entries.into_iter().map(node).collect()),
        YamlDataOwned::Mapping(fields) => Content::Map(fields.into_iter().map(field).collect()),
        YamlDataOwned::Tagged(_, inner) => node(*inner).content,
        YamlDataOwned::Alias(_) | YamlDataOwned::BadValue => Content::Null,
    };
    Node { line, content }
}

fn field((name, value): (MarkedYamlOwned, MarkedYamlOwned)) -> Field {
    let name = node(name);
    Field {
        line: name.line,
        name: name.text().unwrap_or_default().to_owned(),
        value: node(value),
    }
}

fn of_scalar(scalar: ScalarOwned) -> Content {
    match scalar {
        ScalarOwned::Null => Content::Null,
        ScalarOwned::Boolean(value) => Content::Scalar(value.to_string()),
        ScalarOwned::Integer(value) => Content::Scalar(value.to_string()),
        ScalarOwned::FloatingPoint(value) => Content::Scalar(value.to_string()),
        ScalarOwned::String(text) => Content::Scalar(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_numbers_are_texts_and_nothing_is_nothing() {
        let node = read("a: true\nb: 5\nc: \"x\"\nd:\n").unwrap();
        let told: Vec<_> = ["a", "b", "c", "d", "e"]
            .map(|name| node.text_of(name))
            .into();
        assert_eq!(told, [Some("true"), Some("5"), Some("x"), None, None]);
        assert_eq!(read("").unwrap().content, Content::Null);
    }

    #[test]
    fn what_is_no_yaml_is_told_with_its_line() {
        let fault = read("a: 1\nb: [1, 2\nc: 3\n").unwrap_err();
        assert!(fault.line >= 2, "{fault:?}");
    }
}
