//! A box that says that something needs attention.

use leptos::prelude::*;

/// How much attention it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// To know.
    Info,
    /// The figures are incomplete or old.
    Warning,
    /// Something did not work.
    Error,
}

impl Severity {
    fn class(self) -> &'static str {
        match self {
            Self::Info => "notice info",
            Self::Warning => "notice warning",
            Self::Error => "notice error",
        }
    }

    /// An error interrupts a screen reader; of the others the announcer speaks.
    fn role(self) -> Option<&'static str> {
        (self == Self::Error).then_some("alert")
    }
}

/// A title, its detail, and what can be done.
#[component]
pub fn Notice(
    /// How much attention it needs.
    severity: Severity,
    /// What happened.
    #[prop(into)]
    title: String,
    /// In more detail.
    #[prop(into)]
    detail: String,
    /// The name for scripted journeys.
    #[prop(optional)]
    testid: Option<&'static str>,
    /// What can be done: buttons.
    #[prop(optional)]
    children: Option<Children>,
) -> impl IntoView {
    view! {
        <div class=severity.class() role=severity.role() data-testid=testid>
            <p><strong>{title}</strong>" "{detail}</p>
            {children.map(|children| children())}
        </div>
    }
}
