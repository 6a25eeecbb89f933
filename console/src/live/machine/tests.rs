//! The machine, driven by a clock of its own.

use weir_shared::ordered::OrderedMap;
use weir_shared::units::EpochMs;
use weir_shared::wire::operator::live::LiveEvent;

use super::*;

fn message(sequence: u64, previous: u64, event: LiveEvent) -> LiveMessage {
    LiveMessage {
        sequence: Sequence(sequence),
        previous: Sequence(previous),
        at: EpochMs(sequence),
        event,
    }
}

fn hello(region: &str, last: u64, resumed: bool) -> LiveMessage {
    let event = LiveEvent::Hello {
        region: region.to_owned(),
        channels: Vec::new(),
        resumed,
    };
    message(last, last, event)
}

fn news(sequence: u64, previous: u64) -> LiveMessage {
    let regions = OrderedMap::new();
    message(sequence, previous, LiveEvent::Health { regions })
}

/// Ticks on to an instant; all actions with their times.
fn run(machine: &mut Machine, from_ms: u64, to_ms: u64) -> Vec<(u64, Action)> {
    let times = (from_ms..=to_ms).step_by(TICK_MS as usize);
    times
        .flat_map(|now_ms| {
            let actions = machine.tick(now_ms);
            actions.into_iter().map(move |action| (now_ms, action))
        })
        .collect()
}

fn times(actions: &[(u64, Action)], wanted: &Action) -> Vec<u64> {
    let hits = actions.iter().filter(|(_, action)| action == wanted);
    hits.map(|(at_ms, _)| *at_ms).collect()
}

/// The lines that are opened.
fn opened(actions: &[Action]) -> Vec<(u64, &str, Option<u64>)> {
    let open = |action| match action {
        &Action::Say(LineOrder::Open {
            line,
            ref region,
            after,
        }) => Some((line, region.as_str(), after.map(|after: Sequence| after.0))),
        _ => None,
    };
    actions.iter().filter_map(open).collect()
}

fn regions(names: &[&str]) -> Vec<String> {
    names.iter().map(|region| (*region).to_owned()).collect()
}

const fn closing(line: u64) -> Action {
    Action::Say(LineOrder::Close { line })
}

/// One region, whose line greeted at 100 ms, at message 7.
fn live() -> Machine {
    let mut machine = Machine::new(0);
    assert_eq!(machine.tick(0), [Action::Connect { socket: 1 }]);
    machine.greeted(1, regions(&["weur"]), 50);
    assert_eq!(opened(&machine.tick(50)), [(1, "weur", None)]);
    let kept = machine.heard(1, &hello("weur", 7, false), 100).unwrap();
    assert!(kept.begins && !kept.news && !kept.gap);
    machine
}

/// Two regions, whose lines are open.
fn two() -> Machine {
    let mut machine = Machine::new(0);
    machine.tick(0);
    machine.greeted(1, regions(&["weur", "enam"]), 50);
    machine.tick(50);
    machine.heard(1, &hello("weur", 7, false), 100);
    machine.heard(2, &hello("enam", 3, false), 100);
    machine
}

fn counted(machine: &Machine, now_ms: u64) -> (Phase, usize, usize) {
    let state = machine.state(now_ms);
    (state.phase, state.open, state.regions)
}

fn phase(machine: &Machine, now_ms: u64) -> Phase {
    machine.state(now_ms).phase
}

#[test]
fn one_socket_carries_a_line_of_every_region() {
    let mut machine = Machine::new(0);
    assert_eq!(phase(&machine, 0), Phase::Connecting);
    assert_eq!(machine.tick(0), [Action::Connect { socket: 1 }]);
    assert_eq!(machine.tick(250), [], "it is asked for once");
    machine.greeted(1, regions(&["enam", "weur"]), 300);
    assert_eq!(phase(&machine, 300), Phase::Connecting);
    let actions = machine.tick(300);
    let both = [(1, "enam", None), (2, "weur", None)];
    assert_eq!(opened(&actions), both);
    machine.heard(2, &hello("weur", 7, false), 400);
    assert_eq!(
        counted(&machine, 400),
        (Phase::Live, 1, 1),
        "not missing yet"
    );
    let kept = machine.heard(1, &hello("enam", 3, false), 500).unwrap();
    assert_eq!(kept.region, "enam");
    assert_eq!(counted(&machine, 500), (Phase::Live, 2, 2));
}

#[test]
fn a_region_that_is_lost_is_told_and_the_others_go_on() {
    let mut machine = two();
    machine.lost(1, 900);
    assert_eq!(counted(&machine, 900), (Phase::Live, 1, 2));
    assert_eq!(
        machine.state(900).detail().as_deref(),
        Some("1 of 2 regions")
    );
    let kept = machine.heard(2, &news(4, 3), 950).unwrap();
    assert!(kept.news, "the other goes on");
    let mut attempts = Vec::new();
    for now_ms in (1_000..60_000).step_by(250) {
        machine.answered(Some(2), now_ms);
        for action in machine.tick(now_ms) {
            match action {
                Action::Say(LineOrder::Open { line, .. }) => {
                    attempts.push(now_ms);
                    machine.lost(line, now_ms);
                }
                Action::Connect { .. } | Action::Disconnect { .. } | Action::Check => {
                    panic!("the socket stays: {action:?}")
                }
                _ => {}
            }
        }
    }
    let pauses: Vec<u64> = attempts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(pauses, [1_000, 2_000, 4_000, 8_000, 15_000, 15_000]);
    assert_eq!(counted(&machine, 60_000), (Phase::Live, 1, 2));
}

#[test]
fn a_region_that_falls_silent_is_told_within_twenty_seconds_and_the_others_go_on() {
    let mut machine = two();
    let mut said = Vec::new();
    for now_ms in (250..25_000).step_by(250) {
        machine.heard(2, &news(now_ms, now_ms - 250), now_ms);
        for action in machine.tick(now_ms) {
            if let Action::Say(order) = action {
                said.push((now_ms, order, counted(&machine, now_ms)));
            }
        }
    }
    let ask = LineOrder::Ask { line: Some(1) };
    let (live, lost) = ((Phase::Live, 2, 2), (Phase::Live, 1, 2));
    let open = LineOrder::Open {
        line: 3,
        region: "weur".to_owned(),
        after: Some(Sequence(7)),
    };
    let close = LineOrder::Close { line: 1 };
    assert_eq!(
        said,
        [
            (15_250, ask, live),
            (20_250, close, lost),
            (20_750, open, lost)
        ]
    );
}

#[test]
fn a_socket_that_says_nothing_is_replaced_and_its_lines_go_on_where_they_were() {
    let mut machine = two();
    machine.heard(1, &news(9, 7), 200);
    let silent = run(&mut machine, 250, 20_000);
    assert!(times(&silent, &Action::Disconnect { socket: 1 }).is_empty());
    let ask = Action::Say(LineOrder::Ask { line: None });
    assert_eq!(times(&silent, &ask).len(), 1);
    let replaced = run(&mut machine, 20_250, 21_000);
    assert!(!times(&replaced, &Action::Disconnect { socket: 1 }).is_empty());
    assert_eq!(times(&replaced, &Action::Connect { socket: 2 }).len(), 1);
    assert_eq!(phase(&machine, 21_000), Phase::Reconnecting);
    machine.greeted(1, regions(&["mars"]), 21_000);
    assert_eq!(machine.tick(21_000), [], "of the socket before");
    machine.greeted(2, regions(&["weur", "enam"]), 21_100);
    let opens = machine.tick(21_250);
    let both = [(3, "weur", Some(9)), (4, "enam", Some(3))];
    assert_eq!(opened(&opens), both);
}

#[test]
fn regions_that_the_policy_dropped_are_left() {
    let mut machine = live();
    machine.learned(Some(regions(&["enam"])), 500);
    let actions = machine.tick(750);
    assert!(actions.contains(&closing(1)));
    assert_eq!(opened(&actions), [(2, "enam", None)]);
    assert_eq!(
        machine.heard(1, &news(9, 7), 800),
        None,
        "nobody waits for it"
    );
    machine.learned(Some(Vec::new()), 900);
    machine.learned(None, 950);
    assert!(!machine.tick(1_000).contains(&closing(2)), "no answer");
}

#[test]
fn regions_are_asked_for_now_and_then_as_a_policy_may_change() {
    let mut machine = live();
    for now_ms in (250..REGIONS_MS).step_by(1_000) {
        machine.answered(Some(1), now_ms);
        assert!(!machine.tick(now_ms).contains(&Action::Regions));
    }
    assert!(machine.tick(REGIONS_MS + 50).contains(&Action::Regions));
    assert!(!machine.tick(REGIONS_MS + 300).contains(&Action::Regions));
}

#[test]
fn pages_read_anew_once_a_second_while_there_is_news() {
    let mut machine = live();
    let mut pulses = Vec::new();
    for (sequence, now_ms) in (7..).zip((250..5_000).step_by(250)) {
        machine.heard(1, &news(sequence + 1, sequence), now_ms);
        if machine.tick(now_ms).contains(&Action::Pulse) {
            pulses.push(now_ms);
        }
    }
    assert_eq!(pulses, [1_000, 2_000, 3_000, 4_000]);
    let mut quiet = Vec::new();
    // The socket answers when it is asked.
    for from_ms in (5_000..100_000).step_by(10_000) {
        quiet.extend(run(&mut machine, from_ms, from_ms + 9_750));
        machine.answered(Some(1), from_ms + 9_750);
    }
    let idle = [5_000, 5_000 + PULSE_IDLE_MS, 5_000 + 2 * PULSE_IDLE_MS];
    assert_eq!(times(&quiet, &Action::Pulse), idle);
}

#[test]
fn a_paused_page_stands_still_and_loses_nothing() {
    let mut machine = live();
    run(&mut machine, 250, 2_000);
    machine.pause();
    assert_eq!(phase(&machine, 2_000), Phase::Paused);
    let kept = machine.heard(1, &news(8, 7), 2_100).unwrap();
    assert!(kept.news, "it is kept for later");
    let paused = run(&mut machine, 2_250, 12_000);
    assert_eq!(paused, [], "no pulse, no publishing");
    machine.resume(12_100);
    assert!(machine.tick(12_250).contains(&Action::Pulse));
    assert_eq!(phase(&machine, 12_250), Phase::Live);
}

/// The socket is lost, and another greets as soon as it is asked for; the actions until its lines are asked for.
fn reopened(machine: &mut Machine, lost_ms: u64) -> Vec<Action> {
    machine.closed(1, lost_ms);
    let mut actions = Vec::new();
    for now_ms in (lost_ms..=lost_ms + 750).step_by(250) {
        for action in machine.tick(now_ms) {
            if let Action::Connect { socket } = action {
                machine.greeted(socket, regions(&["weur"]), now_ms);
            }
            actions.push(action);
        }
    }
    actions
}

#[test]
fn a_lost_socket_is_reopened_where_it_left_off() {
    let mut machine = live();
    machine.heard(1, &news(9, 7), 200);
    let actions = reopened(&mut machine, 1_000);
    assert!(actions.contains(&Action::Check), "is it the session's end?");
    assert_eq!(opened(&actions), [(2, "weur", Some(9))]);
    let kept = machine.heard(2, &hello("weur", 20, true), 1_600).unwrap();
    assert!(!kept.begins && !kept.gap);
    let kept = machine.heard(2, &news(20, 9), 1_610).unwrap();
    assert!(kept.news && !kept.gap);
    assert!(machine.tick(1_750).contains(&Action::Pulse));
    assert_eq!(phase(&machine, 1_750), Phase::Live);
}

#[test]
fn what_is_gone_for_good_is_a_gap_and_pages_read_anew() {
    let mut machine = live();
    run(&mut machine, 250, 1_000);
    reopened(&mut machine, 61_000);
    machine.heard(2, &hello("weur", 90, false), 61_800);
    let gap = message(90, 90, LiveEvent::Gap { after: Sequence(7) });
    let kept = machine.heard(2, &gap, 61_810).unwrap();
    assert!(kept.gap && kept.begins && !kept.news);
    assert_eq!(kept.region, "weur");
    assert!(machine.tick(62_000).contains(&Action::Pulse));
}

#[test]
fn without_sockets_the_server_is_asked_and_pages_read_anew_when_it_answers() {
    let mut machine = Machine::new(0);
    let mut pulses = Vec::new();
    let mut checks = Vec::new();
    for now_ms in (0..20_000).step_by(250) {
        for action in machine.tick(now_ms) {
            match action {
                Action::Connect { socket } => machine.closed(socket, now_ms),
                Action::Check => {
                    checks.push(now_ms);
                    machine.checked(Checked::Good, now_ms);
                }
                Action::Pulse => pulses.push(now_ms),
                _ => {}
            }
        }
    }
    for asked_ms in checks.iter().filter(|asked_ms| **asked_ms < 19_000) {
        let soon = |read_ms: &u64| read_ms > asked_ms && read_ms - asked_ms <= PULSE_MS;
        assert!(pulses.iter().any(soon), "{checks:?} {pulses:?}");
    }
    assert!((4..=16).contains(&checks.len()), "{checks:?}");
    let state = machine.state(20_000);
    assert!(state.polling);
    assert_eq!(state.phase, Phase::Reconnecting);
    assert!(state.lost_s >= 19, "{state:?}");
}

#[test]
fn a_server_that_is_gone_gives_no_pulse() {
    let mut machine = live();
    machine.heard(1, &news(8, 7), 200);
    run(&mut machine, 250, 1_250);
    machine.closed(1, 1_300);
    let mut pulses = 0;
    for now_ms in (1_500..60_000).step_by(250) {
        for action in machine.tick(now_ms) {
            match action {
                Action::Connect { socket } => machine.closed(socket, now_ms),
                Action::Check => machine.checked(Checked::Failed, now_ms),
                Action::Pulse => pulses += 1,
                _ => {}
            }
        }
    }
    assert_eq!(pulses, 0);
    let state = machine.state(60_000);
    assert_eq!((state.phase, state.polling), (Phase::Reconnecting, false));
    assert_eq!(state.age_s, Some(59));
    assert!(state.lost().is_some());
}

#[test]
fn an_ended_session_closes_everything() {
    let mut machine = live();
    let mut actions = Vec::new();
    for from_ms in (250..60_000).step_by(10_000) {
        machine.answered(Some(1), from_ms);
        actions.extend(run(&mut machine, from_ms, from_ms + 9_750));
    }
    assert!(times(&actions, &Action::Check).is_empty(), "not yet");
    machine.answered(Some(1), 60_000);
    let actions = run(&mut machine, 60_250, 61_000);
    assert_eq!(
        times(&actions, &Action::Check).len(),
        1,
        "a session is checked each minute"
    );
    machine.checked(Checked::Ended, 61_100);
    assert_eq!(machine.tick(61_250), [Action::Disconnect { socket: 1 }]);
    assert_eq!(phase(&machine, 61_250), Phase::Ended);
    assert_eq!(run(&mut machine, 61_500, 200_000), []);
}

#[test]
fn a_hidden_page_asks_for_nothing_and_goes_on_when_it_is_shown() {
    let mut machine = live();
    run(&mut machine, 250, 1_000);
    machine.set_hidden(true, 1_000);
    machine.heard(1, &news(8, 7), 1_100);
    assert_eq!(run(&mut machine, 1_250, 14_000), []);
    machine.set_hidden(false, 14_100);
    assert!(machine.tick(14_250).contains(&Action::Pulse));
    machine.set_hidden(true, 20_000);
    machine.answered(Some(1), 79_000);
    let actions = run(&mut machine, 79_250, 81_000);
    assert_eq!(
        actions,
        [(80_000, Action::Disconnect { socket: 1 })],
        "after a minute"
    );
    machine.set_hidden(false, 90_000);
    let shown = machine.tick(90_000);
    assert!(shown.contains(&Action::Connect { socket: 2 }));
    machine.greeted(2, regions(&["weur"]), 90_000);
    assert_eq!(opened(&machine.tick(90_000)), [(2, "weur", Some(8))]);
    assert_eq!(phase(&machine, 90_000), Phase::Connecting, "nothing failed");
}

#[test]
fn without_a_network_it_waits_and_is_quick_to_come_back() {
    let mut machine = live();
    machine.set_offline(true, 1_000);
    assert_eq!(machine.tick(1_000), [Action::Disconnect { socket: 1 }]);
    assert_eq!(phase(&machine, 1_000), Phase::Reconnecting);
    assert_eq!(run(&mut machine, 1_250, 61_000), []);
    machine.set_offline(false, 61_100);
    assert!(
        machine
            .tick(61_250)
            .contains(&Action::Connect { socket: 2 })
    );
}

#[test]
fn a_region_that_never_opens_does_not_keep_the_others_away() {
    let mut machine = Machine::new(0);
    machine.tick(0);
    machine.greeted(1, regions(&["weur", "enam"]), 50);
    machine.tick(50);
    machine.lost(1, 100);
    assert!(machine.tick(250).contains(&Action::Check));
    machine.checked(Checked::Good, 260);
    machine.heard(2, &hello("enam", 3, false), 900);
    assert_eq!(counted(&machine, 900), (Phase::Live, 1, 2));
}

#[test]
fn a_refusal_has_the_session_checked_soon_and_not_too_often() {
    let mut machine = live();
    run(&mut machine, 250, 1_000);
    machine.doubt(1_100);
    assert!(machine.tick(1_250).contains(&Action::Check));
    machine.checked(Checked::Good, 1_300);
    let mut checks = Vec::new();
    for now_ms in (1_500..14_000).step_by(250) {
        machine.answered(Some(1), now_ms);
        machine.doubt(now_ms);
        if machine.tick(now_ms).contains(&Action::Check) {
            machine.checked(Checked::Good, now_ms);
            checks.push(now_ms);
        }
    }
    assert_eq!(checks, [6_500, 11_500]);
}
