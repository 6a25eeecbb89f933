//! Tokens: what one opens, and that nothing else opens anything.

use weir_shared::access::attendance::Attendance;
use weir_shared::access::grant::{NewToken, Principal};
use weir_shared::access::table::AccessTable;
use weir_shared::access::token::{Refusal, Token, TokenKey};
use weir_shared::access::uses::Uses;
use weir_shared::limits::TOKENS_MAX;
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::access::{SavedAccess, TokenRequest, TokenRow};
use weir_shared::wire::operator::live_holder::LiveHolder;
use weir_shared::wire::role::Role;

fn key() -> TokenKey {
    TokenKey::new([9; 32])
}

fn token(number: u8) -> Token {
    Token::make(&key(), [number; 12], [number; 24]).unwrap()
}

/// When the tokens are looked at.
const NOW: EpochMs = EpochMs(1_700_000_000_000);

fn row(token: &Token, role: Role) -> TokenRow {
    TokenRow {
        id: token.id().to_owned(),
        hash: token.hash(),
        role,
        tenant: None,
        prefix: None,
        expires_at: None,
        name: "gateway".to_owned(),
    }
}

fn saved(tokens: Vec<TokenRow>) -> SavedAccess {
    SavedAccess {
        revision: Revision(3),
        key: key().text(),
        tokens,
        bootstrap: true,
        seals: Vec::new(),
        ended: Vec::new(),
    }
}

fn table(tokens: Vec<TokenRow>) -> AccessTable {
    AccessTable::try_from(&saved(tokens)).unwrap()
}

#[test]
fn the_bootstrap_token_is_accepted_as_the_registry_says() {
    for bootstrap in [true, false] {
        let saved = SavedAccess {
            bootstrap,
            ..saved(Vec::new())
        };
        let table = AccessTable::try_from(&saved).unwrap();
        assert_eq!(table.bootstrap(), bootstrap);
    }
}

#[track_caller]
fn refused(text: &str, with: Refusal) {
    let table = table(vec![row(&token(1), Role::Service)]);
    match table.open(text, NOW) {
        Err(refusal) => assert_eq!(refusal, with, "{text}"),
        Ok(_) => panic!("{text} opens something"),
    }
}

#[test]
fn a_token_of_the_table_opens_what_its_row_says() {
    let table = table(vec![
        row(&token(1), Role::Service),
        row(&token(2), Role::Viewer),
    ]);
    let (opened, principal) = table.open(token(2).text(), NOW).unwrap();
    assert_eq!(opened.id(), token(2).id());
    assert_eq!(principal.role, Role::Viewer);
    assert_eq!(principal.actor, "gateway");
}

#[test]
fn its_text_is_77_characters_of_the_stated_form() {
    let token = token(1);
    let parts: Vec<&str> = token
        .text()
        .strip_prefix("weir_")
        .unwrap()
        .split('.')
        .collect();
    assert_eq!(
        parts.iter().map(|part| part.len()).collect::<Vec<_>>(),
        [16, 32, 22]
    );
    assert_eq!(parts[0], token.id());
    assert_eq!(token.text().len(), 77);
}

#[test]
fn no_character_of_a_token_can_be_another() {
    let text = token(1).text().to_owned();
    for place in 0..text.len() {
        for other in ["A", "b", "7", "-", ".", " ", "="] {
            let mut forged = text.clone();
            forged.replace_range(place..=place, other);
            if forged == text {
                continue;
            }
            let table = table(vec![row(&token(1), Role::Service)]);
            assert!(
                table.open(&forged, NOW).is_err(),
                "{forged} opens what {text} does"
            );
        }
    }
}

#[test]
fn no_part_of_a_token_opens_anything() {
    let text = token(1).text().to_owned();
    for end in 0..text.len() {
        refused(&text[..end], Refusal::Malformed);
    }
    for garbage in [
        "",
        ".",
        "weir_",
        "weir_..",
        "weir_a.b.c",
        "Bearer",
        "\u{0}",
        "ключ",
    ] {
        refused(garbage, Refusal::Malformed);
    }
    refused(&format!("{text}A"), Refusal::Malformed);
    refused(&format!("{text}.{text}"), Refusal::Malformed);
    refused(&"x".repeat(100_000), Refusal::Malformed);
}

#[test]
fn a_mac_by_another_key_is_forged() {
    let other = TokenKey::new([8; 32]);
    let forged = Token::make(&other, [1; 12], [1; 24]).unwrap();
    refused(forged.text(), Refusal::Forged);
}

#[test]
fn a_mac_of_other_parts_is_forged() {
    let (first, second) = (token(1), token(2));
    let (signed, _) = first.text().rsplit_once('.').unwrap();
    let (_, mac) = second.text().rsplit_once('.').unwrap();
    refused(&format!("{signed}.{mac}"), Refusal::Forged);
}

#[test]
fn a_token_that_is_not_in_the_table_is_unknown_and_named() {
    let id = token(2).id().to_owned();
    refused(token(2).text(), Refusal::Unknown { id });
}

#[test]
fn a_token_opens_nothing_from_the_instant_at_which_it_expires() {
    let expires_at = Some(NOW);
    let row = TokenRow {
        expires_at,
        ..row(&token(1), Role::Admin)
    };
    let table = table(vec![row]);
    let before = EpochMs(NOW.0 - 1);
    assert!(table.open(token(1).text(), before).is_ok());
    assert!(table.principal(token(1).id(), before).is_some());
    assert_eq!(
        table.open(token(1).text(), NOW).err(),
        Some(Refusal::Expired)
    );
    assert!(table.principal(token(1).id(), NOW).is_none());
    // It is a token of the deployment, so nobody asks for it anew.
    assert!(table.has(token(1).id()));
}

/// Whoever had the key and saw an id could make a text with a true MAC; its hash is not the one that was kept.
#[test]
fn another_secret_under_a_known_id_is_forged() {
    let other = Token::make(&key(), [1; 12], [77; 24]).unwrap();
    assert_eq!(other.id(), token(1).id());
    refused(other.text(), Refusal::Forged);
}

#[test]
fn what_is_kept_of_a_token_does_not_give_it_away() {
    let token = token(1);
    let kept = serde_json::to_string(&saved(vec![row(&token, Role::Admin)])).unwrap();
    let (_, secret) = token.text().split_once('.').unwrap();
    assert!(!kept.contains(secret));
    let printed = format!("{:?}", saved(vec![row(&token, Role::Admin)]));
    assert!(!printed.contains(&key().text()), "{printed}");
}

#[test]
fn a_table_is_bounded_and_its_key_is_one() {
    let rows = vec![row(&token(1), Role::Service); TOKENS_MAX + 1];
    let refused = AccessTable::try_from(&saved(rows)).err().unwrap();
    assert_eq!(refused.field, "/tokens");
    for text in ["", "short", &"A".repeat(44)] {
        let damaged = SavedAccess {
            key: text.to_owned(),
            ..saved(Vec::new())
        };
        let refused = AccessTable::try_from(&damaged).err().unwrap();
        assert_eq!(refused.field, "/key", "{text}");
    }
}

fn principal(role: Role, tenant: Option<&str>, prefix: Option<&str>) -> Principal {
    Principal {
        tenant: tenant.map(str::to_owned),
        prefix: prefix.map(str::to_owned),
        ..Principal::new("someone", role)
    }
}

#[test]
fn a_tenant_names_itself_and_nobody_else() {
    let acme = principal(Role::Tenant, Some("acme"), None);
    assert!(acme.may_name(Some("acme")));
    for other in [Some("acme2"), Some("acm"), Some("ACME"), Some(""), None] {
        assert!(!acme.may_name(other), "{other:?}");
    }
    // A row that is damaged so that it names nobody names nobody.
    assert!(!principal(Role::Tenant, None, None).may_name(None));
}

#[test]
fn a_viewer_and_an_editor_decide_for_nobody() {
    for role in [Role::Viewer, Role::Editor] {
        let reader = principal(role, None, None);
        assert!(!reader.may_name(Some("acme")) && !reader.may_name(None));
    }
}

#[test]
fn a_service_names_any_tenant_or_those_of_its_prefix() {
    let any = principal(Role::Service, None, None);
    assert!(any.may_name(Some("acme")) && any.may_name(None));
    let bound = principal(Role::Service, None, Some("eu:"));
    assert!(bound.may_name(Some("eu:")) && bound.may_name(Some("eu:acme")));
    assert!(
        !bound.may_name(Some("eu")) && !bound.may_name(Some("us:eu:")) && !bound.may_name(None)
    );
}

fn request(role: Role, tenant: Option<&str>, prefix: Option<&str>) -> TokenRequest {
    TokenRequest {
        name: "gateway-1".to_owned(),
        role,
        tenant: tenant.map(str::to_owned),
        prefix: prefix.map(str::to_owned),
        expires_at: None,
    }
}

#[track_caller]
fn unmakable(request: TokenRequest, field: &str) {
    let refused = NewToken::try_from(request.clone()).expect_err(&format!("{request:?}"));
    assert_eq!(refused.field, field, "{request:?}");
}

#[test]
fn a_token_is_bound_as_its_role_is_and_no_other_way() {
    for made in [
        request(Role::Service, None, None),
        request(Role::Service, None, Some("eu:")),
        request(Role::Tenant, Some("acme"), None),
        request(Role::Admin, None, None),
    ] {
        assert!(NewToken::try_from(made.clone()).is_ok(), "{made:?}");
    }
    unmakable(request(Role::Tenant, None, None), "/tenant");
    unmakable(request(Role::Tenant, Some(""), None), "/tenant");
    unmakable(request(Role::Tenant, Some("a\nb"), None), "/tenant");
    unmakable(
        request(Role::Tenant, Some(&"x".repeat(129)), None),
        "/tenant",
    );
    unmakable(request(Role::Tenant, Some("acme"), Some("a")), "/prefix");
    unmakable(request(Role::Service, Some("acme"), None), "/tenant");
    unmakable(request(Role::Service, None, Some("")), "/prefix");
    unmakable(request(Role::Admin, None, Some("eu:")), "/prefix");
    for name in ["", "Gateway", "a b", "a\nb", "bootstrap", &"x".repeat(65)] {
        let mut named = request(Role::Admin, None, None);
        name.clone_into(&mut named.name);
        unmakable(named, "/name");
    }
}

#[test]
fn uses_that_could_not_be_told_are_told_again_and_none_twice() {
    let mut uses = Uses::new(60_000);
    uses.mark("a", EpochMs(1_000));
    uses.mark("b", EpochMs(1_500));
    let told = uses.take(1, EpochMs(2_000));
    assert_eq!(told.len(), 1);
    assert!(uses.due(EpochMs(2_000)), "the other one is left");
    uses.put_back(&told);
    uses.mark("a", EpochMs(2_500));
    let told = uses.take(64, EpochMs(3_000));
    assert_eq!(
        told.iter().map(|told| told.uses).collect::<Vec<_>>(),
        [2, 1]
    );
    assert_eq!(told[0].at, EpochMs(2_500));
    assert!(!uses.due(EpochMs(10_000_000)));
    assert!(uses.take(64, EpochMs(10_000_000)).is_empty());
}

#[test]
fn uses_of_no_more_tokens_than_there_can_be_are_counted() {
    let mut uses = Uses::new(0);
    for number in 0..TOKENS_MAX + 100 {
        uses.mark(&number.to_string(), EpochMs(1));
    }
    assert_eq!(uses.take(usize::MAX, EpochMs(2)).len(), TOKENS_MAX + 1);
    uses.retain(|id| id == "5");
    uses.mark("5", EpochMs(3));
    uses.mark("6", EpochMs(3));
    assert_eq!(uses.take(usize::MAX, EpochMs(3)).len(), 2);
}

#[test]
fn a_socket_is_kept_until_its_token_is_revoked_is_over_or_has_another_role() {
    let holder = LiveHolder {
        name: token(1).id().to_owned(),
        provided: false,
        role: Role::Editor,
        session: None,
        expires_at: None,
    };
    let kept = |tokens: Vec<TokenRow>, holder: &LiveHolder, now: EpochMs| {
        let table = table(tokens);
        let attendance = Attendance {
            table: Some(&table),
            rearmed: false,
            now,
        };
        attendance.permits(holder)
    };
    let editor = row(&token(1), Role::Editor);
    assert!(kept(vec![editor.clone()], &holder, NOW));
    assert!(!kept(vec![row(&token(2), Role::Editor)], &holder, NOW));
    for role in [Role::Viewer, Role::Admin, Role::Service] {
        assert!(!kept(vec![row(&token(1), role)], &holder, NOW), "{role:?}");
    }
    let until = NOW.plus(1_000);
    let ends = TokenRow {
        expires_at: Some(until),
        ..editor.clone()
    };
    assert!(kept(vec![ends.clone()], &holder, EpochMs(until.0 - 1)));
    assert!(!kept(vec![ends], &holder, until));
    let of_session = LiveHolder {
        expires_at: Some(until),
        ..holder
    };
    assert!(kept(
        vec![editor.clone()],
        &of_session,
        EpochMs(until.0 - 1)
    ));
    assert!(!kept(vec![editor], &of_session, until));
}
