//! Sessions that were ended before their time. Each is remembered until it would have ended by itself. When there are too
//! many, those of the token that has most become one entry, which ends every session of that token that is open then:
//! nobody's ended session comes back, and nobody else's ends.

use weir_core::limits::{SESSION_EARLY_MS_MAX, SESSION_MS, SESSIONS_ENDED_MAX};
use weir_core::ordered::OrderedMap;
use weir_core::units::EpochMs;
use weir_wire::access::EndedSession;

use super::session::Session;

/// The ended sessions of a deployment, by the tokens that they were opened with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EndedSessions(OrderedMap<String, OfToken>);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct OfToken {
    /// All of the token's that end no later by themselves.
    through: EpochMs,
    /// Single ones, with when they would have ended.
    single: OrderedMap<String, EpochMs>,
}

/// What one more ended session changes of what is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// The entry of the session.
    pub one: EndedSession,
    /// There were too many: this entry stands for all of its token's.
    pub all: Option<EndedSession>,
}

impl EndedSessions {
    /// Whether a session was ended.
    #[must_use]
    pub fn has(&self, session: &Session) -> bool {
        self.0.get(&session.token).is_some_and(|of| {
            session.expires_at <= of.through || of.single.contains_key(&session.id)
        })
    }

    /// Ends a session; `None` for one that was ended before.
    ///
    /// ```
    /// use weir_access::ended::EndedSessions;
    /// use weir_access::session::Session;
    /// use weir_core::units::EpochMs;
    /// let session = Session::new("token".to_owned(), "id".to_owned(), EpochMs(1_000));
    /// let mut ended = EndedSessions::default();
    /// assert!(ended.end(&session, EpochMs(2_000)).is_some_and(|ending| ending.all.is_none()));
    /// assert!(ended.has(&session));
    /// assert_eq!(ended.end(&session, EpochMs(3_000)), None);
    /// ```
    pub fn end(&mut self, session: &Session, now: EpochMs) -> Option<Ending> {
        if self.has(session) {
            return None;
        }
        self.prune(now);
        let one = EndedSession {
            token: session.token.clone(),
            id: Some(session.id.clone()),
            expires_at: session.expires_at,
        };
        self.take(&one);
        let all = (self.entries() > SESSIONS_ENDED_MAX).then(|| self.all_of_most(now));
        Some(Ending { one, all })
    }

    /// Ends every session of the token that has most entries.
    fn all_of_most(&mut self, now: EpochMs) -> EndedSession {
        let most = self.0.iter().max_by_key(|(_, of)| of.single.len());
        let all = EndedSession {
            token: most.map_or_else(String::new, |(token, _)| token.clone()),
            id: None,
            // None that is open now ends later.
            expires_at: now.plus(SESSION_MS + SESSION_EARLY_MS_MAX),
        };
        self.take(&all);
        all
    }

    /// Forgets those that are over by themselves.
    fn prune(&mut self, now: EpochMs) {
        self.0.retain(|_, of| {
            of.single.retain(|_, expires_at| now < *expires_at);
            now < of.through || !of.single.is_empty()
        });
    }

    fn take(&mut self, row: &EndedSession) {
        let of = self.0.entry(row.token.clone()).or_default();
        match &row.id {
            Some(id) => {
                of.single.insert(id.clone(), row.expires_at);
            }
            None => {
                of.through = of.through.max(row.expires_at);
                let through = of.through;
                of.single.retain(|_, expires_at| *expires_at > through);
            }
        }
    }

    fn entries(&self) -> usize {
        let of_token = |of: &OfToken| of.single.len() + usize::from(of.through > EpochMs(0));
        self.0.values().map(of_token).sum()
    }
}

impl<'a> FromIterator<&'a EndedSession> for EndedSessions {
    fn from_iter<I: IntoIterator<Item = &'a EndedSession>>(rows: I) -> Self {
        let mut ended = Self::default();
        for row in rows {
            ended.take(row);
        }
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_single_sessions_are_kept_as_there_is_room_for() {
        let mut ended = EndedSessions::default();
        let end = |ended: &mut EndedSessions, id: usize| {
            let session = Session::new("token".to_owned(), id.to_string(), EpochMs(0));
            ended.end(&session, EpochMs(0)).expect("it is open").all
        };
        for id in 0..SESSIONS_ENDED_MAX {
            assert_eq!(end(&mut ended, id), None, "{id}");
        }
        let all = end(&mut ended, SESSIONS_ENDED_MAX).expect("one too many");
        assert_eq!((all.token.as_str(), all.id), ("token", None));
    }

    #[test]
    fn an_ended_session_is_remembered_until_it_would_have_ended_by_itself() {
        let row = |id: Option<&str>| EndedSession {
            token: "first".to_owned(),
            id: id.map(str::to_owned),
            expires_at: EpochMs(1_000),
        };
        // One session of a token, and all of one.
        for row in [row(Some("id")), row(None)] {
            for (now, remembered) in [(999, 2), (1_000, 1), (1_001, 1)] {
                let mut ended: EndedSessions = [&row].into_iter().collect();
                let other = Session::new("other".to_owned(), "id".to_owned(), EpochMs(now));
                assert!(ended.end(&other, EpochMs(now)).is_some());
                assert_eq!(ended.entries(), remembered, "{row:?} at {now}");
            }
        }
    }
}
