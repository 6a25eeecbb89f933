//! The socket and the lines of all regions over it: which to open, when pages should read anew, and how alive the figures
//! are. Time is passed in.
//!
//! The socket tells first which regions there are. Each region has a line of its own, which lives and is lost by itself.
//! While no line is open the server is asked every few seconds who is logged in: when it answers, pages read anew, so
//! that figures go on, and an ended session is noticed. A page that nobody looks at is told nothing.

use weir_shared::units::Sequence;
use weir_shared::wire::operator::live::LiveMessage;
use weir_shared::wire::operator::live_lines::LineOrder;

use super::link::{Heard, Link, LinkAction};
use super::state::{LiveState, Phase};

/// How often [`Machine::tick`] wants to be called.
pub const TICK_MS: u32 = 250;

/// Pages read anew at most so often.
pub const PULSE_MS: u64 = 1_000;

/// Pages read anew at least so often, as some things happen that nobody tells.
pub const PULSE_IDLE_MS: u64 = 45_000;

/// How often the server is asked while no line is open.
pub const POLL_MS: u64 = 5_000;

/// How often the server is asked whether the session still is what it was.
pub const CHECK_MS: u64 = 60_000;

/// How often the regions are asked for.
pub const REGIONS_MS: u64 = 300_000;

/// A page that was hidden for so long has its socket closed.
pub const HIDDEN_MS: u64 = 60_000;

/// Without a line for so long after a start, it is called reconnecting.
pub const PATIENCE_MS: u64 = 4_000;

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Open the socket.
    Connect {
        /// Its number, by which it is spoken of.
        socket: u64,
    },
    /// Say something over the socket.
    Say(LineOrder),
    /// Close the socket.
    Disconnect {
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
pub struct HeardMessage {
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
    number: u64,
    region: String,
    link: Link,
}

/// The state machine.
#[derive(Debug, Clone)]
pub struct Machine {
    socket: Link,
    socket_number: u64,
    lines: Vec<Line>,
    line_number: u64,
    left: Vec<u64>,
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
            socket: Link::new(now_ms),
            socket_number: 0,
            lines: Vec::new(),
            line_number: 0,
            left: Vec::new(),
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
            regions_at_ms: now_ms + REGIONS_MS,
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
        if self.socket.is_open() && !self.asking_regions && now_ms >= self.regions_at_ms {
            self.asking_regions = true;
            actions.push(Action::Regions);
        }
        if !self.paused {
            self.show(now_ms, &mut actions);
        }
        actions
    }

    /// The socket is open: the regions of the policy.
    pub fn greeted(&mut self, socket: u64, regions: Vec<String>, now_ms: u64) {
        if self.is_current(socket) {
            self.socket.greeted(now_ms);
            self.learned(Some(regions), now_ms);
        }
    }

    /// A message came over a line. None when nobody waits for that line any more.
    pub fn heard(&mut self, line: u64, message: &LiveMessage, now_ms: u64) -> Option<HeardMessage> {
        self.socket.answered(now_ms);
        let line = self.lines.iter_mut().find(|one| one.number == line)?;
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
        let kept = HeardMessage {
            region: line.region.clone(),
            news,
            gap,
            begins,
        };
        if heard == Heard::Greeting {
            self.check_at_ms = self.check_at_ms.max(now_ms + CHECK_MS);
        }
        self.fresh |= kept.news || kept.gap || heard == Heard::Greeting;
        Some(kept)
    }

    /// A line's region answered that it is there; without a line, the socket's own end.
    pub fn answered(&mut self, line: Option<u64>, now_ms: u64) {
        self.socket.answered(now_ms);
        let line = self.lines.iter_mut().find(|one| Some(one.number) == line);
        if let Some(line) = line {
            line.link.answered(now_ms);
            self.heard_at_ms = Some(now_ms);
        }
    }

    /// A line is gone, or never came. The others go on.
    pub fn lost(&mut self, line: u64, now_ms: u64) {
        self.socket.answered(now_ms);
        let line = self.lines.iter_mut().find(|one| one.number == line);
        if line.is_some_and(|line| line.link.closed(now_ms)) {
            self.doubt_if_closed(now_ms);
        }
    }

    /// The socket is gone, or never came: the next check says whether it is the session's end.
    pub fn closed(&mut self, socket: u64, now_ms: u64) {
        if self.is_current(socket) && self.socket.closed(now_ms) {
            self.rest_lines(now_ms);
            self.doubt_if_closed(now_ms);
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
        if let Some(regions) = regions.filter(|regions| !regions.is_empty()) {
            self.settle(regions, now_ms);
        }
    }

    /// The user pauses. Lines stay open, so that nothing is lost.
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
            () if self.socket.is_failing() => Phase::Reconnecting,
            () if self.lines.iter().any(|line| line.link.is_failing()) => Phase::Reconnecting,
            () if now_ms.saturating_sub(self.waiting_since_ms) >= PATIENCE_MS => {
                Phase::Reconnecting
            }
            () => Phase::Connecting,
        }
    }

    /// Opens and closes the socket, and the lines over it.
    fn update_sockets(&mut self, now_ms: u64, actions: &mut Vec<Action>) {
        let hidden_for_ms = self
            .hidden_since_ms
            .map_or(0, |since_ms| now_ms.saturating_sub(since_ms));
        let wanted = !self.ended && !self.offline && hidden_for_ms < HIDDEN_MS;
        let was_open = self.is_open();
        match self.socket.tick(now_ms, wanted) {
            Some(LinkAction::Open { .. }) => {
                self.socket_number += 1;
                let socket = self.socket_number;
                actions.push(Action::Connect { socket });
            }
            Some(LinkAction::Ask) => actions.push(Action::Say(LineOrder::Ask { line: None })),
            Some(LinkAction::Close) => {
                self.rest_lines(now_ms);
                let socket = self.socket_number;
                actions.push(Action::Disconnect { socket });
            }
            None => {}
        }
        if self.socket.is_open() {
            let close = |line| Action::Say(LineOrder::Close { line });
            actions.extend(self.left.drain(..).map(close));
            for line in &mut self.lines {
                let action = line.link.tick(now_ms, true);
                let order = action.map(|action| line.order(action, &mut self.line_number));
                actions.extend(order.map(Action::Say));
            }
        }
        if was_open && !self.is_open() && wanted {
            self.check_at_ms = self.check_at_ms.min(now_ms);
        }
    }

    /// One line a region of the policy.
    fn settle(&mut self, regions: Vec<String>, now_ms: u64) {
        let stays = |line: &Line| regions.contains(&line.region);
        let over = self.lines.iter().filter(|line| !stays(line));
        self.left.extend(over.map(|line| line.number));
        self.lines.retain(stays);
        for region in regions {
            if !self.lines.iter().any(|line| line.region == region) {
                self.lines.push(Line {
                    number: 0,
                    region,
                    link: Link::new(now_ms),
                });
            }
        }
    }

    /// The lines went with the socket.
    fn rest_lines(&mut self, now_ms: u64) {
        self.left.clear();
        for line in &mut self.lines {
            line.link.rest(now_ms);
        }
    }

    fn doubt_if_closed(&mut self, now_ms: u64) {
        if !self.is_open() {
            self.check_at_ms = self.check_at_ms.min(now_ms);
        }
    }

    fn is_current(&self, socket: u64) -> bool {
        self.socket_number == socket
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

    fn hurry(&mut self, now_ms: u64) {
        self.waiting_since_ms = now_ms;
        self.socket.hurry(now_ms);
        for line in &mut self.lines {
            line.link.hurry(now_ms);
        }
        self.doubt_if_closed(now_ms);
    }

    fn open(&self) -> usize {
        self.lines.iter().filter(|line| line.link.is_open()).count()
    }

    fn is_open(&self) -> bool {
        self.open() > 0
    }
}

impl Line {
    /// A line that is opened for the first time is not missing yet.
    fn is_told_of(&self) -> bool {
        self.link.is_open() || self.link.is_failing()
    }

    /// What is said over the socket. A line that is opened anew has the next number.
    fn order(&mut self, action: LinkAction, last: &mut u64) -> LineOrder {
        match action {
            LinkAction::Open { after } => {
                *last += 1;
                self.number = *last;
                LineOrder::Open {
                    line: self.number,
                    region: self.region.clone(),
                    after: after.map(Sequence),
                }
            }
            LinkAction::Ask => LineOrder::Ask {
                line: Some(self.number),
            },
            LinkAction::Close => LineOrder::Close { line: self.number },
        }
    }
}

#[cfg(test)]
mod tests;
