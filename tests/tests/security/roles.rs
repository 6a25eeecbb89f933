//! Every route with every credential. The routes come from the Worker's own table, so that none is forgotten; whom each is
//! meant for, the table's own test says a second time, by hand.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use weir_shared::access::endpoint::{Access, Endpoint, ROUTES, Route};
use weir_shared::units::EpochMs;
use weir_shared::wire::access::TokenRequest;
use weir_shared::wire::role::Role;
use weir_tests::client::{Client, Credential, session_cookie};
use weir_tests::clock::epoch_ms;
use weir_tests::fixtures::{BUDGET, LIMIT};
use weir_tests::reply::Reply;
use weir_tests::witness::Witness;
use weir_tests::workerd::{Setup, TOKEN};

use crate::security::{
    GUARD, SESSION, SETTLE, TOKENS, answered, await_status, employ, login, of_tenant, policy,
    posted, request, reserved, revoke,
};

/// Paths that nothing serves, whoever asks.
const NOWHERE: [&str; 6] = [
    "/nope",
    "/v1/report/x",
    "/operator/v1",
    "/operator/v1/nope",
    "/operator/v1/tenants/a/b",
    "/v1/guards/queries/steal",
];

/// Paths at which sessions begin and end.
const ENDING: [&str; 2] = [SESSION, "/operator/v1/sessions/revoke"];

/// For how long the tokens that expire are valid: they are used once before, on any machine.
const VALID_MS: u64 = 10 * 60_000;

/// What is the tenant `acme`'s.
struct Own {
    /// Units that may be settled.
    reservation: Value,
    /// A slot that is held.
    slot: Value,
}

impl Own {
    async fn taken(admin: &Client) -> Self {
        let reserve = json!({ "tenant": "acme", "budget": BUDGET, "cost": 10, "reserve": true });
        let reservation = reserved(admin, &reserve).await;
        let path = format!("/v1/guards/{GUARD}/acquire");
        let asked = json!({ "tenant": "acme" });
        let taken: Value = posted(admin, &path, &asked).await.ok().unwrap();
        Self {
            reservation,
            slot: taken["slot"].clone(),
        }
    }
}

struct Row {
    method: Method,
    path: String,
    route: &'static Route,
}

impl Row {
    fn all() -> Vec<Self> {
        ROUTES.iter().map(Self::of).collect()
    }

    /// A request that the route serves.
    fn of(route: &'static Route) -> Self {
        let name = match (route.parameter(), route.path.starts_with(TOKENS)) {
            (Some("guard"), _) => "queries",
            (Some("decision"), _) => "17.5a0a02d29c9c2c19.weur.never.limit.x",
            (Some("id"), false) => "acme",
            (Some("id"), true) => "AAAAAAAAAAAAAAAA",
            (Some("name"), _) => "tokens",
            (other, _) => other.unwrap_or_default(),
        };
        let mut path = match route.parameter() {
            Some(parameter) => route.path.replace(&format!("{{{parameter}}}"), name),
            None => route.path.to_owned(),
        };
        if route.endpoint == Endpoint::SeriesRead {
            path.push_str("?meter=none");
        }
        Self {
            method: route.method.name().parse().unwrap(),
            path,
            route,
        }
    }

    /// What is due to a role, or with `None` to nobody: 200 for whoever is let in, whatever then becomes of the request.
    fn due(&self, role: Option<Role>) -> u16 {
        match (self.route.access, role) {
            (Access::Public, _) => 200,
            (_, None) => 401,
            (access, Some(role)) if access.admits(role) => 200,
            _ => 403,
        }
    }

    /// What decides for the tenant `acme`, or changes what is its own; `None` where the route does neither.
    fn of_acme(&self, own: &Own) -> Option<Value> {
        use Endpoint::{
            Check, CheckBatch, GuardAcquire, GuardRelease, GuardRenew, Report, Reserve, Settle,
        };
        let check = json!({ "tenant": "acme", "limit": LIMIT, "key": "k" });
        Some(match self.route.endpoint {
            Check | Reserve => check,
            CheckBatch => json!({ "requests": [check] }),
            Settle => json!({ "reservation": own.reservation, "actual": 0 }),
            Report => json!({ "resource": "origin", "tenant": "acme", "outcome": "success" }),
            GuardAcquire => json!({ "tenant": "acme" }),
            GuardRenew | GuardRelease => json!({ "slot": own.slot }),
            _ => return None,
        })
    }

    async fn ask(&self, client: &Client) -> Reply {
        let mut asked = client
            .request(self.method.clone(), &self.path)
            .header("origin", client.origin());
        if self.method != Method::GET {
            asked = asked.json(&match self.route.endpoint {
                Endpoint::GuardAcquire => json!({ "tenant": "acme" }),
                _ => json!({ "tenant": "acme", "limit": LIMIT, "key": "k" }),
            });
        }
        client.send(asked).await.unwrap()
    }

    async fn assert_of_acme(&self, who: &str, client: &Client, (body, due): (&Value, u16)) {
        let reply = posted(client, &self.path, body).await;
        let case = format!(
            "{} {} of acme with {who}: {}",
            self.method,
            self.path,
            reply.text()
        );
        assert_eq!(reply.status, due, "{case}");
    }

    async fn assert(&self, who: &str, client: &Client, due: u16) {
        let reply = answered(async || self.ask(client).await).await;
        let case = format!("{} {} with {who}: {}", self.method, self.path, reply.text());
        let let_in = ![401, 403, 405].contains(&reply.status)
            && !reply.text().contains("No such route")
            && reply.status < 500;
        match due {
            200 => assert!(let_in, "{} {case}", reply.status),
            due => {
                assert_eq!(reply.status, due, "{case}");
                reply
                    .problem()
                    .unwrap_or_else(|error| panic!("{case}: {error:#}"));
            }
        }
    }
}

/// One of the role whose token has that name, for the tenant `acme` where it needs one.
fn named(name: &str, role: Role) -> TokenRequest {
    TokenRequest {
        name: name.to_owned(),
        role,
        ..match role {
            Role::Tenant => of_tenant("acme"),
            _ => request(name, role),
        }
    }
}

/// A client with a token of each role.
async fn staff(admin: &Client, kind: &str) -> Vec<(Role, Client, String)> {
    let mut staff = Vec::new();
    for role in Role::ALL {
        let name = format!("{kind}-{}", role.name());
        let (client, made) = employ(admin, &named(&name, role)).await;
        staff.push((role, client, made.token));
    }
    staff
}

/// Credentials that open nothing: each of the roles with a token that was revoked, and with one that has expired.
async fn former(admin: &Client, witness: &Witness) -> Vec<(String, Client)> {
    let mut former = Vec::new();
    for role in Role::ALL {
        let name = format!("revoked-{}", role.name());
        let (client, made) = employ(admin, &named(&name, role)).await;
        revoke(admin, &made.view.id).await;
        former.push((name, client));
    }
    let expires_at = EpochMs(epoch_ms() + VALID_MS);
    for role in Role::ALL {
        let name = format!("expired-{}", role.name());
        let token = TokenRequest {
            expires_at: Some(expires_at),
            ..named(&name, role)
        };
        let (client, made) = employ(admin, &token).await;
        assert_eq!(made.view.expires_at, Some(expires_at.0));
        if role.operates() {
            let session = admin.anonymous().log_in(&made.token).await.unwrap().0;
            former.push((format!("the session of {name}"), session));
        }
        former.push((name, client));
    }
    let left_ms = expires_at.0.saturating_sub(epoch_ms());
    let left = Duration::from_millis(left_ms);
    witness.ahead(left).await.unwrap();
    for (_, client) in &former {
        await_status(client, |status| status == 401).await;
    }
    former
}

/// Texts that look like the token of an admin.
fn forged(admin: &Client, token: &str, other: &str) -> Vec<(String, Client)> {
    let (signed, mac) = token.rsplit_once('.').unwrap();
    let (others, _) = other.rsplit_once('.').unwrap();
    let last = if mac.ends_with('A') { "B" } else { "A" };
    let turned = format!("{signed}.{}{last}", &mac[..mac.len() - 1]);
    let (id, _) = token.split_once('.').unwrap();
    let (_, secret) = others.split_once('.').unwrap();
    [
        ("another MAC", turned),
        ("the MAC of another token", format!("{others}.{mac}")),
        (
            "the secret of another token",
            format!("{id}.{secret}.{mac}"),
        ),
        ("no MAC", signed.to_owned()),
        ("the id alone", id.to_owned()),
    ]
    .map(|(what, text)| (what.to_owned(), admin.with_token(&text)))
    .into()
}

#[tokio::test]
async fn every_route_lets_in_exactly_the_roles_that_are_meant() {
    let setup = Setup::isolates(&["weur"]).witnessed();
    let workerd = setup.start().await.unwrap();
    let root = workerd.client(0).unwrap();
    workerd.apply(&policy()).await.unwrap();
    // It retires the token that the deployment came with.
    let (admin, made) = employ(&root, &request("first-admin", Role::Admin)).await;
    let staff = staff(&admin, "live").await;
    let mut nobody = vec![
        ("no credential".to_owned(), root.anonymous()),
        (
            "garbage".to_owned(),
            root.with_token(&"x".repeat(TOKEN.len())),
        ),
        ("the retired token".to_owned(), root.clone()),
    ];
    nobody.extend(forged(&admin, &made.token, &staff[0].2));
    nobody.extend(former(&admin, &workerd.witness().unwrap()).await);
    for row in Row::all() {
        for (who, client) in &nobody {
            row.assert(who, client, row.due(None)).await;
        }
        for (role, client, _) in &staff {
            row.assert(role.name(), client, row.due(Some(*role))).await;
        }
    }
    for path in NOWHERE {
        for client in nobody
            .iter()
            .map(|(_, client)| client)
            .chain(staff.iter().map(|(_, client, _)| client))
        {
            assert_eq!(client.get(path).await.unwrap().status, 404, "{path}");
        }
    }
    sessions(&root, &staff).await;
    bounded(&admin).await;
}

/// Who is bound to other tenants decides nothing for one that it may not name, whatever its role may do.
async fn bounded(admin: &Client) {
    let others = TokenRequest {
        name: "other-tenant".to_owned(),
        ..of_tenant("globex")
    };
    let elsewhere = TokenRequest {
        prefix: Some("eu:".to_owned()),
        ..request("other-prefix", Role::Service)
    };
    let own = Own::taken(admin).await;
    let mut asked = 0;
    for token in [others, elsewhere] {
        let (client, _) = employ(admin, &token).await;
        if token.role == Role::Tenant {
            let named = client.get("/v1/fairness?tenant=acme").await.unwrap();
            assert_eq!(named.status, 403, "{}", named.text());
        }
        for row in Row::all() {
            let who = &token.name;
            if let Some(body) = row.of_acme(&own) {
                row.assert_of_acme(who, &client, (&body, 403)).await;
                asked += 1;
            } else if row.due(Some(token.role)) != 200 {
                row.assert(who, &client, 403).await;
            }
        }
    }
    assert_eq!(asked, 16);
    // What was refused changed nothing: the slot is held, and the units may be settled.
    let at = |action: &str| format!("/v1/guards/{GUARD}/{action}");
    for (path, body, held) in [
        (at("renew"), json!({ "slot": own.slot }), Some(true)),
        (
            SETTLE.to_owned(),
            json!({ "reservation": own.reservation, "actual": 0 }),
            None,
        ),
        (at("release"), json!({ "slot": own.slot }), Some(false)),
    ] {
        let reply = posted(admin, &path, &body).await;
        let told: Value = reply
            .ok()
            .unwrap_or_else(|error| panic!("{path}: {error:#}"));
        assert_eq!(told["held"].as_bool(), held, "{path}: {told}");
    }
}

/// A browser's session is its token's on the operator plane, is none anywhere else, and changes nothing without the header
/// that another site's page cannot send.
async fn sessions(root: &Client, staff: &[(Role, Client, String)]) {
    for (role, _, token) in staff {
        let opened = login(&root.anonymous(), token).await;
        if !role.operates() {
            assert_eq!(opened.status, 403, "{role:?} logs in: {}", opened.text());
            continue;
        }
        assert_eq!(opened.status, 200, "{role:?}: {}", opened.text());
        let cookie = session_cookie(&opened).unwrap();
        let with = |csrf| {
            root.with(Credential::Session {
                cookie: cookie.clone(),
                csrf,
            })
        };
        let out = answered(async || with(false).log_out().await.unwrap()).await;
        assert_eq!(out.status, 403, "a page of another site logs out");
        for row in Row::all()
            .into_iter()
            .filter(|row| !ENDING.contains(&row.path.as_str()) || row.method == Method::GET)
        {
            let operator = row.path.starts_with("/operator/");
            let due = if operator {
                row.due(Some(*role))
            } else {
                row.due(None)
            };
            let who = format!("the session of {}", role.name());
            row.assert(&who, &with(true), due).await;
            let changes = row.method != Method::GET && operator && row.path != SESSION;
            let due = if changes { 403 } else { due };
            if row.path != SESSION || row.method == Method::GET {
                row.assert(&format!("{who}, forged"), &with(false), due)
                    .await;
            }
        }
        for row in Row::all()
            .into_iter()
            .filter(|row| ENDING.contains(&row.path.as_str()))
        {
            let session = root.anonymous().log_in(token).await.unwrap().0;
            let who = format!("a session of {}", role.name());
            row.assert(&who, &session, row.due(Some(*role))).await;
        }
    }
}
