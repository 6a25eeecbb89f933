//! Every route with every credential. What is meant stands here by hand: nothing is taken from the Worker's own table.

use reqwest::Method;
use serde_json::json;
use weir_shared::access::role::Role;
use weir_tests::client::{Client, Credential, session_cookie};
use weir_tests::fixtures::LIMIT;
use weir_tests::reply::Reply;
use weir_tests::workerd::{Setup, TOKEN};

use crate::security::{SESSION, employ, of_tenant, policy, request};

/// Each route with who is let in: `-` anyone, else the first letters of the roles (service, tenant, viewer, editor,
/// admin). All others are refused: nobody and garbage with 401, another role with 403.
const ROUTES: &str = "
    POST   /v1/check                                     s t a
    POST   /v1/check/batch                               s t a
    POST   /v1/reserve                                   s t a
    POST   /v1/settle                                    s t a
    POST   /v1/report                                    s a
    POST   /v1/guards/queries/acquire                    s t a
    POST   /v1/guards/queries/renew                      s t a
    POST   /v1/guards/queries/release                    s t a
    GET    /v1/fairness                                  t a
    GET    /metrics                                      v e a
    GET    /healthz                                      -
    GET    /openapi.json                                 -
    GET    /                                             -
    GET    /console                                      -
    GET    /operator/v1/policy                           v e a
    PUT    /operator/v1/policy                           e a
    POST   /operator/v1/policy/preview                   v e a
    GET    /operator/v1/tenants                          v e a
    GET    /operator/v1/tenants/acme                     v e a
    PATCH  /operator/v1/tenants/acme                     e a
    DELETE /operator/v1/tenants/acme                     e a
    GET    /operator/v1/fairness                         v e a
    GET    /operator/v1/budgets                          v e a
    GET    /operator/v1/budgets/tokens/windows           v e a
    GET    /operator/v1/regions                          v e a
    GET    /operator/v1/audit                            v e a
    GET    /operator/v1/audit/verify                     v e a
    GET    /operator/v1/audit/export                     v e a
    GET    /operator/v1/series?meter=none                v e a
    GET    /operator/v1/costs                            v e a
    GET    /operator/v1/live                             v e a
    POST   /operator/v1/reset                            e a
    GET    /operator/v1/tokens                           a
    POST   /operator/v1/tokens                           a
    DELETE /operator/v1/tokens/AAAAAAAAAAAAAAAA          a
    GET    /operator/v1/session                          v e a
    POST   /operator/v1/session                          -
    POST   /operator/v1/sessions/revoke                  a
    DELETE /operator/v1/session                          v e a
";

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

struct Row {
    method: Method,
    path: &'static str,
    letters: Vec<&'static str>,
}

impl Row {
    fn all() -> Vec<Self> {
        let lines = ROUTES.lines().filter(|line| !line.trim().is_empty());
        let row = |line: &'static str| {
            let mut words = line.split_whitespace();
            Self {
                method: words.next().unwrap().parse().unwrap(),
                path: words.next().unwrap(),
                letters: words.collect(),
            }
        };
        lines.map(row).collect()
    }

    /// What is due to a role, or with `None` to nobody: 200 for whoever is let in, whatever then becomes of the request.
    fn due(&self, role: Option<Role>) -> u16 {
        let letter = match role {
            _ if self.letters.contains(&"-") => return 200,
            None => return 401,
            Some(Role::Service) => "s",
            Some(Role::Tenant) => "t",
            Some(Role::Viewer) => "v",
            Some(Role::Editor) => "e",
            Some(Role::Admin) => "a",
        };
        if self.letters.contains(&letter) {
            200
        } else {
            403
        }
    }

    async fn ask(&self, client: &Client) -> Reply {
        let mut asked = client
            .request(self.method.clone(), self.path)
            .header("origin", client.origin());
        if self.method != Method::GET {
            asked = asked.json(&json!({ "tenant": "acme", "limit": LIMIT, "key": "k" }));
        }
        client.send(asked).await.unwrap()
    }

    async fn assert(&self, who: &str, client: &Client, due: u16) {
        let reply = self.ask(client).await;
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

#[tokio::test]
async fn every_route_lets_in_exactly_the_roles_that_are_meant() {
    let workerd = Setup::isolates(&["weur"]).start().await.unwrap();
    let root = workerd.client(0).unwrap();
    workerd.apply(&policy()).await.unwrap();
    let mut staff = Vec::new();
    for role in [Role::Service, Role::Viewer, Role::Editor] {
        let (client, made) = employ(&root, &request(role.name(), role)).await;
        staff.push((role, client, made.token));
    }
    let (client, made) = employ(&root, &of_tenant("acme")).await;
    staff.push((Role::Tenant, client, made.token));
    // Last: it retires the token that the deployment came with.
    let (client, made) = employ(&root, &request("admin", Role::Admin)).await;
    staff.push((Role::Admin, client, made.token));

    let garbage = "x".repeat(TOKEN.len());
    let nobody = [
        ("no credential", root.anonymous()),
        ("garbage", root.with_token(&garbage)),
        ("the retired token", root.clone()),
    ];
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
}

/// A browser's session is its token's on the operator plane, is none anywhere else, and changes nothing without the header
/// that another site's page cannot send.
async fn sessions(root: &Client, staff: &[(Role, Client, String)]) {
    for (role, _, token) in staff {
        let opened = root.anonymous().post_session(token).await.unwrap();
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
        let out = with(false).log_out().await.unwrap();
        assert_eq!(out.status, 403, "a page of another site logs out");
        for row in Row::all()
            .into_iter()
            .filter(|row| !ENDING.contains(&row.path) || row.method == Method::GET)
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
            .filter(|row| ENDING.contains(&row.path))
        {
            let session = root.anonymous().log_in(token).await.unwrap().0;
            let who = format!("a session of {}", role.name());
            row.assert(&who, &session, row.due(Some(*role))).await;
        }
    }
}
