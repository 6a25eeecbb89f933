//! A text with numbers in it, told in parts: written out, or kept as a template that is filled in with other numbers later.

/// Stands in a template where a number goes. No text of an answer has it.
pub const NUMBER: char = '\0';

/// Who is told the parts of a text, one after the other.
pub trait Parts {
    /// What is the same whatever the numbers are.
    fn text(&mut self, text: &str);
    /// A number, in decimal digits.
    fn number(&mut self, number: u64);
}

/// The text itself.
impl Parts for String {
    fn text(&mut self, text: &str) {
        self.push_str(text);
    }

    fn number(&mut self, number: u64) {
        self.push_str(itoa::Buffer::new().format(number));
    }
}

/// The text with [`NUMBER`] in the place of each number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Template(pub String);

impl Parts for Template {
    fn text(&mut self, text: &str) {
        self.0.push_str(text);
    }

    fn number(&mut self, _: u64) {
        self.0.push(NUMBER);
    }
}

/// The numbers, in their order.
///
/// ```
/// use weir_check::template::{Numbers, Parts, Template};
/// fn told(left: u64, parts: &mut impl Parts) {
///     parts.text("left=");
///     parts.number(left);
/// }
/// let (mut written, mut template, mut numbers) = (String::new(), Template::default(), Numbers::default());
/// told(3, &mut written);
/// told(0, &mut template);
/// told(3, &mut numbers);
/// assert_eq!((written.as_str(), template.0.as_str(), numbers.0.as_slice()), ("left=3", "left=\0", &[3][..]));
/// assert_eq!(template.filled(&numbers), written);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Numbers(pub Vec<u64>);

impl Parts for Numbers {
    fn text(&mut self, _: &str) {}

    fn number(&mut self, number: u64) {
        self.0.push(number);
    }
}

impl Template {
    /// The text with those numbers, of which there are as many as places: the text ends where one is missing.
    #[must_use]
    pub fn filled(&self, numbers: &Numbers) -> String {
        let mut pieces = self.0.split(NUMBER);
        let mut text = pieces.next().unwrap_or_default().to_owned();
        for (piece, number) in pieces.zip(&numbers.0) {
            text.number(*number);
            text.push_str(piece);
        }
        text
    }
}
