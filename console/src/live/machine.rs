//! All sockets together: which to open, when pages should read anew, and how alive the figures are. Time is passed in.
//!
//! The first socket is that of the nearest region, whose name it tells; the others follow once the regions are known.
//! While no socket is open the server is asked every few seconds who is logged in: when it answers, pages read anew, so
//! that figures go on, and an ended session is noticed. A page that nobody looks at is told nothing.

use weir_shared::wire::operator::live::{LiveEvent, LiveMessage};

use super::link::{Heard, Link, LinkAction};
use super::state::{LiveState, Phase};

/// How often [`Machine::tick`] wants to be called.
pub const TICK_MS: u32 = 250;

/// Pages read anew at most so often.
pub const PULSE_MS: u64 = 1_000;

/// Pages read anew at least so often, as some things happen that nobody tells.
pub const PULSE_IDLE_MS: u64 = 45_000;

/// How often the server is asked while no socket is open.
pub const POLL_MS: u64 = 5_000;

/// How often the server is asked whether the session still is what it was.
pub const CHECK_MS: u64 = 60_000;

/// How often the regions are asked for.
pub const REGIONS_MS: u64 = 300_000;

/// A page that was hidden for so long has its sockets closed.
pub const HIDDEN_MS: u64 = 60_000;

/// Without a socket for so long after a start, it is called reconnecting.
pub const PATIENCE_MS: u64 = 4_000;

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Open a socket.
    Open {
        /// Its number, by which it is spoken of.
        socket: u64,
        /// The region; the nearest without one.
        region: Option<String>,
        /// The number of the last message that was seen.
        after: Option<u64>,
    },
    /// Say something over a socket, so that it answers.
    Ask {
        /// Its number.
        socket: u64,
    },
    /// Close a socket.
    Close {
        /// Its number.
        socket: u64,
    },
    /// Ask the server who is logged in.
    Check,
    /// Ask the server for the regions.
    Regions,
    /// Show what came, and have pages read anew.
    Pulse,
    /// Show how the rates are now.
    Publish,
}

/// How asking the server who is logged in ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checked {
    /// With an answer.
    Good,
    /// Without one.
    Failed,
    /// The session is over.
    Ended,
}

/// What is to be kept of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The region that told it.
    pub region: String,
    /// Whether the message itself is news.
    pub news: bool,
    /// Whether something was missed before it.
    pub gap: bool,
    /// Whether the region begins to tell, without what was before.
    pub begins: bool,
}

#[derive(Debug, Clone)]
struct Line {
    socket: u64,
    region: Option<String>,
    link: Link,
}

/// The state machine.
#[derive(Debug, Clone)]
pub struct Machine {
    lines: Vec<Line>,
    regions: Option<Vec<String>>,
    sockets: u64,
    paused: bool,
    ended: bool,
    offline: bool,
    hidden_since_ms: Option<u64>,
    waiting_since_ms: u64,
    lost_since_ms: Option<u64>,
    heard_at_ms: Option<u64>,
    fresh: bool,
    pulsed_at_ms: Option<u64>,
    published_at_ms: u64,
    check_at_ms: u64,
    checked_at_ms: Option<u64>,
    checking: bool,
    polled_at_ms: Option<u64>,
    regions_at_ms: u64,
    asking_regions: bool,
}

impl Machine {
    /// The first tick opens a socket.
    pub fn new(now_ms: u64) -> Self {
        Self {
            lines: vec![Line::new(None, now_ms)],
            regions: None,
            sockets: 0,
            paused: false,
            ended: false,
            offline: false,
            hidden_since_ms: None,
            waiting_since_ms: now_ms,
            lost_since_ms: Some(now_ms),
            heard_at_ms: None,
            fresh: false,
            // What is on the page was read just now.
            pulsed_at_ms: Some(now_ms),
            published_at_ms: now_ms,
            check_at_ms: now_ms + CHECK_MS,
            checked_at_ms: None,
            checking: false,
            polled_at_ms: None,
            regions_at_ms: now_ms,
            asking_regions: false,
        }
    }

    /// Time has passed: what is to be done now.
    pub fn tick(&mut self, now_ms: u64) -> Vec<Action> {
        let mut actions = Vec::new();
        self.update_sockets(now_ms, &mut actions);
        self.lost_since_ms = match self.lost_since_ms {
            _ if self.is_open() || self.hidden_since_ms.is_some() => None,
            since_ms => since_ms.or(Some(now_ms)),
        };
        if self.ended || self.offline || self.hidden_since_ms.is_some() {
            return actions;
        }
        if !self.checking && now_ms >= self.check_at_ms {
            self.checking = true;
            actions.push(Action::Check);
        }
        let reached = self.is_open() || self.polled_at_ms.is_some();
        if reached && !self.asking_regions && now_ms >= self.regions_at_ms {
            self.asking_regions = true;
            actions.push(Action::Regions);
        }
        if !self.paused {
            self.show(now_ms, &mut actions);
        }
        actions
    }

    /// A message came over a socket. None when nobody waits for that socket any more.
    pub fn heard(&mut self, socket: u64, message: &LiveMessage, now_ms: u64) -> Option<Kept> {
        let line = self.lines.iter_mut().find(|line| line.socket == socket)?;
        if let LiveEvent::Hello { region, .. } = &message.event {
            line.region = Some(region.clone());
        }
        let first = line.link.is_new();
        let heard = line.link.heard(message, now_ms);
        self.heard_at_ms = Some(now_ms);
        self.polled_at_ms = None;
        let (news, gap, begins) = match heard {
            Heard::Old => (false, false, false),
            Heard::Greeting => (false, false, first),
            Heard::Gap => (false, true, true),
            Heard::News { gap } => (true, gap, gap),
        };
        let kept = Kept {
            region: line.region.clone().unwrap_or_default(),
            news,
            gap,
            begins,
        };
        if heard == Heard::Greeting {
            self.greeted(now_ms);
        }
        self.fresh |= kept.news || kept.gap || heard == Heard::Greeting;
        Some(kept)
    }

    /// A socket answered that it is there.
    pub fn answered(&mut self, socket: u64, now_ms: u64) {
        if let Some(line) = self.lines.iter_mut().find(|line| line.socket == socket) {
            line.link.answered(now_ms);
            self.heard_at_ms = Some(now_ms);
        }
    }

    /// A socket is gone, or never came: the next check says whether it is the session's end.
    pub fn closed(&mut self, socket: u64, now_ms: u64) {
        let line = self.lines.iter_mut().find(|line| line.socket == socket);
        if line.is_some_and(|line| line.link.closed(now_ms)) && !self.is_open() {
            self.check_at_ms = self.check_at_ms.min(now_ms);
        }
    }

    /// The server said who is logged in, or did not.
    pub fn checked(&mut self, checked: Checked, now_ms: u64) {
        self.checking = false;
        self.checked_at_ms = Some(now_ms);
        self.check_at_ms = now_ms + if self.is_open() { CHECK_MS } else { POLL_MS };
        match checked {
            Checked::Good => {
                self.heard_at_ms = Some(now_ms);
                if !self.is_open() {
                    self.polled_at_ms = Some(now_ms);
                    self.fresh = true;
                }
            }
            Checked::Failed => {}
            Checked::Ended => self.ended = true,
        }
    }

    /// Something was refused: the role may no longer be what it was.
    pub fn doubt(&mut self, now_ms: u64) {
        let soon_ms = self.checked_at_ms.map_or(now_ms, |at_ms| at_ms + POLL_MS);
        self.check_at_ms = self.check_at_ms.min(soon_ms.max(now_ms));
    }

    /// The server said which regions there are, or did not.
    pub fn learned(&mut self, regions: Option<Vec<String>>, now_ms: u64) {
        self.asking_regions = false;
        self.regions_at_ms = now_ms
            + if regions.is_some() {
                REGIONS_MS
            } else {
                POLL_MS
            };
        if regions.is_some() {
            self.regions = regions;
        }
    }

    /// The user pauses. Sockets stay open, so that nothing is lost.
    pub fn pause(&mut self) {
        self.paused = true;
    }

    /// The user goes on, or wants the next attempt at once.
    pub fn resume(&mut self, now_ms: u64) {
        if std::mem::take(&mut self.paused) {
            self.pulsed_at_ms = None;
            self.fresh = true;
        }
        self.hurry(now_ms);
    }

    /// The page is hidden or shown.
    pub fn set_hidden(&mut self, hidden: bool, now_ms: u64) {
        match (self.hidden_since_ms, hidden) {
            (None, true) => self.hidden_since_ms = Some(now_ms),
            (Some(_), false) => {
                self.hidden_since_ms = None;
                self.fresh = true;
                self.hurry(now_ms);
            }
            _ => {}
        }
    }

    /// The browser has no network, or has it again.
    pub fn set_offline(&mut self, offline: bool, now_ms: u64) {
        if self.offline && !offline {
            self.fresh = true;
            self.hurry(now_ms);
        }
        self.offline = offline;
    }

    /// What to show.
    pub fn state(&self, now_ms: u64) -> LiveState {
        let phase = self.phase(now_ms);
        let age_s = self
            .heard_at_ms
            .map(|heard_at_ms| now_ms.saturating_sub(heard_at_ms) / 1_000);
        let polled = |at_ms| now_ms.saturating_sub(at_ms) < 2 * POLL_MS;
        LiveState {
            phase,
            age_s: age_s.filter(|_| phase != Phase::Live),
            lost_s: match (phase, self.lost_since_ms) {
                (Phase::Reconnecting, Some(since_ms)) => now_ms.saturating_sub(since_ms) / 1_000,
                _ => 0,
            },
            open: self.open(),
            regions: self.lines.iter().filter(|line| line.is_told_of()).count(),
            polling: phase == Phase::Reconnecting && self.polled_at_ms.is_some_and(polled),
        }
    }

    fn phase(&self, now_ms: u64) -> Phase {
        match () {
            () if self.ended => Phase::Ended,
            () if self.paused => Phase::Paused,
            () if self.is_open() => Phase::Live,
            () if self.offline => Phase::Reconnecting,
            () if self.lines.iter().any(|line| line.link.is_failing()) => Phase::Reconnecting,
            () if now_ms.saturating_sub(self.waiting_since_ms) >= PATIENCE_MS => {
                Phase::Reconnecting
            }
            () => Phase::Connecting,
        }
    }

    /// Opens and closes sockets.
    fn update_sockets(&mut self, now_ms: u64, actions: &mut Vec<Action>) {
        let hidden_for_ms = self
            .hidden_since_ms
            .map_or(0, |since_ms| now_ms.saturating_sub(since_ms));
        let wanted = !self.ended && !self.offline && hidden_for_ms < HIDDEN_MS;
        self.settle_regions(now_ms, actions);
        let was_open = self.is_open();
        for line in &mut self.lines {
            let Some(action) = line.link.tick(now_ms, wanted) else {
                continue;
            };
            if let LinkAction::Open { .. } = action {
                self.sockets += 1;
                line.socket = self.sockets;
            }
            actions.push(line.action(action));
        }
        if was_open && !self.is_open() && wanted {
            self.check_at_ms = self.check_at_ms.min(now_ms);
        }
    }

    /// One line a region of the policy, as soon as the first line knows its own.
    fn settle_regions(&mut self, now_ms: u64, actions: &mut Vec<Action>) {
        let Some(regions) = &self.regions else {
            return;
        };
        let waits = |line: &Line| line.region.is_none() && !line.link.is_failing();
        if regions.is_empty() || self.lines.iter().any(waits) {
            return;
        }
        let is_over = |line: &Line| {
            line.region
                .as_ref()
                .is_none_or(|region| !regions.contains(region))
        };
        for line in self.lines.iter().filter(|line| is_over(line)) {
            actions.push(Action::Close {
                socket: line.socket,
            });
        }
        self.lines.retain(|line| !is_over(line));
        for region in regions {
            if !self
                .lines
                .iter()
                .any(|line| line.region.as_ref() == Some(region))
            {
                self.lines.push(Line::new(Some(region.clone()), now_ms));
            }
        }
    }

    fn show(&mut self, now_ms: u64, actions: &mut Vec<Action>) {
        let due = |at_ms: u64, every_ms: u64| now_ms.saturating_sub(at_ms) >= every_ms;
        let open = self.is_open();
        let pulse = match self.pulsed_at_ms {
            None => true,
            Some(at_ms) => {
                (self.fresh && due(at_ms, PULSE_MS)) || (open && due(at_ms, PULSE_IDLE_MS))
            }
        };
        if pulse && (open || self.polled_at_ms.is_some() || self.pulsed_at_ms.is_none()) {
            self.fresh = false;
            self.pulsed_at_ms = Some(now_ms);
            actions.push(Action::Pulse);
        }
        if open && due(self.published_at_ms, PULSE_MS) {
            self.published_at_ms = now_ms;
            actions.push(Action::Publish);
        }
    }

    fn greeted(&mut self, now_ms: u64) {
        self.check_at_ms = self.check_at_ms.max(now_ms + CHECK_MS);
    }

    fn hurry(&mut self, now_ms: u64) {
        self.waiting_since_ms = now_ms;
        for line in &mut self.lines {
            line.link.hurry(now_ms);
        }
        if !self.is_open() {
            self.check_at_ms = self.check_at_ms.min(now_ms);
        }
    }

    fn open(&self) -> usize {
        self.lines.iter().filter(|line| line.link.is_open()).count()
    }

    fn is_open(&self) -> bool {
        self.open() > 0
    }
}

impl Line {
    fn new(region: Option<String>, now_ms: u64) -> Self {
        Self {
            socket: 0,
            region,
            link: Link::new(now_ms),
        }
    }

    /// A socket that is opened for the first time is not missing yet.
    fn is_told_of(&self) -> bool {
        self.link.is_open() || self.link.is_failing()
    }

    fn action(&self, action: LinkAction) -> Action {
        let socket = self.socket;
        match action {
            LinkAction::Open { after } => Action::Open {
                socket,
                region: self.region.clone(),
                after,
            },
            LinkAction::Ask => Action::Ask { socket },
            LinkAction::Close => Action::Close { socket },
        }
    }
}

#[cfg(test)]
mod tests;
