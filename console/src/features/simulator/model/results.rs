//! What came of a simulation, as lines of a table and in words.

use weir_shared::figures::{count, counted};
use weir_shared::replay::passed;
use weir_shared::wire::accounting::Tally;
use weir_shared::wire::replay::{ReplayBody, ReplayKind, ReplayRow, ReplayTallies};

use super::query::Source;
use crate::instant::{TimeZone, date_time};
use crate::preview_rows::{Given, Line};
use crate::visible::visible;

/// The lines of one rule, such as `budget:tokens`, or of all; those that change most are first.
pub fn lines(body: &ReplayBody, rule: Option<&str>) -> Vec<Line> {
    let rows = body.rows.iter();
    let rows = rows.filter(|row| rule.is_none_or(|rule| rule_of(row) == rule));
    let line = |row: &ReplayRow| {
        let what = format!("{} {}", row.kind.name(), row.name);
        let sides = [given(&row.present), given(&row.candidate)];
        Line::new(&row.tenant, what, asked(&row.present), sides)
    };
    rows.map(line).collect()
}

fn rule_of(row: &ReplayRow) -> String {
    format!("{}:{}", row.kind.name(), row.name)
}

/// The rules that were asked for, by their names in addresses and as they are read.
pub fn rules(body: &ReplayBody) -> Vec<(String, String)> {
    let rules = body.rows.iter().map(|row| (row.kind, &row.name));
    let rules: weir_shared::ordered::OrderedSet<(ReplayKind, &String)> = rules.collect();
    let pair = |(kind, name): (ReplayKind, &String)| {
        let kind = kind.name();
        (
            format!("{kind}:{name}"),
            format!("{kind} {}", visible(name)),
        )
    };
    rules.into_iter().map(pair).collect()
}

/// What a policy gave.
pub fn given(tally: &Tally) -> Given {
    Given {
        passed: passed(tally),
        denied: tally.denied_units.0,
        shadowed: tally.would_deny_units.0,
    }
}

/// Units that were asked for.
pub fn asked(tally: &Tally) -> u128 {
    passed(tally).saturating_add(tally.denied_units.0)
}

/// What was admitted under either policy, in a sentence; the second one only if it differs. Units are those of one rule, the chosen
/// one or the only one: tokens and bytes have no sum.
pub fn summary(body: &ReplayBody, rule: Option<&str>, differs: bool, zone: TimeZone) -> String {
    if body.entries == 0 {
        return "Nothing was asked for in this span at a budget or a meter of either policy. Choose another span, or play a trace.".to_owned();
    }
    let span = format!(
        "{} from {} to {}.",
        counted(body.entries, "request"),
        date_time(body.from.0, zone),
        date_time(body.to.0, zone)
    );
    let only = (rules(body).len() == 1).then(|| body.others.unwrap_or_default());
    let Some(mut sum) = only.or(rule.map(|_| ReplayTallies::default())) else {
        return match differs {
            false => format!("{span} Choose a rule to see how many units it admits."),
            true => format!("{span} With the draft, {}.", who(body)),
        };
    };
    let rows = body.rows.iter();
    for row in rows.filter(|row| rule.is_none_or(|rule| rule_of(row) == rule)) {
        sum.present.add(&row.present);
        sum.candidate.add(&row.candidate);
    }
    let (present, candidate) = (given(&sum.present), given(&sum.candidate));
    let now = format!(
        "Of {} the policy in force admits {} and denies {}",
        units(asked(&sum.present)),
        count(present.passed),
        count(present.denied)
    );
    match differs {
        false => format!("{span} {now}."),
        true => format!(
            "{span} {now}; the draft would admit {} and deny {}: {}.",
            count(candidate.passed),
            count(candidate.denied),
            who(body)
        ),
    }
}

/// For how many tenants more or less passes at a rule.
fn who(body: &ReplayBody) -> String {
    let of = |fits: fn(&ReplayRow) -> bool| {
        let tenants = body.rows.iter().filter(|row| fits(row));
        let tenants: weir_shared::ordered::OrderedSet<&str> =
            tenants.map(|row| row.tenant.as_str()).collect();
        match tenants.len() as u64 {
            0 => "nobody".to_owned(),
            number => counted(number, "tenant"),
        }
    };
    let gains = of(|row| passed(&row.candidate) > passed(&row.present));
    let loses = of(|row| passed(&row.candidate) < passed(&row.present));
    if gains == loses && gains == "nobody" {
        return "nobody gains or loses by the rules that are played".to_owned();
    }
    let verb = |who: &str, one: &str, many: &str| match who.ends_with("tenants") {
        true => format!("{who} {many}"),
        false => format!("{who} {one}"),
    };
    format!(
        "{} and {}",
        verb(&gains, "gains", "gain"),
        verb(&loses, "loses", "lose")
    )
}

/// `1 unit`, `2 units`.
pub fn units(number: u128) -> String {
    let noun = if number == 1 { "unit" } else { "units" };
    format!("{} {noun}", count(number))
}

/// What is missing from the table, and what of it is not enforced; a sentence each.
pub fn notes(body: &ReplayBody) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for region in &body.unreachable {
        notes.push(format!(
            "{} did not answer: what it counted is missing.",
            visible(region)
        ));
    }
    let untold = body.rows_total.saturating_sub(body.rows.len() as u64);
    if untold > 0 {
        notes.push(format!(
            "{} of smaller changes are in the sums, and not in the table.",
            counted(untold, "line")
        ));
    }
    let shadowed = |row: &ReplayRow| {
        let [present, candidate] = [given(&row.present), given(&row.candidate)];
        present.shadowed > 0 || candidate.shadowed > 0
    };
    if body.rows.iter().any(shadowed) {
        notes.push("A rule in shadow mode admits: the table says what it would have denied as “in shadow”.".to_owned());
    }
    notes
}

/// What a simulation of that source does not know.
pub fn bounds(over: Source) -> &'static [&'static str] {
    match over {
        Source::Recorded => &[
            "Demand is recorded by minute. A simulation spreads a tenant's calls at a budget or meter evenly over the minute.",
            "The eight tenants with the most calls are told apart. All others count as one more tenant at budgets, and are left out at meters.",
            "Limits are left out, as their counters have no keys. So are guards and overload resources, as nobody records how long a call runs.",
            "At most 6 hours of the last day are played, as at most 20,000 requests.",
            SINGLE_HOLDER,
            FRESH,
        ],
        Source::Trace => &[
            "A trace has at most 20,000 requests at budgets, limits and meters. Guards and overload resources are left out, as a trace does not say how long a call runs.",
            "Requests are played in the order of time. A policy admits a request for a rule that only the other policy has, and denies a tenant that it does not know.",
            SINGLE_HOLDER,
            FRESH,
        ],
    }
}

const SINGLE_HOLDER: &str = "Each policy decides as if one place saw every request. A deployment lends to regions and isolates, which can only deny more.";
const FRESH: &str = "Every rule starts fresh at the first request. Tiers, tenants and overrides count as of the instant of each request.";

#[cfg(test)]
mod tests {
    use weir_shared::limits::{
        MINUTES_KEPT_MS, REPLAY_ENTRIES_MAX, REPLAY_SPAN_MS_MAX, REPLAY_TENANTS_MAX,
    };
    use weir_shared::units::{EpochMs, Revision};
    use weir_shared::wire::count::Count;

    use super::*;
    use crate::preview_rows::Way;

    fn tally(passed: u128, denied: u128) -> Tally {
        Tally {
            admitted_units: Count(passed),
            denied_units: Count(denied),
            ..Tally::default()
        }
    }

    fn row(tenant: &str, name: &str, present: (u128, u128), candidate: (u128, u128)) -> ReplayRow {
        ReplayRow {
            kind: ReplayKind::Budget,
            name: name.to_owned(),
            tenant: tenant.to_owned(),
            present: tally(present.0, present.1),
            candidate: tally(candidate.0, candidate.1),
        }
    }

    fn body(rows: Vec<ReplayRow>) -> ReplayBody {
        ReplayBody {
            at: EpochMs(0),
            present_revision: Some(Revision(7)),
            entries: 3,
            from: EpochMs(0),
            to: EpochMs(60_000),
            unreachable: Vec::new(),
            rows_total: rows.len() as u64,
            rows,
            others: None,
        }
    }

    #[test]
    fn each_line_says_what_either_policy_admits_and_denies() {
        let body = body(vec![
            row("a", "tokens", (50, 30), (80, 0)),
            row("a", "images", (9, 1), (4, 6)),
        ]);
        let told = lines(&body, None);
        let first = &told[0];
        assert_eq!(
            [
                &first.demand,
                &first.present,
                &first.denied_now,
                &first.candidate,
                &first.denied,
                &first.change
            ],
            ["80", "50", "30", "80", "0", "+30"]
        );
        assert_eq!((told[0].way, told[1].way), (Way::Gains, Way::Loses));
        let of_images = lines(&body, Some("budget:images"));
        assert_eq!(of_images, told[1..]);
        assert_eq!(
            rules(&body),
            [
                ("budget:images", "budget images"),
                ("budget:tokens", "budget tokens")
            ]
            .map(|(value, label)| (value.to_owned(), label.to_owned()))
        );
    }

    #[test]
    fn what_a_shadow_would_have_denied_is_told_beside_what_was_denied() {
        let mut shadow = row("a", "tokens", (50, 30), (60, 0));
        shadow.candidate.would_deny_units = Count(20);
        let body = body(vec![shadow]);
        let line = &lines(&body, None)[0];
        assert_eq!(
            (line.candidate.as_str(), line.denied.as_str()),
            ("80", "0 + 20 in shadow")
        );
        assert!(notes(&body)[0].contains("shadow mode"));
    }

    #[test]
    fn the_whole_is_told_in_a_sentence_with_what_is_not_listed() {
        let mut told = body(vec![
            row("a", "tokens", (50, 30), (80, 0)),
            row("b", "tokens", (20, 0), (10, 10)),
        ]);
        told.others = Some(ReplayTallies {
            present: tally(1_000, 0),
            candidate: tally(1_000, 0),
        });
        let words = summary(&told, None, true, TimeZone::UTC);
        for part in [
            "3 requests from ",
            "Of 1,100 units the policy in force admits 1,070 and denies 30; the draft would admit 1,090 and deny 10: ",
            ": 1 tenant gains and 1 tenant loses.",
        ] {
            assert!(words.contains(part), "{words}");
        }
        let alone = summary(&told, None, false, TimeZone::UTC);
        assert!(alone.ends_with("admits 1,070 and denies 30."), "{alone}");
        let same = summary(
            &body(vec![row("a", "tokens", (5, 0), (5, 0))]),
            None,
            true,
            TimeZone::UTC,
        );
        assert!(
            same.ends_with("nobody gains or loses by the rules that are played."),
            "{same}"
        );
        let two = body(vec![
            row("a", "t", (1, 1), (2, 0)),
            row("b", "t", (1, 1), (2, 0)),
        ]);
        let two = summary(&two, None, true, TimeZone::UTC);
        assert!(two.ends_with("2 tenants gain and nobody loses."), "{two}");
    }

    #[test]
    fn units_of_different_rules_are_not_added_up() {
        let mixed = body(vec![
            row("a", "tokens", (50, 30), (80, 0)),
            row("a", "bytes", (5_000, 0), (5_000, 0)),
        ]);
        let all = summary(&mixed, None, false, TimeZone::UTC);
        assert!(
            all.ends_with("Choose a rule to see how many units it admits."),
            "{all}"
        );
        let draft = summary(&mixed, None, true, TimeZone::UTC);
        assert!(
            draft.ends_with("With the draft, 1 tenant gains and nobody loses."),
            "{draft}"
        );
        let one = summary(&mixed, Some("budget:tokens"), false, TimeZone::UTC);
        assert!(
            one.ends_with("Of 80 units the policy in force admits 50 and denies 30."),
            "{one}"
        );
    }

    #[test]
    fn nothing_asked_for_says_what_to_do() {
        let mut nothing = body(Vec::new());
        nothing.entries = 0;
        assert!(summary(&nothing, None, true, TimeZone::UTC).contains("Choose another span"));
    }

    #[test]
    fn what_is_missing_is_told() {
        let mut told = body(vec![row("a", "tokens", (1, 0), (1, 0))]);
        told.unreachable = vec!["oc".to_owned()];
        told.rows_total = 11;
        let notes = notes(&told);
        assert_eq!(notes.len(), 2);
        assert!(notes[0].starts_with("oc did not answer"));
        assert!(notes[1].starts_with("10 lines of smaller changes"));
    }

    #[test]
    fn the_bounds_that_are_told_are_those_that_hold() {
        let told = |over| bounds(over).join(" ");
        assert_eq!((REPLAY_ENTRIES_MAX, REPLAY_TENANTS_MAX), (20_000, 8));
        assert_eq!(
            (REPLAY_SPAN_MS_MAX, MINUTES_KEPT_MS),
            (6 * 3_600_000, 24 * 3_600_000)
        );
        for part in [
            "eight tenants",
            "6 hours of the last day",
            "20,000 requests",
        ] {
            assert!(told(Source::Recorded).contains(part), "{part}");
        }
        assert!(told(Source::Trace).contains("at most 20,000 requests"));
    }
}
