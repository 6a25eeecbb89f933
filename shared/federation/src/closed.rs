//! What the root of a pool remembers of windows that are over: what was lent in them, and what of that came back.

use std::collections::VecDeque;

use weir_core::limits::CLOSED_WINDOWS_MAX;
use weir_core::units::WindowLabel;
use weir_core::window::Window;
use weir_wire::windows::ClosedWindow;

use super::lender::Lender;

/// The last windows that are over, oldest first.
#[derive(Debug, Clone, Default)]
pub struct Closed {
    windows: VecDeque<ClosedWindow>,
    /// The window in which this root woke: what was lent in it is not known exactly.
    woke_in: Option<WindowLabel>,
}

impl Closed {
    /// Of a root that woke in a window.
    #[must_use]
    pub fn woke_in(label: WindowLabel) -> Self {
        Self {
            windows: VecDeque::new(),
            woke_in: Some(label),
        }
    }

    /// What is to be said of a window at its end.
    #[must_use]
    pub fn record(&self, window: &Window, limit: u64, lender: &Lender) -> ClosedWindow {
        // A root that could not read its row takes everything for lent.
        let unread = lender.lent() == u64::MAX;
        let (granted, lent) = if unread {
            (limit, limit)
        } else {
            (lender.granted(), lender.lent())
        };
        ClosedWindow {
            label: window.label,
            ends_at: window.ends_at,
            limit,
            granted,
            returned: granted.saturating_sub(lent),
            exact: !unread && self.knows(window.label),
        }
    }

    /// Whether what was lent in a window is known exactly.
    #[must_use]
    pub fn knows(&self, label: WindowLabel) -> bool {
        self.woke_in != Some(label)
    }

    /// Remembers a window that is over.
    pub fn push(&mut self, window: ClosedWindow) {
        if self.windows.len() >= CLOSED_WINDOWS_MAX {
            self.windows.pop_front();
        }
        self.windows.push_back(window);
    }

    /// The windows from `from` on.
    pub fn since(&self, from: WindowLabel) -> impl Iterator<Item = ClosedWindow> + '_ {
        let windows = self.windows.iter();
        windows.filter(move |window| window.label >= from).copied()
    }
}
