//! What was counted and is not in a frame yet.

use weir_core::limits::{
    FRAME_NAMES_MAX, FRAME_SAMPLES_MAX, FRAME_TENANTS_MAX, FRAME_WINDOWS_MAX, TENANT_DEPTH_MAX,
};
use weir_core::ordered::OrderedMap;
use weir_core::units::{EpochMs, WindowLabel};
use weir_wire::accounting::counters::slot_of;
use weir_wire::accounting::{Counters, FrameBody, InFlight, Reservations};
use weir_wire::count::Count;
use weir_wire::operator::live::DecisionSample;
use weir_wire::telemetry::Telemetry;
use weir_wire::usage::Usage;
use weir_wire::windows::{BranchPart, HeldPart, TenantPart, WindowPart, WindowParts};

use super::counters::{CountedAs, Decided, Entry, count_as, in_flight, merge};
use super::reserved::{Settled, merge_reservations, reserve, settle};

/// The window of a budget in which something was decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InWindow<'a> {
    /// The budget.
    pub budget: &'a str,
    /// The window.
    pub label: WindowLabel,
    /// Units of the whole window.
    pub limit: u64,
    /// Its end, as far as is known here.
    pub ends_at: EpochMs,
    /// What the tenant claims of it; nothing where nobody has a part of its own.
    pub claim: WindowClaim<'a>,
}

/// What a tenant claims of a window of a budget.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WindowClaim<'a> {
    /// Its weight, in millionths.
    pub weight_micros: u64,
    /// Units that are set aside for it.
    pub floor: u64,
    /// Whether they are so by its name, and not by its tier.
    pub floor_by_name: bool,
    /// Units that it may use, whatever else is free.
    pub ceiling: Option<u64>,
    /// The tenants above it, its parent first.
    pub above: Vec<AboveInWindow<'a>>,
    /// Units that are set aside by name at the top, for whoever asks or not.
    pub floors: u64,
    /// The weight in millionths that tenants which the policy does not name have together, at most.
    pub unknown_weight_max: Option<u64>,
    /// Whether all count as if they weighed the same.
    pub equal: bool,
}

impl WindowClaim<'_> {
    /// What the part of the tenant itself says of it, without anything counted.
    #[must_use]
    pub fn of_tenant(&self) -> TenantPart {
        TenantPart {
            weight_micros: self.weight_micros,
            floor: self.floor,
            floor_by_name: self.floor_by_name,
            ceiling: self.ceiling,
            ..TenantPart::default()
        }
    }
}

/// What a tenant above others claims of a window of a budget.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AboveInWindow<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its weight, in millionths.
    pub weight_micros: u64,
    /// Units that are set aside for it.
    pub floor: u64,
    /// Whether they are so by its name, and not by its tier.
    pub floor_by_name: bool,
    /// Units that all below it may use together.
    pub ceiling: Option<u64>,
    /// Units that are set aside by name for those right below it.
    pub floors: u64,
}

/// What was counted and is not in a frame yet. A frame is bounded; what has no room goes with the next.
#[derive(Debug, Clone, Default)]
pub struct Pending {
    counters: Counters,
    windows: WindowParts,
    reservations: Reservations,
    usage: Usage,
    telemetry: Telemetry,
    samples: Vec<DecisionSample>,
}

impl Pending {
    /// Whether there is nothing that has to be told: what the platform was used for, and
    /// what running it tells of itself, wait for something that has.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let counted = self.counters.is_empty() && self.reservations.is_empty();
        counted && self.windows.is_empty() && self.samples.is_empty()
    }

    /// Keeps a decision to be shown, which is put into words only while there is room.
    pub fn show(&mut self, decision: impl FnOnce() -> DecisionSample) {
        if self.samples.len() < FRAME_SAMPLES_MAX {
            self.samples.push(decision());
        }
    }

    /// Adds one decision, and where it was one on a budget, to its window.
    pub fn count(&mut self, decided: &Decided<'_>, window: Option<&InWindow<'_>>) {
        self.enter(decided, Entry::Charge, window);
    }

    /// The same of a decision that may be no plain charge.
    pub fn enter(&mut self, decided: &Decided<'_>, entry: Entry, window: Option<&InWindow<'_>>) {
        let outcome = match (CountedAs::of(decided.reason), entry) {
            (CountedAs::Denied, Entry::Shadow) => CountedAs::WouldDeny,
            (outcome, _) => outcome,
        };
        let mut held = None;
        let mut units = decided.units;
        if let (CountedAs::Admitted, Entry::Reservation { until }) = (outcome, entry) {
            reserve(&mut self.reservations, decided, until, FRAME_TENANTS_MAX);
            let reserved = HeldPart {
                reserved: Count(units.into()),
                ..HeldPart::default()
            };
            held = Some((until, reserved));
            units = 0;
        }
        let counted = Decided { units, ..*decided };
        count_as(&mut self.counters, &counted, outcome, FRAME_TENANTS_MAX);
        let Some(window) = window else {
            return;
        };
        let mut part = TenantPart {
            known: decided.known,
            ..window.claim.of_tenant()
        };
        match outcome {
            CountedAs::Admitted => part.admitted += units,
            CountedAs::Denied => part.denied += units,
            CountedAs::WouldDeny => part.would_deny += units,
        }
        self.tenant_part(window, decided.tenant, &part, held);
    }

    /// Adds what came of a reservation that nobody else settles.
    pub fn settle(&mut self, settled: &Settled<'_>) {
        settle(&mut self.reservations, settled, FRAME_TENANTS_MAX);
    }

    /// Takes the last word on the slots of a guard.
    pub fn in_flight(&mut self, tenant: (&str, bool), guard: &str, word: InFlight) {
        in_flight(&mut self.counters, tenant, guard, word, FRAME_TENANTS_MAX);
    }

    /// Adds units that a holder still had when the window was over.
    pub fn lapsed(&mut self, budget: &str, label: WindowLabel, units: u64) {
        if let Some(part) = self.window(budget, label) {
            part.lapsed += units;
        }
    }

    /// Adds what the platform was used for.
    pub fn used(&mut self, usage: &Usage) {
        self.usage.add(usage);
    }

    /// Adds what running the deployment tells of itself.
    pub fn observed(&mut self, telemetry: &Telemetry) {
        self.telemetry.add(telemetry);
    }

    /// Adds counters.
    pub fn merge_counters(&mut self, counters: &Counters) {
        merge(&mut self.counters, counters, FRAME_TENANTS_MAX);
    }

    /// Adds what another's frame holds.
    pub fn merge(&mut self, frame: &FrameBody) {
        self.merge_counters(&frame.counters);
        self.merge_windows(&frame.windows);
        merge_reservations(
            &mut self.reservations,
            &frame.reservations,
            FRAME_TENANTS_MAX,
        );
        self.usage.add(&frame.usage);
        self.telemetry.add(&frame.telemetry);
        for sample in &frame.samples {
            self.show(|| sample.clone());
        }
    }

    /// Adds what another counted of windows.
    pub fn merge_windows(&mut self, windows: &WindowParts) {
        for (budget, labels) in windows {
            for (label, part) in labels {
                if let Some(known) = self.window(budget, *label) {
                    known.add(part, FRAME_TENANTS_MAX);
                }
            }
        }
    }

    fn tenant_part(
        &mut self,
        window: &InWindow<'_>,
        tenant: &str,
        part: &TenantPart,
        held: Option<(EpochMs, HeldPart)>,
    ) {
        let Some(known) = self.window(window.budget, window.label) else {
            return;
        };
        known.limit = known.limit.max(window.limit);
        known.ends_at = known.ends_at.max(window.ends_at);
        claim(known, tenant, &window.claim);
        known
            .tenant(tenant, part.known, FRAME_TENANTS_MAX)
            .add(part);
        if let Some((until, held)) = held {
            known.hold(until, tenant, held);
        }
    }

    /// The part of a window. Beyond the bound of windows that are told apart there is none: what it had is missing
    /// from its record, and shown there as unaccounted.
    fn window(&mut self, budget: &str, label: WindowLabel) -> Option<&mut WindowPart> {
        let labels = self.windows.get(budget);
        let known = labels.is_some_and(|labels| labels.contains_key(&label));
        let all = || self.windows.values().map(OrderedMap::len).sum::<usize>();
        if !known && all() >= FRAME_WINDOWS_MAX {
            return None;
        }
        let labels = slot_of(&mut self.windows, budget);
        Some(labels.entry(label).or_default())
    }

    /// Moves as much as it has room for into a frame.
    pub fn fill(&mut self, frame: &mut FrameBody) {
        let mut room = Room {
            tenants: FRAME_TENANTS_MAX,
            names: FRAME_NAMES_MAX,
        };
        room.fill(&mut self.counters, &mut frame.counters);
        while let Some(mut minute) = self.reservations.first_entry() {
            let taken = frame.reservations.entry(*minute.key()).or_default();
            room.fill(minute.get_mut(), taken);
            if !minute.get().is_empty() {
                break;
            }
            minute.remove();
        }
        frame.reservations.retain(|_, taken| !taken.is_empty());
        frame.windows = self.take_windows(&mut room);
        frame.usage = std::mem::take(&mut self.usage);
        frame.telemetry = std::mem::take(&mut self.telemetry);
        frame.samples = std::mem::take(&mut self.samples);
    }

    fn take_windows(&mut self, room: &mut Room) -> WindowParts {
        let mut windows = WindowParts::new();
        while let Some(mut labels) = self.windows.first_entry() {
            let budget = labels.key().clone();
            let Some((label, mut part)) = labels.get_mut().pop_first() else {
                labels.remove();
                continue;
            };
            let mut taken = WindowPart {
                tenants: OrderedMap::new(),
                tree: OrderedMap::new(),
                ..part.clone()
            };
            let mut whole = room.take(0);
            while whole && let Some(tenant) = part.tenants.first_entry() {
                let line = untold(&part.tree, &taken.tree, tenant.key());
                whole = room.take(1 + line.len());
                if whole {
                    let (tenant, one) = tenant.remove_entry();
                    taken.tenants.insert(tenant, one);
                    taken.tree.extend(line);
                }
            }
            if !whole {
                if taken.tenants.is_empty() {
                    labels.get_mut().insert(label, part);
                    break;
                }
                // What the part says of itself is told once.
                part.lapsed = Count(0);
                part.unaccounted = Count(0);
                // Whoever reserved has been told of by then.
                taken.reservations.clear();
                labels.get_mut().insert(label, part);
            }
            windows.entry(budget).or_default().insert(label, taken);
            if !whole {
                break;
            }
        }
        windows
    }
}

/// Room of one frame.
struct Room {
    tenants: usize,
    names: usize,
}

impl Room {
    /// Moves the tenants for which there is room.
    fn fill(&mut self, from: &mut Counters, into: &mut Counters) {
        while let Some(entry) = from.first_entry() {
            if !self.take(entry.get().names()) {
                return;
            }
            let (tenant, taken) = entry.remove_entry();
            into.insert(tenant, taken);
        }
    }

    /// Whether there is room for another tenant with so many names.
    fn take(&mut self, names: usize) -> bool {
        let fits = self.tenants > 0 && self.names >= names.max(1);
        if fits {
            self.tenants -= 1;
            self.names -= names.max(1);
        }
        fits
    }
}

/// Takes where a tenant stands, and what those above it claim. All of them are named by the policy. What the tenant
/// claims for itself is in [`WindowClaim::of_tenant`].
pub fn claim(part: &mut WindowPart, tenant: &str, claim: &WindowClaim<'_>) {
    part.floors = part.floors.max(claim.floors);
    part.unknown_weight_max = part.unknown_weight_max.max(claim.unknown_weight_max);
    part.equal |= claim.equal;
    let mut below = tenant;
    for above in &claim.above {
        let branch = slot_of(&mut part.tree, below);
        if branch.parent.as_deref() < Some(above.name) {
            branch.parent = Some(above.name.to_owned());
        }
        let branch = slot_of(&mut part.tree, above.name);
        branch.widen(&BranchPart {
            parent: None,
            weight_micros: above.weight_micros,
            floor: above.floor,
            floor_by_name: above.floor_by_name,
            ceiling: above.ceiling,
            floors: above.floors,
        });
        below = above.name;
    }
}

/// What a tree says of a tenant and of those above it that `told` does not say: no more than there can be above each other,
/// as what was counted while the policy changed may go round in a circle.
pub(super) fn untold(
    tree: &OrderedMap<String, BranchPart>,
    told: &OrderedMap<String, BranchPart>,
    tenant: &str,
) -> Vec<(String, BranchPart)> {
    let found = |name: &str| tree.get_key_value(name);
    let line = std::iter::successors(found(tenant), |(_, branch)| {
        found(branch.parent.as_deref()?)
    });
    let line = line.take(TENANT_DEPTH_MAX);
    let line = line.filter(|(name, _)| !told.contains_key(*name));
    line.map(|(name, branch)| (name.clone(), branch.clone()))
        .collect()
}

#[cfg(test)]
mod tests;
