//! Exchanges whose answers are lost: carried out, and never heard of.

use weir_tests::witness::Fault;

use crate::outage::{KINDS, assert_capped, assert_healed, start, through_an_outage};

#[tokio::test(flavor = "multi_thread")]
async fn lost_answers_overdraw_nothing_in_either_mode() {
    for outage in ["fail_closed", "regional_only"] {
        let workerd = start(outage).await;
        let run = through_an_outage(&workerd, Fault::Lose).await;
        for (name, _, _) in KINDS {
            assert_capped(name, &run.of(name));
            assert_healed(name, &run);
        }
    }
}
