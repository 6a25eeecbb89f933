//! What a page in the browser does wrong for people who see, hear or move otherwise.

use std::fmt;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::json;

use crate::browser::Browser;
use crate::paths;

/// The success criteria of WCAG 2.0, 2.1 and 2.2, levels A and AA, as axe names them.
const CRITERIA: [&str; 5] = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

/// Runs axe. Its rule on the size of targets belongs to WCAG 2.2 and is off unless it is asked for.
const AXE: &str = r#"
const options = { runOnly: { type: "tag", values: arguments[0] }, rules: { "target-size": { enabled: true } },
                  resultTypes: ["violations"] };
return window.axe.run(document, options).then((found) => ({
  rules: found.passes.length + found.violations.length,
  violations: found.violations.map((violation) => ({
    rule: violation.id,
    help: violation.help,
    nodes: violation.nodes.map((node) => node.target.join(" ") + ": " + node.html.slice(0, 160) + " -- " +
      node.any.concat(node.all, node.none).map((check) => check.message).join("; ").slice(0, 200)),
  })),
}));
"#;

/// Controls smaller than 24 x 24 CSS pixels. A label is part of its field's target. A link in the running text of a
/// sentence is as high as the line: WCAG 2.5.8 exempts it.
const SMALL_CONTROLS: &str = r#"
const controls = "a[href], button, input:not([type=hidden]), select, textarea, summary, [role=button], [role=link], " +
  "[role=tab], [role=menuitem], [role=option], [role=checkbox], [role=switch], [role=radio], " +
  "[tabindex]:not([tabindex='-1'])";
const size = (element) => {
  const box = element.getBoundingClientRect();
  return [box.width, box.height];
};
const enough = ([width, height]) => width >= 23.99 && height >= 23.99;
const isShown = (element) => {
  const [width, height] = size(element);
  const hidden = { opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true };
  // What waits outside the view or in a single pixel is there for who reads by ear, until it is focused.
  return width > 1 && height > 1 && element.checkVisibility(hidden) && element.getBoundingClientRect().bottom > 0;
};
const isInText = (element) => {
  if (element.tagName !== "A" || getComputedStyle(element).display !== "inline") return false;
  const around = element.parentElement.textContent.trim();
  return around.length > element.textContent.trim().length;
};
return [...document.querySelectorAll(controls)]
  .filter((element) => isShown(element) && !isInText(element))
  .filter((element) => ![element, ...(element.labels || [])].some((target) => enough(size(target))))
  .map((element) => size(element).map((side) => side.toFixed(1)).join(" x ") + ": " + element.outerHTML.slice(0, 160));
"#;

/// What makes the page wider than the view: nothing, or the innermost elements that stick out and are in no box that
/// scrolls by itself.
const STICKING_OUT: &str = r#"
const page = document.documentElement;
if (page.scrollWidth <= page.clientWidth) return [];
const isFree = (element) => {
  for (let box = element.parentElement; box !== null && box !== page; box = box.parentElement) {
    if (getComputedStyle(box).overflowX !== "visible") return false;
  }
  return true;
};
const sticksOut = (element) => element.getBoundingClientRect().right > page.clientWidth && isFree(element);
const out = [...document.body.querySelectorAll("*")].filter(sticksOut);
const inner = out.filter((element) => ![...element.children].some((child) => out.includes(child)));
return [`${page.scrollWidth} px of ${page.clientWidth}`, ...inner.map((element) => element.outerHTML.slice(0, 120))];
"#;

/// A rule that a page breaks.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Violation {
    /// The rule, as axe calls it.
    pub rule: String,
    /// What it asks for.
    pub help: String,
    /// Where it is broken, and how.
    pub nodes: Vec<String>,
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ({})", self.rule, self.help)?;
        self.nodes
            .iter()
            .try_for_each(|node| write!(out, "\n    {node}"))
    }
}

/// What axe found.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Findings {
    /// How many rules had something to look at.
    pub rules: usize,
    /// Those that were broken.
    pub violations: Vec<Violation>,
}

/// What axe finds on the page that is shown.
pub async fn axe(browser: &Browser) -> Result<Findings> {
    let is_there = browser
        .evaluate("return typeof window.axe === 'object'", vec![])
        .await?;
    if is_there != true {
        let path = paths::axe()?;
        let script =
            std::fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        browser.evaluate(&script, vec![]).await?;
    }
    let found = browser.evaluate(AXE, vec![json!(CRITERIA)]).await?;
    serde_json::from_value(found).context("read what axe found")
}

/// Controls on the page that is shown that are smaller than 24 x 24 CSS pixels.
pub async fn small_controls(browser: &Browser) -> Result<Vec<String>> {
    list(browser, SMALL_CONTROLS).await
}

/// What makes the page that is shown wider than the view.
pub async fn sticking_out(browser: &Browser) -> Result<Vec<String>> {
    list(browser, STICKING_OUT).await
}

async fn list(browser: &Browser, script: &str) -> Result<Vec<String>> {
    let found = browser.evaluate(script, vec![]).await?;
    serde_json::from_value(found).context("read a list")
}
