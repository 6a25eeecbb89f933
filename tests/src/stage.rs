//! A deployment under load, with windows that are as long as the machine needs for it.

use std::time::Duration;

use serde_json::Value;

use crate::client::Client;
use crate::tempo::Tempo;
use crate::workerd::{Setup, Workerd};
use crate::workload::{Running, Workload};

/// What a load is played on.
pub struct Stage {
    /// The deployment.
    pub workerd: Workerd,
    /// One for each of its isolates.
    pub clients: Vec<Client>,
    /// How fast the machine was when it began.
    pub tempo: Tempo,
    /// The length of its windows.
    pub window: Duration,
}

impl Stage {
    /// With the policy that `document` makes of the length of its windows.
    ///
    /// # Panics
    /// When the deployment does not start, or refuses the policy.
    pub async fn new(
        setup: Setup,
        window: Duration,
        document: impl FnOnce(Duration) -> Value,
    ) -> Self {
        let workerd = setup.start().await.expect("workerd starts");
        let clients = workerd.clients().expect("an address of each isolate");
        let tempo = Tempo::of(&clients).await;
        let window = tempo.stretched(window);
        let applied = workerd.apply(&document(window)).await;
        applied.expect("the policy is saved");
        Self {
            workerd,
            clients,
            tempo,
            window,
        }
    }

    /// Starts sending.
    pub fn start(&self, loads: Vec<Workload>) -> Running {
        let loads = loads.into_iter().map(|load| self.tempo.slowed(load));
        Workload::start_all(loads.collect())
    }
}
