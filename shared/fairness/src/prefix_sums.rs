//! Sums over the smallest of many keys: a balanced tree (AVL; Adelson-Velsky and Landis, 1962) each node of which knows
//! the sum of all below it.

use std::cmp::Ordering;
use std::ops::{Add, Sub};

/// What is summed up.
pub(crate) trait Amount: Copy + Default + Add<Output = Self> + Sub<Output = Self> {}

impl<T: Copy + Default + Add<Output = T> + Sub<Output = T>> Amount for T {}

/// Entries of a key and an amount, in the order of the keys. Equal keys are one node.
#[derive(Debug, Clone)]
pub(crate) struct PrefixSums<K, V> {
    root: Link<K, V>,
    steps: u64,
}

type Link<K, V> = Option<Box<Node<K, V>>>;

#[derive(Debug, Clone)]
struct Node<K, V> {
    key: K,
    entries: u64,
    amount: V,
    /// Of this node and all below it.
    total: V,
    /// A tree of 2^53 nodes is less than 80 high.
    height: u8,
    left: Link<K, V>,
    right: Link<K, V>,
}

impl<K, V> Default for PrefixSums<K, V> {
    fn default() -> Self {
        Self {
            root: None,
            steps: 0,
        }
    }
}

impl<K: Ord + Copy, V: Amount> PrefixSums<K, V> {
    /// Adds an entry.
    pub(crate) fn insert(&mut self, key: K, amount: V) {
        let root = self.root.take();
        self.root = Some(inserted(root, key, amount, &mut self.steps));
    }

    /// Takes an entry out that was added with this key and amount.
    pub(crate) fn remove(&mut self, key: K, amount: V) {
        let root = self.root.take();
        self.root = removed(root, key, amount, &mut self.steps);
    }

    /// The sum over the longest beginning whose last key, and the sum up to it, fit. What fits must be a beginning:
    /// where one key fits, so do all smaller ones.
    pub(crate) fn while_fits(&mut self, fits: impl Fn(&K, &V) -> bool) -> V {
        let mut sum = V::default();
        let mut next = self.root.as_deref();
        while let Some(node) = next {
            self.steps = self.steps.saturating_add(1);
            let with_node = sum + total(&node.left) + node.amount;
            next = if fits(&node.key, &with_node) {
                sum = with_node;
                node.right.as_deref()
            } else {
                node.left.as_deref()
            };
        }
        sum
    }

    /// Nodes that were visited so far.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }
}

fn total<K, V: Amount>(link: &Link<K, V>) -> V {
    link.as_ref().map_or_else(V::default, |node| node.total)
}

fn height<K, V>(link: &Link<K, V>) -> u8 {
    link.as_ref().map_or(0, |node| node.height)
}

fn inserted<K: Ord + Copy, V: Amount>(
    link: Link<K, V>,
    key: K,
    amount: V,
    steps: &mut u64,
) -> Box<Node<K, V>> {
    *steps = steps.saturating_add(1);
    let Some(mut node) = link else {
        return Box::new(Node {
            key,
            entries: 1,
            amount,
            total: amount,
            height: 1,
            left: None,
            right: None,
        });
    };
    match key.cmp(&node.key) {
        Ordering::Less => node.left = Some(inserted(node.left.take(), key, amount, steps)),
        Ordering::Greater => node.right = Some(inserted(node.right.take(), key, amount, steps)),
        Ordering::Equal => {
            node.entries = node.entries.saturating_add(1);
            node.amount = node.amount + amount;
        }
    }
    balanced(node)
}

fn removed<K: Ord + Copy, V: Amount>(
    link: Link<K, V>,
    key: K,
    amount: V,
    steps: &mut u64,
) -> Link<K, V> {
    *steps = steps.saturating_add(1);
    let mut node = link?;
    match key.cmp(&node.key) {
        Ordering::Less => node.left = removed(node.left.take(), key, amount, steps),
        Ordering::Greater => node.right = removed(node.right.take(), key, amount, steps),
        Ordering::Equal if node.entries > 1 => {
            node.entries -= 1;
            node.amount = node.amount - amount;
        }
        Ordering::Equal => return joined(node.left.take(), node.right.take(), steps),
    }
    Some(balanced(node))
}

/// The two sides of a node that is gone.
fn joined<K, V: Amount>(left: Link<K, V>, right: Link<K, V>, steps: &mut u64) -> Link<K, V> {
    let Some(right) = right else { return left };
    let (mut first, rest) = without_first(right, steps);
    first.left = left;
    first.right = rest;
    Some(balanced(first))
}

/// The node of the smallest key, and what remains.
fn without_first<K, V: Amount>(
    mut node: Box<Node<K, V>>,
    steps: &mut u64,
) -> (Box<Node<K, V>>, Link<K, V>) {
    *steps = steps.saturating_add(1);
    match node.left.take() {
        None => {
            let rest = node.right.take();
            (node, rest)
        }
        Some(left) => {
            let (first, rest) = without_first(left, steps);
            node.left = rest;
            (first, Some(balanced(node)))
        }
    }
}

/// The node with its height and total set right, rotated where one side is higher by two.
fn balanced<K, V: Amount>(mut node: Box<Node<K, V>>) -> Box<Node<K, V>> {
    let (left, right) = (height(&node.left), height(&node.right));
    if left > right.saturating_add(1) {
        node.left = node.left.take().map(|child| {
            if height(&child.right) > height(&child.left) {
                rotated_left(child)
            } else {
                child
            }
        });
        return rotated_right(node);
    }
    if right > left.saturating_add(1) {
        node.right = node.right.take().map(|child| {
            if height(&child.left) > height(&child.right) {
                rotated_right(child)
            } else {
                child
            }
        });
        return rotated_left(node);
    }
    summed(node)
}

fn rotated_right<K, V: Amount>(mut node: Box<Node<K, V>>) -> Box<Node<K, V>> {
    let Some(mut top) = node.left.take() else {
        return summed(node);
    };
    node.left = top.right.take();
    top.right = Some(summed(node));
    summed(top)
}

fn rotated_left<K, V: Amount>(mut node: Box<Node<K, V>>) -> Box<Node<K, V>> {
    let Some(mut top) = node.right.take() else {
        return summed(node);
    };
    node.right = top.left.take();
    top.left = Some(summed(node));
    summed(top)
}

fn summed<K, V: Amount>(mut node: Box<Node<K, V>>) -> Box<Node<K, V>> {
    node.height = height(&node.left)
        .max(height(&node.right))
        .saturating_add(1);
    node.total = total(&node.left) + node.amount + total(&node.right);
    node
}

#[cfg(test)]
mod tests {
    use super::*;

    fn below(sums: &mut PrefixSums<u64, u64>, bound: u64) -> u64 {
        sums.while_fits(|key, _| *key < bound)
    }

    #[test]
    fn equal_to_a_sorted_list_under_any_insertions_and_removals() {
        let mut sums = PrefixSums::default();
        let mut list: Vec<u64> = Vec::new();
        let mut state = 1_u64;
        for round in 0..4_000_u64 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let key = (state >> 33) % 97;
            if round % 3 == 2 && !list.is_empty() {
                let gone = list.swap_remove((state >> 40) as usize % list.len());
                sums.remove(gone, gone);
            } else {
                list.push(key);
                sums.insert(key, key);
            }
            let bound = (state >> 20) % 100;
            let expected: u64 = list.iter().filter(|key| **key < bound).sum();
            assert_eq!(below(&mut sums, bound), expected, "round {round}");
        }
        for gone in list {
            assert!(sums.root.is_some());
            sums.remove(gone, gone);
        }
        assert!(sums.root.is_none(), "what is taken out leaves nothing");
    }

    #[test]
    fn ordered_keys_do_not_make_it_high() {
        let mut sums = PrefixSums::default();
        for key in 0..100_000_u64 {
            sums.insert(key, 1);
        }
        let before = sums.steps();
        assert_eq!(below(&mut sums, 50_000), 50_000);
        // An AVL tree of n nodes is at most 1.45 log2(n) high: 24 here. No leaf of it is at less than half of that.
        assert!((8..=24).contains(&(sums.steps() - before)));
    }
}
