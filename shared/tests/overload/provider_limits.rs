//! Resources that tell how many requests a second they let through.

use weir_shared::overload::config::Config;
use weir_shared::overload::hub::Hub;
use weir_shared::overload::resource::{Outcome, Resource};
use weir_shared::units::{HolderId, Incarnation, Revision};

use crate::overload::{START, admits, client, origin, weighing};

/// How a provider counts.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    /// So many in each window.
    Window,
    /// As many at once, filled evenly over the window.
    Bucket,
}

/// A provider that lets through `limit` requests in `window_ms`, and tells what is left and until when.
struct Provider {
    kind: Kind,
    limit: f64,
    window_ms: u64,
    left: f64,
    at: u64,
}

struct Answer {
    served: bool,
    told_milli: u64,
}

impl Provider {
    fn new(kind: Kind, limit: f64, window_ms: u64) -> Self {
        let at = START.0 / window_ms * window_ms;
        Self {
            kind,
            limit,
            window_ms,
            left: limit,
            at,
        }
    }

    fn ask(&mut self, at: u64) -> Answer {
        match self.kind {
            Kind::Window if at < self.at + self.window_ms => {}
            Kind::Window => {
                (self.at, self.left) = (at / self.window_ms * self.window_ms, self.limit)
            }
            Kind::Bucket => {
                let filled = self.limit * (at - self.at) as f64 / self.window_ms as f64;
                (self.at, self.left) = (at, (self.left + filled).min(self.limit));
            }
        }
        let served = self.left >= 1.0;
        self.left -= f64::from(u8::from(served));
        let reset_ms = match self.kind {
            Kind::Window => self.at + self.window_ms - at,
            Kind::Bucket => ((self.limit - self.left) / self.limit * self.window_ms as f64) as u64,
        };
        let told_milli = (self.left.floor().max(1.0) * 1e6 / reset_ms.max(1) as f64) as u64;
        Answer { served, told_milli }
    }
}

/// Pauses of a Poisson process, drawn by a linear congruential generator (Knuth, MMIX).
struct Dice(u64);

impl Dice {
    /// With a mean of 1.
    fn pause(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let part = ((self.0 >> 33) as f64 + 1.0) / 2_147_483_648.0;
        -part.ln()
    }
}

/// What became of the requests of three tenants of weights 6, 2 and 1 after the time of learning.
#[derive(Debug, Default, PartialEq)]
struct Got {
    served: [u64; 3],
    refused: u64,
}

/// Three tenants that ask `per_s` times a second each, at `holders` that tell their hub twice a second. An answer takes
/// `latency_ms`.
fn play(
    mut provider: Provider,
    per_s: f64,
    (holders, latency_ms): (usize, u64),
    listens: bool,
) -> Got {
    let new = |_| Resource::new(&Config::default(), Revision(1), &[7; 32], "origin", START);
    let mut resources: Vec<_> = (0..holders).map(new).collect();
    let tenants = [weighing("a", 6.0), weighing("b", 2.0), weighing("c", 1.0)];
    let (mut hub, mut got, mut on_the_way) = (None::<Hub>, Got::default(), Vec::new());
    let (mut next, mut holder, mut dice) = ([0.0; 3], 0, Dice(7));
    let (learning, all) = (60_000, 180_000);
    for ms in 0..all {
        let now = START.plus(ms);
        on_the_way.retain(
            |(due, holder, tenant, answer): &(u64, usize, usize, Answer)| {
                if *due > ms {
                    return true;
                }
                let resource: &mut Resource = &mut resources[*holder];
                if listens {
                    resource.told(answer.told_milli, now);
                }
                let outcome = if answer.served {
                    Outcome::Success
                } else {
                    Outcome::Failure
                };
                resource.report(&tenants[*tenant], outcome, now);
                false
            },
        );
        for (tenant, due) in next.iter_mut().enumerate() {
            while *due <= ms as f64 {
                *due += 1_000.0 / per_s * dice.pause();
                holder = (holder + 1) % holders;
                if resources[holder]
                    .check(&tenants[tenant], 1, 0.5, now)
                    .admitted
                {
                    let answer = provider.ask(now.0);
                    let counts = u64::from(ms >= learning);
                    match answer.served {
                        true => got.served[tenant] += counts,
                        false => got.refused += counts,
                    }
                    on_the_way.push((ms + latency_ms, holder, tenant, answer));
                }
            }
        }
        if ms % 500 == 0 {
            for (index, resource) in resources.iter_mut().enumerate() {
                if let Some(body) = resource.share(now) {
                    let new = || Hub::new("origin", Incarnation(now.0), &body.terms, now).unwrap();
                    let reply =
                        hub.get_or_insert_with(new)
                            .take(HolderId(index as u64), &body, now);
                    resource.learn(&reply.unwrap(), now);
                }
            }
        }
    }
    got
}

#[test]
fn a_provider_s_limit_is_used_and_shared_by_weight_and_seldom_met() {
    // What each lets through in the two minutes that are measured.
    for (kind, limit, window_ms, per_s, holders, latency_ms) in [
        (Kind::Window, 100.0, 20_000, 6.0, 1, 5),
        (Kind::Window, 600.0, 60_000, 20.0, 3, 800),
        (Kind::Bucket, 500.0, 60_000, 20.0, 3, 800),
        (Kind::Bucket, 60.0, 60_000, 2.0, 3, 800),
        (Kind::Window, 3_000.0, 60_000, 100.0, 6, 2_000),
    ] {
        let what = format!("{kind:?} of {limit} in {window_ms} ms, {holders} holders");
        let play = |listens| {
            let provider = Provider::new(kind, limit, window_ms);
            play(provider, per_s, (holders, latency_ms), listens)
        };
        let (got, control) = (play(true), play(false));
        println!("{what}: {got:?}, without what it tells {control:?}");
        let there = limit * 120_000.0 / window_ms as f64;
        let served: u64 = got.served.iter().sum();
        assert!(served as f64 > 0.85 * there, "{what}: {served} of {there}");
        assert!(got.refused * 50 <= served, "{what}: {got:?}");
        for (served_one, weight) in got.served.iter().zip([6.0, 2.0, 1.0]) {
            let share = *served_one as f64 / served as f64;
            assert!(
                (share - weight / 9.0).abs() < 0.07,
                "{what}: {share} for {weight}"
            );
        }
        // The control: who has to be refused to learn is refused more often, or uses less.
        let used: u64 = control.served.iter().sum();
        assert!(
            control.refused > 2 * got.refused || used < served / 2,
            "{what}: {control:?}"
        );
    }
}

#[test]
fn what_is_told_binds_nobody_who_asks_for_less() {
    let mut resource = origin();
    for second in 0..60 {
        let now = START.plus(second * 1_000);
        for name in ["a", "b"] {
            assert!(admits(&mut resource, name, now), "{second}");
            resource.told(10_000, now);
            resource.report(&client(name), Outcome::Success, now);
        }
    }
}

/// Asks ten times a second for a while, and tells what the resource has told; how many were admitted.
fn asks(resource: &mut Resource, told_milli: Option<u64>, from_s: u64, to_s: u64) -> u64 {
    let mut admitted = 0;
    for tenth in from_s * 10..to_s * 10 {
        let now = START.plus(tenth * 100);
        if admits(resource, "a", now) {
            admitted += 1;
            if let Some(milli) = told_milli {
                resource.told(milli, now);
            }
            resource.report(&client("a"), Outcome::Success, now);
        }
    }
    admitted
}

#[test]
fn nothing_has_to_fail_before_what_is_told_binds_and_it_is_followed_up_and_down() {
    let mut resource = origin();
    asks(&mut resource, Some(2_000), 0, 20);
    let admitted = asks(&mut resource, Some(2_000), 20, 40);
    assert!((36..=44).contains(&admitted), "{admitted} of 40");
    asks(&mut resource, Some(6_000), 40, 60);
    let admitted = asks(&mut resource, Some(6_000), 60, 80);
    assert!((108..=132).contains(&admitted), "{admitted} of 120");
    asks(&mut resource, Some(500), 80, 110);
    let admitted = asks(&mut resource, Some(500), 110, 150);
    assert!((16..=24).contains(&admitted), "{admitted} of 20");
}

#[test]
fn what_was_told_is_forgotten_where_the_resource_tells_nothing_any_more() {
    let mut resource = origin();
    asks(&mut resource, Some(2_000), 0, 30);
    asks(&mut resource, None, 30, 90);
    let admitted = asks(&mut resource, None, 90, 100);
    assert!(admitted > 90, "{admitted} of 100: nothing fails");
}

#[test]
fn a_hub_takes_what_its_holders_were_told_and_refuses_what_is_no_rate() {
    let mut resource = origin();
    asks(&mut resource, Some(2_000), 0, 10);
    let now = START.plus(10_000);
    let mut body = resource.share(now).unwrap();
    assert_eq!(body.told_milli, Some(2_000));
    let mut hub = Hub::new("origin", Incarnation(1), &body.terms, now).unwrap();
    let reply = hub.take(HolderId(1), &body, now).unwrap();
    assert!(reply.merged.contended, "though nothing has failed");
    assert_eq!(
        hub.share(now).unwrap().told_milli,
        Some(2_000),
        "its parent hears of it"
    );
    for milli in [0, u64::MAX] {
        body.told_milli = Some(milli);
        let refused = hub.take(HolderId(2), &body, now).unwrap_err();
        assert_eq!(refused.field, "/told_milli");
    }
}
