//! One control of a form, worked key by key. After each key the focus, the caret and the text are what they would be in
//! a page without a script.

use serde_json::{Value, json};
use weir_tests::browser::{Browser, Key};
use weir_tests::fixtures::KEY_OF_ACME;

use crate::console::eventually;

/// What can be typed into or chosen from, where one works now: in the open dialog, else on the page.
const CONTROLS: &str = "
    const within = document.querySelector('dialog[open]') ?? document.querySelector('main');
    const all = [...within.querySelectorAll('input, select, textarea')]
        .filter((one) => one.checkVisibility() && !one.closest('dialog:not([open])'));
    const seen = new Map();
    const controls = all.map((one) => {
        const id = one.dataset.testid ?? '';
        const nth = seen.get(id) ?? 0;
        seen.set(id, nth + 1);
        return { one, name: nth === 0 ? id : `${id}#${nth}` };
    });";

/// How a control is worked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hand {
    /// A line of text.
    Text,
    /// A number, or what may stand in its place.
    Number,
    /// Text of many lines.
    Area,
    /// One of several.
    Select,
    /// Yes or no.
    Check,
}

/// A control that has the focus.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    /// Its `data-testid`; with `#` and a number for the second and further ones of that name.
    pub(crate) name: String,
    pub(crate) hand: Hand,
}

/// The names of all controls, in order.
pub(crate) async fn controls(browser: &Browser) -> Vec<String> {
    let script = format!("{CONTROLS} return controls.map((control) => control.name);");
    let names = browser.evaluate(&script, vec![]).await.unwrap();
    serde_json::from_value(names).unwrap()
}

impl Field {
    /// Puts the focus on the control of that name, and remembers the element.
    pub(crate) async fn focus(browser: &Browser, name: &str) -> Self {
        let script = format!(
            "{CONTROLS}
            const {{ one }} = controls.find((control) => control.name === arguments[0]);
            one.scrollIntoView({{ block: 'center' }});
            one.focus();
            window.worked = one;
            return [one.tagName, one.type, one.inputMode];"
        );
        let kind = browser.evaluate(&script, vec![json!(name)]).await.unwrap();
        let hand = match (kind[0].as_str().unwrap(), kind[1].as_str().unwrap()) {
            ("SELECT", _) => Hand::Select,
            ("TEXTAREA", _) => Hand::Area,
            (_, "checkbox") => Hand::Check,
            _ if kind[2] == "decimal" => Hand::Number,
            _ => Hand::Text,
        };
        Self {
            name: name.to_owned(),
            hand,
        }
    }

    /// Works it: types, chooses or ticks.
    pub(crate) async fn work(&self, browser: &Browser) {
        match self.hand {
            Hand::Text => self.replace(browser, "ab cd").await,
            Hand::Number => {
                self.replace(browser, "0.05").await;
                self.replace(browser, "25000").await;
            }
            Hand::Area => self.insert(browser).await,
            Hand::Select => self.choose(browser).await,
            Hand::Check => self.tick(browser).await,
        }
    }

    /// Takes out what there is, types a text, then in the middle of it, and undoes.
    async fn replace(&self, browser: &Browser, text: &str) {
        browser.key(Key::SelectAll).await.unwrap();
        browser.key(Key::Delete).await.unwrap();
        self.assert_is(browser, "", 0).await;
        for (at, key) in text.char_indices() {
            browser.type_text(&key.to_string()).await.unwrap();
            self.assert_is(browser, &text[..=at], at + 1).await;
        }
        self.place(browser, 1).await;
        for (typed, key) in ["7", "3"].into_iter().enumerate() {
            browser.type_text(key).await.unwrap();
            let middle = &"73"[..=typed];
            let whole = format!("{}{middle}{}", &text[..1], &text[1..]);
            self.assert_is(browser, &whole, 2 + typed).await;
        }
        self.place(browser, 1).await;
        for left in ["3", ""] {
            browser.key(Key::Delete).await.unwrap();
            let whole = format!("{}{left}{}", &text[..1], &text[1..]);
            self.assert_is(browser, &whole, 1).await;
        }
        // Undo is the browser's, and may take back more than one key.
        browser.key(Key::Undo).await.unwrap();
        let undone = self.text(browser).await;
        assert_ne!(undone, text, "{self:?}: nothing is undone");
        self.assert_stays(browser).await;
        browser.key(Key::SelectAll).await.unwrap();
        browser.type_text(text).await.unwrap();
        self.assert_is(browser, text, text.len()).await;
    }

    /// Types one more entry at the start of the first list or object of a document; where there is neither, in the place
    /// of what there is. A number on the way is `1.0`, which another hand would write `1`.
    async fn insert(&self, browser: &Browser) {
        let before = self.text(browser).await;
        let Some(start) = before.find(['{', '[']) else {
            return self.replace(browser, "{\"zz\": 1.05}").await;
        };
        let (head, tail) = before.split_at(start + 1);
        let entry = if head.ends_with('{') {
            "\"zz\": 1.05"
        } else {
            "1.05"
        };
        let alone = tail.trim_start().starts_with(['}', ']']);
        let text = format!("{entry}{}", if alone { "" } else { "," });
        // The page counts UTF-16 units, and a document may have any name in it.
        let place = head.encode_utf16().count();
        self.place(browser, place).await;
        for (at, key) in text.char_indices() {
            browser.type_text(&key.to_string()).await.unwrap();
            let whole = format!("{head}{}{tail}", &text[..=at]);
            self.assert_is(browser, &whole, place + at + 1).await;
        }
    }

    async fn choose(&self, browser: &Browser) {
        let before = self.text(browser).await;
        let script = "return [window.worked.options.length, window.worked.selectedIndex]";
        let options = browser.evaluate(script, vec![]).await.unwrap();
        let (options, chosen) = (options[0].as_i64().unwrap(), options[1].as_i64().unwrap());
        if options < 2 {
            return;
        }
        let last = chosen + 1 == options;
        let key = if last { Key::Up } else { Key::Down };
        browser.key(key).await.unwrap();
        self.assert_focused(browser).await;
        // What adds a line for what is chosen goes back to choosing nothing.
        if !self.name.starts_with("add-number") {
            let after = self.text(browser).await;
            assert_ne!(before, after, "{self:?}: another one is not chosen");
            settled(browser).await;
            let now = self.text(browser).await;
            assert_eq!(now, after, "{self:?}: the choice does not stay");
        }
    }

    async fn tick(&self, browser: &Browser) {
        let ticked = async || {
            let script = "return window.worked.checked";
            browser.evaluate(script, vec![]).await.unwrap()
        };
        let before = ticked().await;
        browser.key(Key::Space).await.unwrap();
        self.assert_focused(browser).await;
        settled(browser).await;
        assert_ne!(ticked().await, before, "{self:?} is not ticked");
    }

    /// What it holds, and that it still is the element on the page.
    pub(crate) async fn text(&self, browser: &Browser) -> String {
        let script = "return [window.worked.isConnected, window.worked.value]";
        let told = browser.evaluate(script, vec![]).await.unwrap();
        assert_eq!(told[0], true, "{self:?} is no longer on the page");
        told[1].as_str().unwrap().to_owned()
    }

    /// A moment later it still holds a text, and has the focus.
    pub(crate) async fn assert_stays(&self, browser: &Browser) {
        let before = self.text(browser).await;
        settled(browser).await;
        self.assert_focused(browser).await;
        let after = self.text(browser).await;
        assert_eq!(after, before, "{self:?} was rewritten");
    }

    async fn place(&self, browser: &Browser, at: usize) {
        let script = "window.worked.setSelectionRange(arguments[0], arguments[0])";
        browser.evaluate(script, vec![json!(at)]).await.unwrap();
    }

    async fn assert_focused(&self, browser: &Browser) {
        let script = "return document.activeElement === window.worked";
        let focused = browser.evaluate(script, vec![]).await.unwrap();
        assert_eq!(focused, true, "{self:?} has lost the focus");
    }

    async fn assert_is(&self, browser: &Browser, text: &str, caret: usize) {
        // After what the page does on its own account.
        let script = "const one = window.worked;
            return new Promise((done) => setTimeout(() => done(
                [document.activeElement === one, one.value, one.selectionStart, one.selectionEnd]), 0))";
        let found = browser.evaluate(script, vec![]).await.unwrap();
        let expected = json!([true, text, caret, caret]);
        assert_eq!(found, expected, "{self:?}: focus, text and caret");
    }
}

/// Longer than a draft rests before it is looked at.
async fn settled(browser: &Browser) {
    let script = "return new Promise((done) => setTimeout(done, 250))";
    browser.evaluate(script, vec![]).await.unwrap();
}

/// The draft of the policy, as the browser keeps it.
pub(crate) async fn draft(browser: &Browser) -> Option<Value> {
    let script = "return sessionStorage.getItem('weir.policy-draft')";
    let text = browser.evaluate(script, vec![]).await.unwrap();
    let draft: Value = serde_json::from_str(text.as_str()?).unwrap();
    Some(draft)
}

impl Field {
    /// The draft of the policy comes to have what the field holds. `entry` is where the fields of the form stand.
    pub(crate) async fn assert_in_draft(&self, browser: &Browser, entry: &str) {
        let text = self.text(browser).await;
        let ticked = browser.evaluate("return window.worked.checked === true", vec![]);
        let ticked = ticked.await.unwrap();
        let (pointer, wanted) = match self.hand {
            Hand::Area => (self.part(), serde_json::from_str(&text).unwrap()),
            Hand::Check => (self.pointer(entry), ticked),
            Hand::Number => (self.pointer(entry), serde_json::from_str(&text).unwrap()),
            Hand::Select if self.name == "field-algorithm" && (text == "all" || text == "any") => {
                (format!("{entry}/{text}"), json!([]))
            }
            // An origin stands in the place of the word.
            Hand::Select if self.name == "field-unrouted" && text == "forward" => {
                ("/unrouted/forward".to_owned(), json!({}))
            }
            Hand::Text | Hand::Select => (self.pointer(entry), json!(text)),
        };
        let what = format!("{self:?}: {pointer} of the draft is {wanted}");
        eventually(&what, async || {
            let draft = draft(browser).await?;
            let found = draft["value"].pointer(&pointer).cloned();
            // What says nothing is left out.
            let left_out = wanted == "" || wanted == Value::Bool(false) || self.hand == Hand::Check;
            let same = match found {
                Some(found) => {
                    let listed = found == json!([wanted]);
                    let any = (wanted == json!([]) && found.is_array())
                        || (wanted == json!({}) && found.is_object());
                    found == wanted || listed || any
                }
                None => left_out,
            };
            same.then_some(())
        })
        .await;
    }

    fn pointer(&self, entry: &str) -> String {
        match self.name.trim_start_matches("field-") {
            // Beside the entries of its section.
            name @ ("default_tier" | "trusted_proxies" | "allow_private_origins" | "unrouted") => {
                format!("/{name}")
            }
            "key-tenant" => format!("/api_keys/{KEY_OF_ACME}"),
            name @ ("url" | "strip_prefix" | "timeout_ms") => {
                format!("/unrouted/forward/{name}")
            }
            name @ ("cost" | "wait_ms") if entry.starts_with("/routes/") => {
                format!("{entry}/checks/0/{name}")
            }
            name @ ("header" | "fixed") if entry.starts_with("/routes/") => {
                format!("{entry}/checks/0/key/{name}")
            }
            name => format!("{entry}/{name}"),
        }
    }

    fn part(&self) -> String {
        match self.name.as_str() {
            "document" => String::new(),
            name => format!("/{}", name.trim_start_matches("json-")),
        }
    }
}
