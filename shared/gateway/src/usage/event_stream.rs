//! Server-sent events (WHATWG HTML, section 9.2.6) as they pass by: the bytes of each event's data, whatever pieces they
//! come in.

/// Where in a stream the next byte stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// At the beginning of a line.
    Line,
    /// Within the name of a line's field, after so many bytes of `data:`.
    Name(usize),
    /// Before the value of a line of data, of which one blank is not part.
    Blank,
    /// In the value of a line of data.
    Data,
    /// In what is left of a line of something else.
    Rest,
}

/// What passes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    /// Bytes of the event's data.
    Data(&'a [u8]),
    /// The event has ended, before this many bytes of the piece.
    End(usize),
}

const DATA: &[u8] = b"data:";

/// A stream of events on its way.
///
/// ```
/// use weir_gateway::usage::event_stream::{EventStream, Part};
/// let mut stream = EventStream::default();
/// let mut told = Vec::new();
/// for piece in ["event: delta\nda", "ta: {\"a\":1}\r\n\r", "\ndata: [DONE]\n\n"] {
///     stream.feed(piece.as_bytes(), &mut |part| match part {
///         Part::Data(data) => told.extend_from_slice(data),
///         Part::End(_) => told.push(b'|'),
///     });
/// }
/// assert_eq!(told, b"{\"a\":1}\n|[DONE]\n|");
/// ```
#[derive(Debug, Clone)]
pub struct EventStream {
    at: At,
    /// Whether a carriage return has just ended a line: a line feed after it belongs to it.
    is_returned: bool,
}

impl Default for EventStream {
    fn default() -> Self {
        Self {
            at: At::Line,
            is_returned: false,
        }
    }
}

impl EventStream {
    /// Takes the next piece and tells what is in it. A line's end within an event's data is told as a line feed.
    pub fn feed(&mut self, piece: &[u8], told: &mut dyn FnMut(Part<'_>)) {
        let mut at = 0;
        while at < piece.len() {
            at += self.take(&piece[at..], at, told);
        }
    }

    /// Takes some bytes of `rest`, which begins at `offset`; how many.
    fn take(&mut self, rest: &[u8], offset: usize, told: &mut dyn FnMut(Part<'_>)) -> usize {
        let byte = rest[0];
        if byte == b'\n' && self.is_returned {
            self.is_returned = false;
            return 1;
        }
        self.is_returned = byte == b'\r';
        if matches!(byte, b'\r' | b'\n') {
            self.line_ends(offset + 1, told);
            return 1;
        }
        match self.at {
            At::Line | At::Name(_) => self.name(byte),
            At::Blank if byte == b' ' => self.at = At::Data,
            At::Blank | At::Data => {
                self.at = At::Data;
                let end = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
                let data = &rest[..end.unwrap_or(rest.len())];
                told(Part::Data(data));
                return data.len();
            }
            At::Rest => {
                let end = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
                return end.unwrap_or(rest.len());
            }
        }
        1
    }

    fn name(&mut self, byte: u8) {
        let so_far = if let At::Name(bytes) = self.at {
            bytes
        } else {
            0
        };
        self.at = match DATA.get(so_far) {
            Some(due) if *due == byte && so_far + 1 == DATA.len() => At::Blank,
            Some(due) if *due == byte => At::Name(so_far + 1),
            _ => At::Rest,
        };
    }

    fn line_ends(&mut self, end: usize, told: &mut dyn FnMut(Part<'_>)) {
        match self.at {
            At::Line => told(Part::End(end)),
            At::Blank | At::Data => told(Part::Data(b"\n")),
            At::Name(_) | At::Rest => {}
        }
        self.at = At::Line;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_fields_named_data_have_data() {
        for field in ["data", "date", "what", "dat", "datas", "Data", ""] {
            let mut told = Vec::new();
            let line = format!("{field}: 5\n\n");
            EventStream::default().feed(line.as_bytes(), &mut |part| {
                if let Part::Data(data) = part {
                    told.extend_from_slice(data);
                }
            });
            let due: &[u8] = if field == "data" { b"5\n" } else { b"" };
            assert_eq!(told, due, "{field}");
        }
    }

    #[test]
    fn one_blank_before_a_value_is_no_part_of_it_and_nothing_else_is_left_out() {
        for (line, data) in [
            ("data:5", "5\n"),
            ("data: 5", "5\n"),
            ("data:  5", " 5\n"),
            ("data:\t5", "\t5\n"),
            ("data:", "\n"),
            ("data: ", "\n"),
        ] {
            let line = format!("{line}\n\n");
            for piece in [1, line.len()] {
                let (mut stream, mut told) = (EventStream::default(), Vec::new());
                for piece in line.as_bytes().chunks(piece) {
                    stream.feed(piece, &mut |part| {
                        if let Part::Data(data) = part {
                            told.extend_from_slice(data);
                        }
                    });
                }
                assert_eq!(told, data.as_bytes(), "{line:?} by {piece}");
            }
        }
    }
}
