//! Controls: each rule of the exchange, broken on purpose, is caught by the invariants of the simulator.

use crate::simulator::broken::Broken;
use crate::simulator::run;
use crate::simulator::setup::Setup;

const SEEDS: u64 = 2_000;

/// The seeds of `first` are tried before all others: where one of these is long in coming, one that has caught the rule.
fn caught(rule: Broken, drawn: fn(u64) -> Setup, first: &[u64]) {
    for seed in first.iter().copied().chain(0..SEEDS) {
        let report = run(&drawn(seed).broken(rule));
        if let Some(violation) = report.truth.violation {
            println!("{rule:?} is caught by seed {seed}: {violation:?}");
            return;
        }
    }
    panic!("{rule:?} is not caught within {SEEDS} seeds");
}

macro_rules! caught {
    ($($name:ident: $rule:ident in $drawn:ident $(at $first:literal)?,)*) => {
        $(
            #[test]
            fn $name() {
                caught(Broken::$rule, Setup::$drawn, &[$($first)?]);
            }
        )*
    };
}

caught! {
    a_region_that_replies_before_it_writes: RegionRepliesBeforeWrite in drawn,
    a_coordinator_that_replies_before_it_writes: CoordinatorRepliesBeforeWrite in drawn,
    a_region_that_wakes_with_nothing_lent: RegionWakesUnlent in drawn,
    a_coordinator_that_wakes_with_nothing_granted: CoordinatorWakesUnlent in drawn,
    a_damaged_window_that_is_lent_again: DamagedWindowLentAgain in drawn,
    a_watermark_that_is_one_unit_short: WatermarkOneShort in drawn,
    a_row_at_rest_that_is_one_unit_short: RestsOneShort in resting,
    a_failed_write_that_is_ignored: FailedWriteIgnored in drawn,
    a_return_that_is_sent_before_it_is_written: ReturnSentBeforeWrite in drawn,
    a_return_that_is_kept: ReturnKept in drawn,
    a_reply_that_is_credited_twice: ReplyCreditedTwice in drawn,
    a_reply_to_an_older_message_that_is_credited: OlderReplyCredited in drawn,
    a_repeated_message_that_is_answered_as_new: ReplayAnsweredAsNew in drawn,
    a_stale_name_of_the_last_reply_seen: StaleSeen in drawn,
    an_end_that_is_counted_from_the_receipt: EndCountedFromReceipt in drawn,
    an_end_that_is_read_off_the_holders_clock: EndReadOffOwnClock in drawn,
    a_leftover_that_is_carried_into_the_next_window: LeftoverCarriedOver in drawn,
    a_label_that_is_used_twice: LabelUsedTwice in drawn,
    an_isolate_that_goes_on_beside_its_copy: IsolateForked in drawn,
    a_part_of_a_rolling_window_that_is_forgotten: HistoryForgotten in rolling,
    a_part_of_a_rolling_window_that_is_not_stored: HistoryNotStored in rolling,
    a_rolling_window_that_is_dropped_while_it_counts: HistoryDropped in rolling,
    a_coordinator_of_a_rolling_window_that_replies_before_it_writes: CoordinatorRepliesBeforeWrite in rolling,
    a_coordinator_of_a_rolling_window_that_wakes_with_nothing_granted: CoordinatorWakesUnlent in rolling,
    a_damaged_rolling_window_that_is_lent_again: DamagedWindowLentAgain in rolling,
    a_pool_that_opens_again_under_a_label_that_was_used: FloorForgotten in windows,
    a_part_that_is_made_again_with_its_old_incarnation: IncarnationKept in windows,
    a_refund_that_is_taken_into_a_later_window: RefundIntoLaterWindow in windows at 57,
    a_refund_that_is_taken_twice: RefundTakenTwice in windows at 53,
    a_refund_that_counts_as_written_when_it_is_not: RefundCountedAsWritten in refunds at 151,
    units_lent_ahead_that_do_not_count_when_their_window_opens: AheadForgottenAtRoll in standing,
    units_lent_ahead_that_are_not_in_the_coordinators_row: AheadNotWritten in standing,
    units_lent_on_ahead_that_are_not_in_the_regions_row: AheadLentOnNotWritten in standing,
    a_region_that_wakes_with_nothing_lent_on_ahead: RegionWakesAheadUnlent in standing,
    units_lent_ahead_that_count_twice_when_their_window_opens: AheadCountedTwice in standing,
    units_lent_ahead_that_are_told_to_every_life: AheadToldToEveryLife in standing,
    units_lent_ahead_of_a_limit_that_was_lowered: AheadOfOldLimit in standing,
    a_window_to_come_that_opens_before_its_time: WindowOpenedBeforeItsTime in standing,
    a_label_that_does_not_rise_by_the_windows_gone_by: LabelOutOfStep in standing,
    a_return_that_is_taken_into_another_window: ReturnOfAnotherWindow in shared,
    units_that_a_holder_says_it_has_and_that_are_lent_again: HeldLentAgain in shared,
    a_cancelled_grant_that_is_kept: CancelledGrantKept in shared at 232,
    a_region_of_a_shared_pool_that_replies_before_it_writes: RegionRepliesBeforeWrite in shared,
    a_damaged_window_with_slices_that_is_lent_again: DamagedWindowLentAgain in standing,
    what_was_lent_in_windows_that_an_edit_closed_that_is_forgotten: ClosedEarlyForgotten in edited at 1_331,
    a_short_window_that_a_longer_one_does_not_count: ShortWindowForgotten in edited,
    a_branch_that_replies_before_it_writes: RegionRepliesBeforeWrite in branched,
    units_that_an_isolate_takes_along_when_it_asks_another_branch: MovedWithUnits in branched,
    slices_that_are_kept_when_the_limit_is_lowered: SlicesKept in sliced at 31,
    an_answer_of_which_whoever_waits_does_not_hear: WaiterForgotten in drawn,
    an_isolate_that_is_not_woken_at_the_end_of_a_wait: NeverWoken in drawn,
    a_damaged_window_that_is_lent_again_though_windows_are_edited: DamagedWindowLentAgain in edited,
}
