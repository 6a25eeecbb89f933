//! Which class answers which call.

use serde::{Deserialize, Serialize};
use weir_shared::contact::{ContactBody, ContactReply};
use weir_shared::limiting::idempotency::{ClaimBody, Claimed, KeepBody};
use weir_shared::limiting::messages::{
    DecideBody, DecideReply, FinishBody, FinishReply, GuardBody, GuardReply, ResetBody, ResetReply,
    SettleKeysBody, SettledKeys, ShapeBody, ShapeReply,
};
use weir_shared::limiting::settlement::{SettleBody, SettleReply};
use weir_shared::wire::access::{SavedAccess, TokenView};
use weir_shared::wire::accounting::{Counters, FrameBody, FrameReply};
use weir_shared::wire::audit::AuditVerdict;
use weir_shared::wire::exchange::{ExchangeAnswer, ExchangeBody};
use weir_shared::wire::holdings::{Lent, LentBody};
use weir_shared::wire::operator::decisions::{DecisionsBody, DecisionsReply};
pub use weir_shared::wire::registry::{
    AppendAudit, Appended, AuditLines, AuditPage, CreateToken, Created, DeleteTenant, Done,
    EndSession, EndSessions, ExportAudit, ListTokens, PatchTenant, PushRules, Pushed, ReadAudit,
    ReadPolicy, RevokeToken, Revoked, Rules, SavePolicy, Saved, VerifyAudit,
};
use weir_shared::wire::series::{
    DemandBody, DemandReply, SeriesBody, SeriesReply, TotalsBody, TotalsReply,
};
use weir_shared::wire::shares::{SharesBody, SharesReply};
use weir_shared::wire::windows::{ClosedBody, ClosedReply, WindowsBody, WindowsReply};

use super::binding::{Call, Class};

macro_rules! calls {
    ($($request:ty => $($class:ident)|+ $route:literal -> $reply:ty;)*) => {
        $(impl Call for $request {
            const CLASSES: &'static [Class] = &[$(Class::$class),+];
            const ROUTE: &'static str = $route;
            type Reply = $reply;
        })*
    };
}

calls! {
    ExchangeBody => Coordinator "exchange" -> ExchangeAnswer;
    LentBody => Coordinator "lent" -> Lent;
    SharesBody => Coordinator "shares" -> SharesReply;
    ContactBody => Region "contact" -> ContactReply;
    SettleBody => Region "settle" -> SettleReply;
    DecideBody => Region | Coordinator "decide" -> DecideReply;
    FinishBody => Region | Coordinator "finish" -> FinishReply;
    SettleKeysBody => Region | Coordinator "settle-keys" -> SettledKeys;
    GuardBody => Region | Coordinator "guard" -> GuardReply;
    ShapeBody => Region | Coordinator "shape" -> ShapeReply;
    ResetBody => Region | Coordinator "reset" -> ResetReply;
    ClaimBody => Region "claim" -> Claimed;
    KeepBody => Region "keep" -> Done;
    PushRules => Region "push" -> Pushed;
    ReadPolicy => Registry "read" -> Rules;
    SavePolicy => Registry "save" -> Saved;
    PatchTenant => Registry "patch-tenant" -> Saved;
    DeleteTenant => Registry "delete-tenant" -> Saved;
    CreateToken => Registry "create-token" -> Created;
    RevokeToken => Registry "revoke-token" -> Revoked;
    EndSession => Registry "end-session" -> Done;
    EndSessions => Registry "end-sessions" -> Done;
    ListTokens => Registry "list-tokens" -> Vec<TokenView>;
    ReadAudit => Registry "read-audit" -> AuditPage;
    ExportAudit => Registry "export-audit" -> AuditLines;
    VerifyAudit => Registry "verify-audit" -> AuditVerdict;
    AppendAudit => Registry "append-audit" -> Appended;
    TakeAccess => Ledger "access" -> Done;
    TakeFrame => Ledger "take" -> FrameReply;
    ReadCounters => Ledger "counters" -> Counters;
    TotalsBody => Ledger "totals" -> TotalsReply;
    SeriesBody => Ledger "series" -> SeriesReply;
    DemandBody => Ledger "demand" -> DemandReply;
    WindowsBody => Ledger "windows" -> WindowsReply;
    DecisionsBody => Ledger "decisions" -> DecisionsReply;
    ClosedBody => Coordinator | Region "closed" -> ClosedReply;
}

/// Tokens for a ledger, which holds live sockets.
#[derive(Debug, Serialize, Deserialize)]
pub struct TakeAccess {
    /// The tokens.
    pub access: SavedAccess,
}

/// Counters for a ledger.
#[derive(Debug, Serialize, Deserialize)]
pub struct TakeFrame {
    /// The frame.
    pub frame: FrameBody,
}

/// Asks for a ledger's totals.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReadCounters {}
