//! The text of an nginx configuration: directives, each with its line and the blocks that it stands in.

use super::Unparsed;

/// One directive that ends with a semicolon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directive {
    /// The line on which it begins.
    pub line: usize,
    /// Its name and its parameters; never empty.
    pub words: Vec<String>,
    /// The blocks around it, the outermost first.
    pub within: Vec<Block>,
}

/// A block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Which block of the file: two servers are two.
    pub number: usize,
    /// What stands before its brace: `location /search/`.
    pub head: String,
}

impl Directive {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    /// Its parameters.
    #[must_use]
    pub fn parameters(&self) -> &[String] {
        self.words.get(1..).unwrap_or_default()
    }

    /// The whole of it.
    #[must_use]
    pub fn text(&self) -> String {
        self.words.join(" ")
    }
}

/// Reads the directives of a text.
///
/// # Errors
/// A quote, a brace or a directive that does not end, and a brace too many.
///
/// ```
/// use weir_cli::import::directives::read;
/// let found = read("http {\n  # a comment\n  limit_req zone=one burst=5; }").unwrap();
/// assert_eq!((found[0].line, found[0].text().as_str()), (3, "limit_req zone=one burst=5"));
/// assert_eq!(found[0].within[0].head, "http");
/// ```
pub fn read(text: &str) -> Result<Vec<Directive>, Unparsed> {
    let mut reader = Reader {
        line: 1,
        began: 1,
        words: Vec::new(),
        within: Vec::new(),
        blocks: 0,
        found: Vec::new(),
    };
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\n' => reader.line += 1,
            '#' => while rest.next_if(|c| *c != '\n').is_some() {},
            '{' => reader.open(),
            '}' => reader.close()?,
            ';' => reader.end()?,
            quote @ ('"' | '\'') => {
                let word = reader.quoted(quote, &mut rest)?;
                reader.word(word);
            }
            c if c.is_whitespace() => {}
            c => {
                let mut word = String::from(c);
                // A variable in braces belongs to its word: `${name}`.
                let mut open = false;
                while let Some(c) = rest.next_if(|c| {
                    !c.is_whitespace()
                        && *c != ';'
                        && (open || word.ends_with('$') || !"{}".contains(*c))
                }) {
                    open = c == '{' || (open && c != '}');
                    word.push(c);
                }
                reader.word(word);
            }
        }
    }
    reader.done()
}

struct Reader {
    line: usize,
    /// Where what is being read began.
    began: usize,
    words: Vec<String>,
    within: Vec<(usize, Block)>,
    blocks: usize,
    found: Vec<Directive>,
}

impl Reader {
    fn word(&mut self, word: String) {
        if self.words.is_empty() {
            self.began = self.line;
        }
        self.words.push(word);
    }

    fn quoted(
        &mut self,
        quote: char,
        rest: &mut impl Iterator<Item = char>,
    ) -> Result<String, Unparsed> {
        let began = self.line;
        let mut word = String::new();
        while let Some(c) = rest.next() {
            match c {
                c if c == quote => return Ok(word),
                '\\' => word.extend(rest.next()),
                c => {
                    self.line += usize::from(c == '\n');
                    word.push(c);
                }
            }
        }
        Err(Unparsed::new(began, "a quote does not end"))
    }

    fn open(&mut self) {
        self.blocks += 1;
        let head = std::mem::take(&mut self.words).join(" ");
        let number = self.blocks;
        self.within.push((self.line, Block { number, head }));
    }

    fn close(&mut self) -> Result<(), Unparsed> {
        if let Some(word) = self.words.first() {
            return Err(Unparsed::new(
                self.began,
                format!("{word:?} does not end with a semicolon"),
            ));
        }
        let closed = self.within.pop();
        closed
            .map(|_| ())
            .ok_or_else(|| Unparsed::new(self.line, "a brace closes nothing"))
    }

    fn end(&mut self) -> Result<(), Unparsed> {
        let words = std::mem::take(&mut self.words);
        if words.is_empty() {
            return Err(Unparsed::new(self.line, "a semicolon ends nothing"));
        }
        self.found.push(Directive {
            line: self.began,
            words,
            within: self.within.iter().map(|(_, block)| block.clone()).collect(),
        });
        Ok(())
    }

    fn done(self) -> Result<Vec<Directive>, Unparsed> {
        if let Some((line, _)) = self.within.last() {
            return Err(Unparsed::new(*line, "a brace is not closed"));
        }
        if let Some(word) = self.words.first() {
            return Err(Unparsed::new(
                self.began,
                format!("{word:?} does not end with a semicolon"),
            ));
        }
        Ok(self.found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_comments_and_variables_are_read_as_nginx_reads_them() {
        let text = "a \"b c;{}\" 'd\\'e' ${f}g; # h;\nlocation ~ \"^/x{2}\" {\n i # j\n k;\n}\n";
        let found = read(text).unwrap();
        assert_eq!(found[0].words, ["a", "b c;{}", "d'e", "${f}g"]);
        assert_eq!((found[1].line, found[1].text().as_str()), (3, "i k"));
        assert_eq!(found[1].within[0].head, "location ~ ^/x{2}");
    }

    #[test]
    fn two_blocks_of_one_name_are_two() {
        let found = read("server { a; }\nserver { b; }").unwrap();
        assert_ne!(found[0].within, found[1].within);
    }

    #[test]
    fn what_does_not_end_is_told_with_its_line() {
        for (text, line) in [
            ("a;\nb", 2),
            ("a;\nhttp {\n b;\n", 2),
            ("a;\n}", 2),
            ("\n\"a", 2),
            ("a;\n;", 2),
            ("http {\n a\n}", 2),
        ] {
            assert_eq!(read(text).unwrap_err().line, line, "{text:?}");
        }
    }
}
