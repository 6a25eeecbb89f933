//! What there is to measure.

use anyhow::{Context, Result};

/// One part of BENCHMARKS.md, measured by one bench target, which prints Markdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    Edge,
    Kernels,
    Money,
    Latency,
    Gateway,
    Agent,
    Weight,
    Scale,
}

impl Section {
    pub(crate) const ALL: [Self; 8] = [
        Self::Edge,
        Self::Kernels,
        Self::Money,
        Self::Latency,
        Self::Gateway,
        Self::Agent,
        Self::Weight,
        Self::Scale,
    ];

    /// Also the name of the bench target.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Edge => "edge",
            Self::Kernels => "kernels",
            Self::Money => "money",
            Self::Latency => "latency",
            Self::Gateway => "gateway",
            Self::Agent => "agent",
            Self::Weight => "weight",
            Self::Scale => "scale",
        }
    }

    pub(super) fn purpose(self) -> &'static str {
        match self {
            Self::Edge => "a check on workerd, beside Workers written by hand",
            Self::Kernels => "one decision, native and in V8",
            Self::Money => "object calls, rows and processor time per million decisions",
            Self::Latency => "checks while the coordinator is far away",
            Self::Gateway => "the first byte of an answer, with and without Weir before the origin",
            Self::Agent => "what an agent beside a proxy decides a second, and how fast",
            Self::Weight => "bytes, the start, memory",
            Self::Scale => "what the design carries before an object has too much to do",
        }
    }

    fn package(self) -> &'static str {
        match self {
            Self::Edge
            | Self::Money
            | Self::Latency
            | Self::Gateway
            | Self::Agent
            | Self::Weight => "weir-tests",
            Self::Kernels | Self::Scale => "weir-shared",
        }
    }

    /// Whether the built Worker and console are measured.
    pub(super) fn needs_build(self) -> bool {
        self.package() == "weir-tests"
    }

    /// The program beside the Worker that is measured: its package, and the example of it that asks it. Both are built as the
    /// program is released.
    pub(super) fn program(self) -> Option<(&'static str, &'static str)> {
        (self == Self::Agent).then_some(("weir-agent", "grpc_load"))
    }

    /// What of cargo runs it. What is timed in a running workerd is the same whatever the driver is built with: the
    /// profile of the tests, so that nothing is compiled twice.
    pub(super) fn arguments(self) -> Vec<&'static str> {
        let mut arguments = vec!["bench", "--package", self.package(), "--bench", self.name()];
        if self.needs_build() {
            arguments.extend(["--profile", "dev"]);
        }
        arguments
    }

    /// The section of that name.
    pub(crate) fn named(name: &str) -> Result<Self> {
        let section = Self::ALL.into_iter().find(|section| section.name() == name);
        section.with_context(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("there is no section `{name}`; the sections are {names}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_leads_to_its_section() {
        for section in Section::ALL {
            assert_eq!(Section::named(section.name()).unwrap(), section);
        }
        let message = Section::named("speed").unwrap_err().to_string();
        assert!(
            message.contains("`speed`") && message.contains("latency"),
            "{message}"
        );
    }

    #[test]
    fn kernels_are_built_for_speed_and_drivers_as_tests_are() {
        assert_eq!(
            Section::Kernels.arguments().join(" "),
            "bench --package weir-shared --bench kernels"
        );
        assert_eq!(
            Section::Edge.arguments().join(" "),
            "bench --package weir-tests --bench edge --profile dev"
        );
    }
}
