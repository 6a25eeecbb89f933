//! What the file of a tenant's chart says beside the lines of the chart, and how it is called.

use crate::chart::csv::About;
use crate::chart::series::Line;
use crate::what::{Kind, What};

/// What it is of, a column each, and what was counted in each interval.
pub fn about(
    tenant: &str,
    what: &What,
    region: Option<String>,
    range: String,
    mut counted: Vec<Line>,
) -> About {
    let unit = if what.kind == Kind::Guard {
        "calls"
    } else {
        "units"
    };
    for line in &mut counted {
        line.name = format!("{}, {unit}", line.name);
    }
    let mut parts = vec![tenant.to_owned(), what.name.clone()];
    parts.extend(region.clone());
    parts.push(range);
    About {
        parts,
        of: vec![
            ("tenant", tenant.to_owned()),
            (what.kind.name(), what.name.clone()),
            ("region", region.unwrap_or_else(|| "all".to_owned())),
        ],
        counted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::csv::{file_name, text};
    use crate::chart::series::Tone;

    fn line(name: &str, value: f64) -> Line {
        Line {
            name: name.to_owned(),
            tone: Tone::Blue,
            points: vec![(0, Some(value))],
        }
    }

    #[test]
    fn the_file_says_whose_it_is_and_has_units_beside_rates() {
        let what = What::new(Kind::Budget, "tokens");
        let counted = vec![line("Admitted", 90.0)];
        let all = about("pro:hooli", &what, None, "6h".to_owned(), counted.clone());
        assert_eq!(file_name(&all.parts), "pro-hooli-tokens-6h.csv");
        assert_eq!(
            text(&[line("Admitted", 1.5)], "units/s", &all),
            "time,tenant,budget,region,\"Admitted, units\",\"Admitted, units/s\"\n\
             1970-01-01T00:00:00Z,\"pro:hooli\",\"tokens\",\"all\",90,1.5\n"
        );
        let one = about(
            "a",
            &what,
            Some("weur".to_owned()),
            "1h".to_owned(),
            counted,
        );
        assert_eq!(file_name(&one.parts), "a-tokens-weur-1h.csv");
        assert_eq!(one.of[2], ("region", "weur".to_owned()));
    }

    #[test]
    fn a_guard_counts_calls_in_its_file() {
        let what = What::new(Kind::Guard, "queries");
        let told = about(
            "a",
            &what,
            None,
            "1h".to_owned(),
            vec![line("Admitted", 2.0)],
        );
        assert_eq!(told.of[1], ("guard", "queries".to_owned()));
        assert_eq!(told.counted[0].name, "Admitted, calls");
    }
}
