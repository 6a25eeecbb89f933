//! The steps of `test`: their names, and what each waits for.

use anyhow::{Context, Result};

/// One thing that is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Tidy,
    Fmt,
    ClippyNative,
    ClippyWasm,
    CompileEndToEnd,
    Compile,
    Native,
    Build,
    Deploy,
    Browser,
    EndToEnd,
}

impl Step {
    pub(crate) const ALL: [Self; 11] = [
        Self::Tidy,
        Self::Fmt,
        Self::ClippyNative,
        Self::ClippyWasm,
        Self::CompileEndToEnd,
        Self::Compile,
        Self::Native,
        Self::Build,
        Self::Deploy,
        Self::Browser,
        Self::EndToEnd,
    ];

    /// The order in which steps begin when several could: first what the longest way leads through.
    pub(super) const BY_URGENCY: [Self; 11] = [
        Self::Tidy,
        Self::EndToEnd,
        Self::Build,
        Self::CompileEndToEnd,
        Self::Compile,
        Self::Fmt,
        Self::Native,
        Self::ClippyNative,
        Self::Browser,
        Self::ClippyWasm,
        Self::Deploy,
    ];

    /// Those of a quick run: what a developer runs between two commits.
    pub(super) const QUICK: [Self; 5] = [
        Self::Tidy,
        Self::Fmt,
        Self::ClippyNative,
        Self::ClippyWasm,
        Self::Native,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tidy => "tidy",
            Self::Fmt => "fmt",
            Self::ClippyNative => "clippy-native",
            Self::ClippyWasm => "clippy-wasm",
            Self::CompileEndToEnd => "compile-e2e",
            Self::Compile => "compile",
            Self::Native => "native",
            Self::Build => "build",
            Self::Deploy => "deploy",
            Self::Browser => "browser",
            Self::EndToEnd => "e2e",
        }
    }

    pub(super) fn purpose(self) -> &'static str {
        match self {
            Self::Tidy => "rules about the text of the repository",
            Self::Fmt => "the format of the sources",
            Self::ClippyNative => "lints of what runs natively",
            Self::ClippyWasm => "lints of what runs as wasm",
            Self::CompileEndToEnd => "the end-to-end tests",
            Self::Compile => "all other tests that run natively",
            Self::Native => "native tests",
            Self::Build => "the Worker and the console for release",
            Self::Deploy => "wrangler accepts the deployment",
            Self::Browser => "the state machines and the console's components in a browser",
            Self::EndToEnd => "the built Worker on the real runtime, and the console on it",
        }
    }

    /// The steps whose results this one works on.
    pub(super) fn waits_for(self) -> &'static [Self] {
        match self {
            Self::Compile => &[Self::CompileEndToEnd],
            Self::Native => &[Self::Compile],
            // The browser's are made of what the release is made of.
            Self::Deploy | Self::Browser => &[Self::Build],
            Self::EndToEnd => &[Self::Build, Self::CompileEndToEnd],
            _ => &[],
        }
    }

    /// Whether the longest way through all steps leads over this one: the others step back behind it.
    pub(super) fn is_urgent(self) -> bool {
        let last = Self::EndToEnd;
        self == last || last.waits_for().contains(&self)
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
        assert_eq!(urgent, ["compile-e2e", "build", "e2e"]);
    }

    #[test]
    fn every_step_has_its_turn() {
        for step in Step::ALL {
            assert!(Step::BY_URGENCY.contains(&step), "{step:?}");
        }
    }
}
