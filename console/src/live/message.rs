//! Reading what the socket says.

use serde::Deserialize;
use weir_shared::ordered::OrderedMap;
use weir_shared::units::{EpochMs, Sequence};
use weir_shared::wire::operator::live::{LiveEvent, LiveMessage};
use weir_shared::wire::operator::live_lines::LineNotice;

/// What the socket says.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// Of the socket itself, or of a line.
    Notice(LineNotice),
    /// What a region tells.
    Message {
        /// The line.
        line: u64,
        /// The message.
        message: LiveMessage,
    },
}

/// What every message of a region has, whatever else it says.
#[derive(Deserialize)]
struct Numbered {
    line: u64,
    sequence: Sequence,
    previous: Sequence,
    at: EpochMs,
}

/// What is said; none for what is not understood.
///
/// Of a message on a channel that this version does not know only the number is kept, so that it is not taken for one
/// that was missed.
pub fn read(text: &str) -> Option<Said> {
    let Ok(numbered) = weir_shared::json::from_str::<Numbered>(text) else {
        return weir_shared::json::from_str(text).ok().map(Said::Notice);
    };
    let message = weir_shared::json::from_str(text).unwrap_or_else(|_| LiveMessage {
        sequence: numbered.sequence,
        previous: numbered.previous,
        at: numbered.at,
        event: LiveEvent::Health {
            regions: OrderedMap::new(),
        },
    });
    let line = numbered.line;
    Some(Said::Message { line, message })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> (u64, LiveMessage) {
        match read(text) {
            Some(Said::Message { line, message }) => (line, message),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn messages_of_this_version_are_read_whole() {
        let text = r#"{"line":3,"sequence":9,"previous":7,"at":5,"channel":"decisions","region":"weur","samples":[
            {"at":4,"tenant":"acme","allowed":false,"binding":"tokens","reason":"over_share"}]}"#;
        let (line, message) = message(text);
        let LiveEvent::Decisions { region, samples } = message.event else {
            panic!("{message:?}");
        };
        assert_eq!((line, region.as_str(), samples.len()), (3, "weur", 1));
    }

    #[test]
    fn a_message_of_a_newer_server_is_counted_and_not_shown() {
        let text = r#"{"line":3,"sequence":9,"previous":7,"at":5,"channel":"weather","sun":true}"#;
        let (line, message) = message(text);
        assert_eq!(
            (line, message.sequence, message.previous),
            (3, Sequence(9), Sequence(7))
        );
        let regions = OrderedMap::new();
        assert_eq!(message.event, LiveEvent::Health { regions });
    }

    #[test]
    fn what_has_no_number_is_of_the_lines() {
        let lines = LineNotice::Lines {
            region: "weur".to_owned(),
            regions: vec!["weur".to_owned()],
        };
        for (text, notice) in [
            (
                r#"{"channel":"lines","region":"weur","regions":["weur"]}"#,
                lines,
            ),
            (
                r#"{"channel":"closed","line":4}"#,
                LineNotice::Closed { line: 4 },
            ),
            (
                r#"{"line":4,"channel":"pong"}"#,
                LineNotice::Pong { line: Some(4) },
            ),
            (r#"{"channel":"pong"}"#, LineNotice::Pong { line: None }),
        ] {
            assert_eq!(read(text), Some(Said::Notice(notice)));
        }
    }

    #[test]
    fn what_is_not_understood_is_nothing() {
        for text in ["", "null", "[]", "{", r#"{"sequence":9}"#] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }
}
