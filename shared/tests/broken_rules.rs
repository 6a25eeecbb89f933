//! Controls: each rule of the exchange, broken on purpose, is caught by the invariants of the simulator.

#![cfg(not(target_arch = "wasm32"))]

mod simulator;

use simulator::broken::Broken;
use simulator::run;
use simulator::setup::Setup;

const SEEDS: u64 = 2_000;

fn caught(rule: Broken) {
    for seed in 0..SEEDS {
        let report = run(&Setup::drawn(seed).broken(rule));
        if let Some(violation) = report.truth.violation {
            println!("{rule:?} is caught by seed {seed}: {violation:?}");
            return;
        }
    }
    panic!("{rule:?} is not caught within {SEEDS} seeds");
}

macro_rules! caught {
    ($($name:ident: $rule:ident,)*) => {
        $(
            #[test]
            fn $name() {
                caught(Broken::$rule);
            }
        )*
    };
}

caught! {
    a_region_that_replies_before_it_writes: RegionRepliesBeforeWrite,
    a_coordinator_that_replies_before_it_writes: CoordinatorRepliesBeforeWrite,
    a_region_that_wakes_with_nothing_lent: RegionWakesUnlent,
    a_coordinator_that_wakes_with_nothing_granted: CoordinatorWakesUnlent,
    a_damaged_window_that_is_lent_again: DamagedWindowLentAgain,
    a_watermark_that_is_one_unit_short: WatermarkOneShort,
    a_failed_write_that_is_ignored: FailedWriteIgnored,
    a_return_that_is_sent_before_it_is_written: ReturnSentBeforeWrite,
    a_return_that_is_kept: ReturnKept,
    a_reply_that_is_credited_twice: ReplyCreditedTwice,
    a_reply_to_an_older_message_that_is_credited: OlderReplyCredited,
    a_repeated_message_that_is_answered_as_new: ReplayAnsweredAsNew,
    a_stale_name_of_the_last_reply_seen: StaleSeen,
    an_end_that_is_counted_from_the_receipt: EndCountedFromReceipt,
    an_end_that_is_read_off_the_holders_clock: EndReadOffOwnClock,
    a_leftover_that_is_carried_into_the_next_window: LeftoverCarriedOver,
    a_label_that_is_used_twice: LabelUsedTwice,
    an_isolate_that_goes_on_beside_its_copy: IsolateForked,
}
