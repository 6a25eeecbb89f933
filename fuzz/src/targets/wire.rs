//! Messages between objects, and the rows that they keep.

use weir_shared::access::stored::{StoredAccess, StoredToken};
use weir_shared::audit::summary::Summary;
use weir_shared::contact::{ContactBody, ContactReply};
use weir_shared::federation::stored::{StoredEscrow, StoredPool};
use weir_shared::limiting::messages::{
    DecideBody, DecideReply, FinishBody, FinishReply, GuardBody, GuardReply, ResetBody, ResetReply,
    SettleKeysBody, SettledKeys, ShapeBody, ShapeReply,
};
use weir_shared::limiting::settlement::{SettleBody, SettleReply};
use weir_shared::limiting::stored::{StoredHold, StoredState};
use weir_shared::wire::access::{SavedAccess, SealRow, TokenReply, TokenView};
use weir_shared::wire::accounting::{Counters, FrameBody, FrameReply};
use weir_shared::wire::agent::{AgentContactBody, AgentContactReply};
use weir_shared::wire::audit::{AuditEntry, AuditHead, AuditRecord, AuditVerdict, Author};
use weir_shared::wire::cells::{StoredCell, StoredEntry, StoredMarks};
use weir_shared::wire::check::DecisionBody;
use weir_shared::wire::exchange::{ExchangeAnswer, ExchangeBody, ReplyBody, Terms};
use weir_shared::wire::holdings::{Holdings, Lent, LentBody};
use weir_shared::wire::limit_terms::LimitTerms;
use weir_shared::wire::operator::live::{LiveAsk, LiveMessage};
use weir_shared::wire::operator::live_holder::LiveHolder;
use weir_shared::wire::operator::live_lines::{LineNotice, LineOrder};
use weir_shared::wire::overload::{
    MergedBody, OverloadTerms, ShareBody, ShareReply, StoredOverload,
};
use weir_shared::wire::saved_policy::SavedPolicy;
use weir_shared::wire::series::{SeriesBody, SeriesReply, TotalsBody, TotalsReply};
use weir_shared::wire::shares::{SharesBody, SharesReply};
use weir_shared::wire::stored::{Row, StoredSettlement, read_row};
use weir_shared::wire::windows::{
    ClosedBody, ClosedReply, StoredWindow, WindowRecord, WindowsBody, WindowsReply,
};

use super::{lanes, law::form};
use crate::driver::Lane;

pub(super) const MESSAGES: &[Lane] = lanes! {
    "exchange" => form::<ExchangeBody>,
    "reply" => form::<ReplyBody>,
    "terms" => form::<Terms>,
    "frame" => form::<FrameBody>,
    "frame reply" => form::<FrameReply>,
    "decide" => form::<DecideBody>,
    "decided" => form::<DecideReply>,
    "limit terms" => form::<LimitTerms>,
    "finish" => form::<FinishBody>,
    "settle keys" => form::<SettleKeysBody>,
    "shape" => form::<ShapeBody>,
    "guard" => form::<GuardBody>,
    "reset" => form::<ResetBody>,
    "saved policy" => form::<SavedPolicy>,
    "settle" => form::<SettleBody>,
    "shares" => form::<SharesBody>,
    "contact" => form::<ContactBody>,
    "contact reply" => form::<ContactReply>,
    "overload terms" => form::<OverloadTerms>,
    "share" => form::<ShareBody>,
    "merged" => form::<MergedBody>,
    "share reply" => form::<ShareReply>,
    "closed" => form::<ClosedBody>,
    "window record" => form::<WindowRecord>,
    "live" => form::<LiveMessage>,
    "live ask" => form::<LiveAsk>,
    "decision" => form::<DecisionBody>,
    "access" => form::<SavedAccess>,
    "seal" => form::<SealRow>,
    "token" => form::<TokenView>,
    "token reply" => form::<TokenReply>,
    "audit record" => form::<AuditRecord>,
    "audit entry" => form::<AuditEntry>,
    "audit head" => form::<AuditHead>,
    "audit verdict" => form::<AuditVerdict>,
    "author" => form::<Author>,
    "exchanged" => form::<ExchangeAnswer>,
    "finished" => form::<FinishReply>,
    "guarded" => form::<GuardReply>,
    "were reset" => form::<ResetReply>,
    "settled keys" => form::<SettledKeys>,
    "settled" => form::<SettleReply>,
    "shaped" => form::<ShapeReply>,
    "shares reply" => form::<SharesReply>,
    "closed reply" => form::<ClosedReply>,
    "look" => form::<LentBody>,
    "lent" => form::<Lent>,
    "holdings" => form::<Holdings>,
    "counters" => form::<Counters>,
    "totals" => form::<TotalsBody>,
    "totals reply" => form::<TotalsReply>,
    "series" => form::<SeriesBody>,
    "series reply" => form::<SeriesReply>,
    "windows" => form::<WindowsBody>,
    "windows reply" => form::<WindowsReply>,
    "live holder" => form::<LiveHolder>,
    "line order" => form::<LineOrder>,
    "line notice" => form::<LineNotice>,
    "agent contact" => form::<AgentContactBody>,
    "agent contact reply" => form::<AgentContactReply>,
};

pub(super) const ROWS: &[Lane] = lanes! {
    "pool" => row::<StoredPool>,
    "escrow" => row::<StoredEscrow>,
    "state" => row::<StoredState>,
    "hold" => row::<StoredHold>,
    "cell" => row::<StoredCell>,
    "entry" => row::<StoredEntry>,
    "marks" => row::<StoredMarks>,
    "window" => row::<StoredWindow>,
    "overload" => row::<StoredOverload>,
    "token" => row::<StoredToken>,
    "access" => row::<StoredAccess>,
    "summary" => row::<Summary>,
    "settlement of keys" => row::<StoredSettlement<SettledKeys>>,
    "settlement of pools" => row::<StoredSettlement<SettleReply>>,
};

/// A row that is taken is taken again as it is written, and is written the same.
fn row<R: Row>(input: &[u8]) -> bool {
    let Some(row) = std::str::from_utf8(input)
        .ok()
        .and_then(|text| read_row::<R>(text).ok())
    else {
        return false;
    };
    let text = serde_json::to_string(&row).expect("a row can be written");
    let again = read_row::<R>(&text).expect("a row that was taken is taken again");
    assert_eq!(serde_json::to_string(&again).ok(), Some(text));
    true
}
