//! Which of two versions of the Worker serves what: a deployment in the middle of an upgrade.

use super::config::OBJECTS;

/// The version of the platform's binding that is told as `/healthz` tells it.
pub const METADATA: &str = "CF_VERSION_METADATA";

/// A version of the Worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// The one under test.
    Present,
    /// The one before it: `Setup::previous` says where it was built.
    Previous,
}

impl Version {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Previous, Self::Present];

    /// Its name in configurations, and what `/healthz` tells as the version's id.
    pub fn name(self) -> &'static str {
        match self {
            Self::Present => "present",
            Self::Previous => "previous",
        }
    }

    /// The file of a module of it, below the folder of the deployment.
    pub(super) fn file(self, module: &str) -> String {
        match self {
            Self::Present => module.to_owned(),
            Self::Previous => format!("{}/{module}", self.name()),
        }
    }

    /// The service that holds the objects of this version.
    pub(super) fn keeper(self) -> String {
        format!("{}Objects", self.name())
    }
}

/// Which version serves each isolate, and the objects of each class: coordinators, regions, the registry, ledgers. On the
/// platform a share of all objects has the new version, whatever their class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// In the order of the setup's isolates.
    pub isolates: Vec<Version>,
    /// In the order of the classes.
    pub objects: [Version; 4],
}

impl Placement {
    /// One version everywhere.
    pub fn all(version: Version, isolates: usize) -> Self {
        Self {
            isolates: vec![version; isolates],
            objects: [version; 4],
        }
    }

    /// The version of an isolate by its index.
    pub(super) fn isolate(&self, index: usize) -> Version {
        self.isolates
            .get(index)
            .copied()
            .unwrap_or(Version::Present)
    }

    /// The classes whose objects have this version.
    pub(super) fn classes(&self, version: Version) -> impl Iterator<Item = &'static str> + '_ {
        let classes = OBJECTS.iter().zip(self.objects);
        classes
            .filter(move |(_, placed)| *placed == version)
            .map(|((class, _), _)| *class)
    }
}
