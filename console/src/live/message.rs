//! Reading what a socket says.

use std::collections::BTreeMap;

use serde::Deserialize;
use weir_shared::units::{EpochMs, Sequence};
use weir_shared::wire::operator::live::{LiveEvent, LiveMessage};

/// What every message has, whatever else it says.
#[derive(Deserialize)]
struct Numbered {
    sequence: Sequence,
    previous: Sequence,
    at: EpochMs,
}

/// The message; none for what has no number, which is the answer that the other side is there.
///
/// Of a message on a channel that this version does not know only the number is kept, so that it is not taken for one
/// that was missed.
pub fn read(text: &str) -> Option<LiveMessage> {
    if let Ok(message) = serde_json::from_str(text) {
        return Some(message);
    }
    let numbered: Numbered = serde_json::from_str(text).ok()?;
    Some(LiveMessage {
        sequence: numbered.sequence,
        previous: numbered.previous,
        at: numbered.at,
        event: LiveEvent::Health {
            regions: BTreeMap::new(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_this_version_are_read_whole() {
        let text = r#"{"sequence":9,"previous":7,"at":5,"channel":"decisions","region":"weur","samples":[
            {"at":4,"tenant":"acme","allowed":false,"binding":"tokens","reason":"over_share"}]}"#;
        let message = read(text).unwrap();
        let LiveEvent::Decisions { region, samples } = message.event else {
            panic!("{message:?}");
        };
        assert_eq!((region.as_str(), samples.len()), ("weur", 1));
    }

    #[test]
    fn a_message_of_a_newer_server_is_counted_and_not_shown() {
        let text = r#"{"sequence":9,"previous":7,"at":5,"channel":"weather","sun":true}"#;
        let message = read(text).unwrap();
        assert_eq!(
            (message.sequence, message.previous),
            (Sequence(9), Sequence(7))
        );
        let regions = BTreeMap::new();
        assert_eq!(message.event, LiveEvent::Health { regions });
    }

    #[test]
    fn what_has_no_number_is_no_message() {
        for text in [
            r#"{"channel":"pong"}"#,
            "",
            "null",
            "[]",
            "{",
            r#"{"sequence":9}"#,
        ] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }
}
