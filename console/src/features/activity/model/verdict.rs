//! What a look at the chain of the audit log found, in words.

use weir_shared::wire::audit::AuditVerdict;

use crate::format::count;

/// The verdict in a sentence or two.
pub fn words(verdict: &AuditVerdict) -> String {
    let checked = count(verdict.checked.into());
    if let Some(fault) = &verdict.fault {
        return format!(
            "Not as it was written: record {}: {}. {checked} before it are intact; nothing behind it can be trusted.",
            count(fault.sequence.into()),
            fault.what
        );
    }
    let through = count(verdict.through.into());
    let pruned = match verdict.head.pruned {
        0 => String::new(),
        pruned => format!(
            " Records up to {} were given up, as the log was full.",
            count(pruned.into())
        ),
    };
    let more = if verdict.more {
        " There are records behind it that were not looked at."
    } else {
        ""
    };
    format!(
        "Intact: {checked} records are as they were written, through record {through}.{more}{pruned}"
    )
}

#[cfg(test)]
mod tests {
    use weir_shared::wire::audit::{AuditFault, AuditHead};

    use super::*;

    fn verdict(fault: Option<AuditFault>, more: bool, pruned: u64) -> AuditVerdict {
        AuditVerdict {
            intact: fault.is_none(),
            checked: 1_204,
            through: 1_204,
            hash: "ab".to_owned(),
            fault,
            more,
            head: AuditHead {
                sequence: 1_204,
                hash: "ab".to_owned(),
                pruned,
                pruned_hash: String::new(),
            },
        }
    }

    #[test]
    fn a_verdict_says_how_far_it_holds() {
        let fault = AuditFault {
            sequence: 1_205,
            what: "it is missing".to_owned(),
        };
        for (verdict, text) in [
            (
                verdict(None, false, 0),
                "Intact: 1,204 records are as they were written, through record 1,204.",
            ),
            (
                verdict(None, false, 1_000),
                "Intact: 1,204 records are as they were written, through record 1,204. Records up to 1,000 were given \
                 up, as the log was full.",
            ),
            (
                verdict(None, true, 0),
                "Intact: 1,204 records are as they were written, through record 1,204. There are records behind it \
                 that were not looked at.",
            ),
            (
                verdict(Some(fault), false, 0),
                "Not as it was written: record 1,205: it is missing. 1,204 before it are intact; nothing behind it can \
                 be trusted.",
            ),
        ] {
            assert_eq!(words(&verdict), text);
        }
    }
}
