//! The steps of `test`: their names, and what each waits for.

use anyhow::{Context, Result};

/// One thing that is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Tidy,
    Fmt,
    ClippyWasm,
    CompileEndToEnd,
    Compile,
    Native,
    BuildEdge,
    BuildConsole,
    Deploy,
    Browser,
    EndToEnd,
    Pages,
}

impl Step {
    pub(crate) const ALL: [Self; 12] = [
        Self::Tidy,
        Self::Fmt,
        Self::ClippyWasm,
        Self::CompileEndToEnd,
        Self::Compile,
        Self::Native,
        Self::BuildEdge,
        Self::BuildConsole,
        Self::Deploy,
        Self::Browser,
        Self::EndToEnd,
        Self::Pages,
    ];

    /// The order in which steps begin when several could: first what the longest way leads through.
    pub(super) const BY_URGENCY: [Self; 12] = [
        Self::EndToEnd,
        Self::Pages,
        Self::BuildEdge,
        Self::CompileEndToEnd,
        Self::Tidy,
        Self::BuildConsole,
        Self::Compile,
        Self::Fmt,
        Self::Native,
        Self::Browser,
        Self::ClippyWasm,
        Self::Deploy,
    ];

    /// Those of a quick run: what a developer runs between two commits. What runs natively is linted as it is compiled.
    pub(super) const QUICK: [Self; 4] = [Self::Tidy, Self::Fmt, Self::Native, Self::ClippyWasm];

    /// Those after which everything is compiled.
    pub(super) const COMPILING: [Self; 4] = [
        Self::Compile,
        Self::BuildEdge,
        Self::Browser,
        Self::ClippyWasm,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tidy => "tidy",
            Self::Fmt => "fmt",
            Self::ClippyWasm => "clippy-wasm",
            Self::CompileEndToEnd => "compile-e2e",
            Self::Compile => "compile",
            Self::Native => "native",
            Self::BuildEdge => "build-edge",
            Self::BuildConsole => "build-console",
            Self::Deploy => "deploy",
            Self::Browser => "browser",
            Self::EndToEnd => "e2e",
            Self::Pages => "pages",
        }
    }

    pub(super) fn purpose(self) -> &'static str {
        match self {
            Self::Tidy => "rules about the text of the repository",
            Self::Fmt => "the format of the sources",
            Self::ClippyWasm => "lints of what runs as wasm",
            Self::CompileEndToEnd => "the end-to-end tests, with lints",
            Self::Compile => "all other tests that run natively, with lints",
            Self::Native => "native tests",
            Self::BuildEdge => "the Worker for release",
            Self::BuildConsole => "the console for release",
            Self::Deploy => "wrangler accepts the deployment",
            Self::Browser => "the state machines and the console's components in a browser",
            Self::EndToEnd => "the built Worker on the real runtime",
            Self::Pages => "the console on the built Worker, in a browser",
        }
    }

    /// The steps whose results this one works on.
    pub(super) fn waits_for(self) -> &'static [Self] {
        match self {
            Self::Compile => &[Self::CompileEndToEnd],
            Self::Native => &[Self::Compile],
            // The browser's are made of what the release is made of.
            Self::Browser => &[Self::BuildConsole],
            Self::Deploy => &[Self::BuildEdge, Self::BuildConsole],
            Self::EndToEnd => &[Self::BuildEdge, Self::CompileEndToEnd],
            Self::Pages => &[Self::BuildEdge, Self::BuildConsole, Self::CompileEndToEnd],
            _ => &[],
        }
    }

    /// The steps that this one leaves the machine to until they have ended, however they end.
    pub(super) fn yields_to(self) -> &'static [Self] {
        match self {
            // Cargo's lock goes to whoever comes first: the Worker is waited for by more.
            Self::BuildConsole => &[Self::BuildEdge],
            Self::ClippyWasm => &[Self::BuildEdge, Self::BuildConsole],
            // A browser computes on all cores: beside it no load gets what it asks for.
            Self::Pages => &[Self::EndToEnd],
            _ => &[],
        }
    }

    /// Whether the longest way through all steps leads over this one: the others step back behind it.
    pub(super) fn is_urgent(self) -> bool {
        let last = Self::EndToEnd;
        matches!(self, Self::EndToEnd | Self::Pages) || last.waits_for().contains(&self)
    }

    /// The step of that name.
    pub(crate) fn named(name: &str) -> Result<Self> {
        let step = Self::ALL.into_iter().find(|step| step.name() == name);
        step.with_context(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("there is no step `{name}`; the steps are {names}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_leads_to_its_step() {
        for step in Step::ALL {
            assert_eq!(Step::named(step.name()).unwrap(), step);
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_names() {
        let message = Step::named("lint").unwrap_err().to_string();
        assert!(
            message.contains("`lint`") && message.contains("clippy-wasm"),
            "{message}"
        );
    }

    #[test]
    fn what_the_end_to_end_tests_wait_for_does_not_step_back() {
        let urgent = Step::ALL.into_iter().filter(|step| step.is_urgent());
        let urgent: Vec<_> = urgent.map(Step::name).collect();
        assert_eq!(urgent, ["compile-e2e", "build-edge", "e2e", "pages"]);
    }

    #[test]
    fn every_step_has_its_turn() {
        for step in Step::ALL {
            assert!(Step::BY_URGENCY.contains(&step), "{step:?}");
        }
    }
}
