//! Keys, pressed wherever the focus is.

use anyhow::Result;
use serde_json::{Value, json};

use super::Browser;

/// A key that has no character, by the code that WebDriver gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// Tab.
    Tab,
    /// Tab, with shift held.
    BackTab,
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Space.
    Space,
    /// Arrow down.
    Down,
    /// Arrow up.
    Up,
    /// Page down.
    PageDown,
    /// Page up.
    PageUp,
    /// Home.
    Home,
    /// End.
    End,
    /// Everything in the field, selected.
    SelectAll,
    /// Delete.
    Delete,
    /// Control and K.
    Palette,
    /// Control and Z.
    Undo,
}

const SHIFT: char = '\u{e008}';
const CONTROL: char = '\u{e009}';

impl Key {
    fn codes(self) -> Vec<char> {
        match self {
            Self::Tab => vec!['\u{e004}'],
            Self::BackTab => vec![SHIFT, '\u{e004}'],
            Self::Enter => vec!['\u{e007}'],
            Self::Escape => vec!['\u{e00c}'],
            Self::Space => vec![' '],
            Self::Down => vec!['\u{e015}'],
            Self::Up => vec!['\u{e013}'],
            Self::PageDown => vec!['\u{e00f}'],
            Self::PageUp => vec!['\u{e00e}'],
            Self::Home => vec!['\u{e011}'],
            Self::End => vec!['\u{e010}'],
            Self::SelectAll => vec![CONTROL, 'a'],
            Self::Delete => vec!['\u{e017}'],
            Self::Palette => vec![CONTROL, 'k'],
            Self::Undo => vec![CONTROL, 'z'],
        }
    }
}

/// What selects all when it is sent to a field.
pub(super) fn select_all() -> String {
    Key::SelectAll.codes().into_iter().collect()
}

/// What deletes when it is sent to a field.
pub(super) fn delete() -> String {
    Key::Delete.codes().into_iter().collect()
}

impl Browser {
    /// Presses a key, wherever the focus is.
    pub async fn key(&self, key: Key) -> Result<()> {
        self.chord(&key.codes()).await
    }

    /// Types a text, wherever the focus is.
    pub async fn type_text(&self, text: &str) -> Result<()> {
        for character in text.chars() {
            self.chord(&[character]).await?;
        }
        Ok(())
    }

    /// The `data-testid` of the focused element, else how it begins.
    pub async fn focused(&self) -> Result<String> {
        let script = "const element = document.activeElement;
            return element.dataset.testid || element.outerHTML.slice(0, 120);";
        let value = self.evaluate(script, vec![]).await?;
        Ok(value.as_str().unwrap_or_default().to_owned())
    }

    /// All keys down, one after the other, and up again in reverse.
    async fn chord(&self, codes: &[char]) -> Result<()> {
        let act = |kind: &str, code: &char| json!({ "type": kind, "value": code.to_string() });
        let down = codes.iter().map(|code| act("keyDown", code));
        let up = codes.iter().rev().map(|code| act("keyUp", code));
        let actions: Vec<Value> = down.chain(up).collect();
        let body = json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": actions }] });
        self.command("actions", body).await?;
        Ok(())
    }
}
