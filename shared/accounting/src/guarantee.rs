//! What a budget guarantees to each of some tenants, were all of them to ask at once. Every report, record and metric that
//! tells a guarantee has it from here.

use weir_core::limits::{TENANT_DEPTH_MAX, WEIGHT_DECIMALS_MAX};
use weir_core::ordered::OrderedMap;
use weir_wire::windows::WindowPart;

/// The guarantees of one budget.
#[derive(Debug, Clone, Default)]
pub struct Guarantees {
    limit: u64,
    nodes: OrderedMap<String, Node>,
    /// By the tenant above, `None` at the top.
    levels: OrderedMap<Option<String>, Level>,
    /// The weight that all together have whom the policy does not name, and how much they may have.
    strangers: (u128, u128),
    /// Whether all count as if they weighed the same.
    equal: bool,
}

/// A tenant that asks, or one above such a one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Node {
    /// The tenant above; `None` at the top.
    pub parent: Option<String>,
    /// Its weight among those with the same parent, in millionths.
    pub weight_micros: u64,
    /// Whether the policy names it.
    pub known: bool,
    /// Units that are set aside for it.
    pub floor: u64,
    /// Whether they are so by its name, and not by its tier.
    pub floor_by_name: bool,
    /// Units that it may use, whatever else is free; `None` for any.
    pub ceiling: Option<u64>,
    /// Units that are set aside by name for those right below it.
    pub floors: u64,
}

/// Tenants with one parent.
#[derive(Debug, Clone, Copy, Default)]
struct Level {
    /// The sum of the weights, in millionths.
    weights: u128,
    /// What is set aside by name, for whoever is there or not.
    said: u64,
    /// What is set aside by name for those that are there.
    named: u128,
    /// What their tiers set aside for those that are there.
    of_tiers: u128,
}

impl Guarantees {
    /// Those of a budget of so many units, of which so many are set aside by name at the top, and in which those whom the
    /// policy does not name weigh no more than `unknown_weight_max` millionths together.
    #[must_use]
    pub fn new(limit: u64, floors: u64, unknown_weight_max: u64) -> Self {
        let top = Level {
            said: floors,
            ..Level::default()
        };
        Self {
            limit,
            nodes: OrderedMap::new(),
            levels: OrderedMap::from([(None, top)]),
            strangers: (0, unknown_weight_max.into()),
            equal: false,
        }
    }

    /// The same where shares are `equal`: whoever has a weight counts with one of 1. To be said before anybody is added.
    #[must_use]
    pub fn equal(self, equal: bool) -> Self {
        Self { equal, ..self }
    }

    /// Those of a window among the tenants that asked in it.
    #[must_use]
    pub fn of_window(part: &WindowPart) -> Self {
        let unknown_weight_max = part.unknown_weight_max.unwrap_or(u64::MAX);
        let guarantees = Self::new(part.limit, part.floors, unknown_weight_max);
        let mut guarantees = guarantees.equal(part.equal);
        let tree = &part.tree;
        // Those above others, whether they asked themselves or not.
        for (name, branch) in tree.iter().filter(|(_, branch)| branch.weight_micros > 0) {
            let node = Node {
                parent: branch.parent.clone(),
                weight_micros: branch.weight_micros,
                known: true,
                floor: branch.floor,
                floor_by_name: branch.floor_by_name,
                ceiling: branch.ceiling,
                floors: branch.floors,
            };
            guarantees.add(name, node);
        }
        for (name, one) in &part.tenants {
            let node = Node {
                parent: tree.get(name).and_then(|branch| branch.parent.clone()),
                weight_micros: one.weight_micros,
                known: one.known,
                floor: one.floor,
                floor_by_name: one.floor_by_name,
                ceiling: one.ceiling,
                floors: tree.get(name).map_or(0, |branch| branch.floors),
            };
            guarantees.add(name, node);
        }
        guarantees
    }

    /// Adds a tenant; of one that is there already, nothing but what is set aside below it.
    pub fn add(&mut self, name: &str, mut node: Node) {
        if self.equal {
            node.weight_micros = node.weight_micros.min(1) * 10_u64.pow(WEIGHT_DECIMALS_MAX);
        }
        if node.floors > 0 {
            let below = self.levels.entry(Some(name.to_owned())).or_default();
            below.said = node.floors;
        }
        if self.nodes.contains_key(name) {
            return;
        }
        let level = self.levels.entry(node.parent.clone()).or_default();
        level.weights += u128::from(node.weight_micros);
        let floors = match node.floor_by_name {
            true => &mut level.named,
            false => &mut level.of_tiers,
        };
        *floors += u128::from(node.floor);
        if !node.known {
            self.strangers.0 += u128::from(node.weight_micros);
        }
        self.nodes.insert(name.to_owned(), node);
    }

    /// Units a window: what is set aside for the tenant, and `weight * the rest of what the tenant above has / the sum of
    /// the weights beside it`, rounded down at each level, at most its ceiling. Of a limit of 700 with the weights 1, 2
    /// and 4: 100, 200 and 400. 0 for one that was not added, and where nobody has a weight.
    #[must_use]
    pub fn units(&self, tenant: &str) -> u64 {
        self.below(tenant, TENANT_DEPTH_MAX)
    }

    fn below(&self, tenant: &str, depth: usize) -> u64 {
        let Some(node) = self.nodes.get(tenant) else {
            return 0;
        };
        let whole = match self.parent(node, depth) {
            Some(parent) => self.below(parent, depth - 1),
            None => self.limit,
        };
        let level = self.levels.get(&node.parent).copied().unwrap_or_default();
        let (weight, sum) = self.weights(node, level);
        let share = u128::from(level.rest(whole)) * weight;
        let share = share.checked_div(sum).unwrap_or_default();
        let all = share.saturating_add(level.set_aside(node, whole));
        let units = u64::try_from(all).unwrap_or(u64::MAX);
        units.min(node.ceiling.unwrap_or(u64::MAX))
    }

    /// The tenant above, while there can be one: what was recorded while the policy changed may go round in a circle.
    fn parent<'a>(&self, node: &'a Node, depth: usize) -> Option<&'a str> {
        node.parent.as_deref().filter(|_| depth > 1)
    }

    /// What those whom the policy does not name weigh together beyond what they may.
    fn over(&self) -> u128 {
        let (strangers, strangers_max) = self.strangers;
        strangers.saturating_sub(strangers_max)
    }

    /// The sum of the weights at the top as they count, in millionths: what one of
    /// [`weight_among_all`](Self::weight_among_all) is a part of. Tenants below another are in what that one has.
    #[must_use]
    pub fn weight_of_all(&self) -> u64 {
        let top = self.levels.get(&None).copied().unwrap_or_default();
        u64::try_from(top.weights.saturating_sub(self.over())).unwrap_or(u64::MAX)
    }

    /// A weight as it counts, and the sum of those beside it with it.
    fn weights(&self, node: &Node, level: Level) -> (u128, u128) {
        let (strangers, strangers_max) = self.strangers;
        let over = self.over();
        // Whom the policy does not name stands at the top.
        let sum = match node.parent {
            None => level.weights.saturating_sub(over),
            Some(_) => level.weights,
        };
        let weight = u128::from(node.weight_micros);
        match !node.known && over > 0 {
            true => (weight * strangers_max / strangers, sum),
            false => (weight, sum),
        }
    }

    /// The weight with which a tenant counts among all, in millionths: of one below another its part of what that one has.
    #[must_use]
    pub fn weight_among_all(&self, tenant: &str) -> u64 {
        u64::try_from(self.among_all(tenant, TENANT_DEPTH_MAX)).unwrap_or(u64::MAX)
    }

    /// The weight with which a tenant counts that the policy does not name, in millionths; `None` while those weigh together
    /// no more than they may, and for one that it names.
    #[must_use]
    pub fn bounded_weight(&self, tenant: &str) -> Option<u64> {
        let node = self.nodes.get(tenant)?;
        (!node.known && self.over() > 0).then(|| self.weight_among_all(tenant))
    }

    fn among_all(&self, tenant: &str, depth: usize) -> u128 {
        let Some(node) = self.nodes.get(tenant) else {
            return 0;
        };
        let level = self.levels.get(&node.parent).copied().unwrap_or_default();
        let (weight, sum) = self.weights(node, level);
        match self.parent(node, depth) {
            Some(parent) => {
                let whole = self.among_all(parent, depth - 1) * weight;
                whole.checked_div(sum).unwrap_or_default()
            }
            None => weight,
        }
    }
}

impl Level {
    fn by_name(self) -> u128 {
        self.named.max(u128::from(self.said))
    }

    /// What floors of tiers may come to.
    fn left_by_names(self, whole: u64) -> u64 {
        let by_name = u64::try_from(self.by_name()).unwrap_or(u64::MAX);
        whole.saturating_sub(by_name)
    }

    /// What weights divide.
    fn rest(self, whole: u64) -> u64 {
        let of_tiers = u64::try_from(self.of_tiers).unwrap_or(u64::MAX);
        self.left_by_names(whole).saturating_sub(of_tiers)
    }

    /// What is set aside for one: where all of its kind come to more than there is, its part of that.
    fn set_aside(self, node: &Node, whole: u64) -> u128 {
        let (most, all) = match node.floor_by_name {
            true => (whole, self.by_name()),
            false => (self.left_by_names(whole), self.of_tiers),
        };
        let floor = u128::from(node.floor);
        match all <= u128::from(most) {
            true => floor,
            false => floor * u128::from(most) / all,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(parent: Option<&str>, weight: u64) -> Node {
        Node {
            parent: parent.map(str::to_owned),
            weight_micros: weight * 1_000_000,
            known: true,
            ..Node::default()
        }
    }

    fn world(nodes: &[(&str, Node)]) -> Guarantees {
        let mut world = Guarantees::new(700, 0, u64::MAX);
        for (name, node) in nodes {
            world.add(name, node.clone());
        }
        world
    }

    #[test]
    fn tenants_below_another_divide_what_that_one_has() {
        let world = world(&[
            ("a", node(None, 1)),
            ("b", node(None, 2)),
            ("c", node(None, 4)),
            ("x", node(Some("c"), 30)),
            ("y", node(Some("c"), 10)),
        ]);
        let told = ["a", "b", "c", "x", "y"].map(|name| world.units(name));
        assert_eq!(told, [100, 200, 400, 300, 100]);
        let weights = ["a", "b", "c", "x", "y"].map(|name| world.weight_among_all(name));
        assert_eq!(weights, [1, 2, 4, 3, 1].map(|weight| weight * 1_000_000));
        assert_eq!(world.weight_of_all(), 7_000_000);
    }

    #[test]
    fn a_ceiling_and_what_is_set_aside_above_bound_those_below() {
        let bounded = Node {
            ceiling: Some(80),
            floors: 20,
            ..node(None, 4)
        };
        let by_name = Node {
            floor: 20,
            floor_by_name: true,
            ..node(Some("c"), 1)
        };
        let world = world(&[
            ("c", bounded),
            ("x", by_name),
            ("y", node(Some("c"), 1)),
            ("a", node(None, 3)),
        ]);
        let told = ["c", "x", "y", "a"].map(|name| world.units(name));
        assert_eq!(told, [80, 20 + 30, 30, 300]);
    }

    #[test]
    fn whom_nobody_names_weighs_in_all_no_more_than_it_may() {
        let mut world = Guarantees::new(700, 0, 1_000_000);
        world.add("a", node(None, 2));
        for name in ["s", "t", "u", "v"] {
            let known = false;
            world.add(
                name,
                Node {
                    known,
                    ..node(None, 1)
                },
            );
        }
        let told = ["a", "s", "v"].map(|name| world.weight_among_all(name));
        assert_eq!(told, [2_000_000, 250_000, 250_000]);
        let bounded = ["a", "s", "w"].map(|name| world.bounded_weight(name));
        assert_eq!(bounded, [None, Some(250_000), None]);
        assert_eq!(world.weight_of_all(), 3_000_000);
        assert_eq!(Guarantees::default().weight_of_all(), 0);
    }

    #[test]
    fn where_shares_are_equal_whoever_has_a_weight_counts_as_one() {
        let mut world = Guarantees::new(700, 0, u64::MAX).equal(true);
        for (name, parent, weight) in [
            ("a", None, 1),
            ("b", None, 9),
            ("x", Some("b"), 5),
            ("y", Some("b"), 1),
            ("z", None, 0),
        ] {
            world.add(name, node(parent, weight));
        }
        let told = ["a", "b", "x", "y", "z"].map(|name| world.units(name));
        assert_eq!(told, [350, 350, 175, 175, 0]);
        assert_eq!(
            (world.weight_among_all("b"), world.weight_of_all()),
            (1_000_000, 2_000_000)
        );
    }

    #[test]
    fn a_stranger_below_another_does_not_wrap() {
        let stranger = Node {
            known: false,
            ..node(Some("a"), 9)
        };
        let mut world = Guarantees::new(700, 0, 0);
        world.add("a", node(None, 1));
        world.add("s", stranger);
        assert_eq!((world.units("a"), world.units("s")), (0, 0));
        assert_eq!(world.weight_of_all(), 0);
    }

    #[test]
    fn a_circle_ends() {
        let world = world(&[("a", node(Some("b"), 1)), ("b", node(Some("a"), 1))]);
        assert_eq!((world.units("a"), world.units("b")), (700, 700));
        assert_eq!(world.weight_among_all("a"), 1_000_000);
    }

    #[test]
    fn numbers_that_cannot_be_do_not_wrap() {
        let huge = Node {
            weight_micros: u64::MAX,
            floor: u64::MAX,
            ..node(None, 1)
        };
        let world = world(&[("a", huge.clone()), ("b", huge)]);
        assert_eq!((world.units("a"), world.units("b")), (350, 350));
    }
}
