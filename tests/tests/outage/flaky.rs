//! Exchanges whose answers are lost: carried out, and never heard of.

use weir_tests::witness::Fault;

use crate::outage::{KINDS, assert_capped, assert_healed, start, through_an_outage};

async fn assert_overdraws_nothing(outage: &str) {
    let stage = start(outage).await;
    let run = through_an_outage(&stage, Fault::Lose).await;
    for (name, _, _) in KINDS {
        assert_capped(name, &run);
        assert_healed(name, &run);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_answers_overdraw_nothing_where_regions_close() {
    assert_overdraws_nothing("fail_closed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_answers_overdraw_nothing_where_regions_go_on() {
    assert_overdraws_nothing("regional_only").await;
}
