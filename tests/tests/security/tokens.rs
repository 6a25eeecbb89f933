//! Tokens: whole or nothing, told from garbage without a call, revoked for good, and the one that the deployment came with.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use weir_shared::wire::access::TokenReply;
use weir_shared::wire::role::Role;
use weir_tests::client::{Client, Credential, session_cookie};
use weir_tests::clock;
use weir_tests::fixtures::{BUDGET, LIMIT};
use weir_tests::reply::Reply;
use weir_tests::witness::{Fault, Seen, Witness};
use weir_tests::workerd::{Setup, TOKEN, Workerd};

use crate::security::{
    CHECK, FAIRNESS, POLICY, RECORDED, TOKENS, answered, await_status, employ, got, login,
    of_tenant, one_isolate, policy, posted, read, request, revoke,
};

#[tokio::test]
async fn a_token_counts_only_whole_and_as_a_bearer_token() {
    let (_workerd, client) = one_isolate().await;
    let upper = TOKEN.to_uppercase();
    let longer = format!("{TOKEN}x");
    for wrong in [
        "",
        " ",
        &TOKEN[1..],
        &TOKEN[..TOKEN.len() - 1],
        &longer,
        &upper,
    ] {
        let status = read(&client.with_token(wrong)).await;
        assert_eq!(status, 401, "token {wrong:?}");
        let status = login(&client, wrong).await.status;
        assert_eq!(status, 401, "login with {wrong:?}");
    }
    let anonymous = client.anonymous();
    let schemes = [
        (format!("Bearer {TOKEN}"), 200),
        (format!("bearer {TOKEN}"), 200),
        (format!("Basic {TOKEN}"), 401),
        (TOKEN.to_owned(), 401),
        (format!("Bearer {TOKEN}, Bearer {TOKEN}"), 401),
    ];
    for (value, status) in schemes {
        let ask = async || {
            let request = anonymous.request(Method::GET, POLICY);
            let request = request.header("authorization", &value);
            anonymous.send(request).await.unwrap()
        };
        assert_eq!(answered(ask).await.status, status, "Authorization: {value}");
    }
    let in_the_address = anonymous
        .get(&format!("{POLICY}?token={TOKEN}&access_token={TOKEN}"))
        .await
        .unwrap();
    assert_eq!(in_the_address.status, 401);
}

#[tokio::test]
async fn without_a_long_enough_admin_token_everything_is_refused() {
    let short = "s".repeat(31);
    for token in [None, Some(""), Some(short.as_str())] {
        let workerd = Setup::isolates(&["weur"])
            .token(token)
            .start()
            .await
            .unwrap();
        let client = workerd.client(0).unwrap();
        let given = client.with_token(token.unwrap_or_default());
        let check = json!({ "limit": LIMIT, "key": "k" });
        let replies: [Reply; 5] = [
            got(&given, POLICY).await,
            got(&given, FAIRNESS).await,
            given.put_policy(&json!({}), Some("\"1\"")).await.unwrap(),
            posted(&given, CHECK, &check).await,
            login(&given, token.unwrap_or_default()).await,
        ];
        for reply in replies {
            assert_eq!(
                reply.status,
                401,
                "with the token {token:?}: {}",
                reply.text()
            );
            reply.problem().unwrap();
        }
        assert_eq!(client.get("/healthz").await.unwrap().status, 200);
    }
    let just_enough = &TOKEN[..32];
    let workerd = Setup::isolates(&["weur"])
        .token(Some(just_enough))
        .start()
        .await
        .unwrap();
    assert_eq!(read(&workerd.client(0).unwrap()).await, 200);
}

/// Texts that are no token of the deployment, made from one that is.
fn forgeries(token: &str) -> Vec<String> {
    let mut forged: Vec<String> = (0..token.len())
        .map(|at| {
            let mut bytes = token.as_bytes().to_vec();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            String::from_utf8(bytes).unwrap()
        })
        .collect();
    let (body, mac) = token.rsplit_once('.').unwrap();
    forged.extend([
        token[..token.len() - 1].to_owned(),
        format!("{token}A"),
        format!("{token}="),
        format!("{token}.{mac}"),
        body.to_owned(),
        format!("{body}."),
        token.to_uppercase(),
        token.trim_start_matches("weir_").to_owned(),
        format!("weir_{}", "A".repeat(10_000)),
        "weir_..".to_owned(),
    ]);
    forged
}

/// What the witness saw once nothing runs in the background any more.
async fn quiet(witness: &Witness) -> Seen {
    let start = clock::now();
    let mut seen = witness.seen().await.unwrap();
    loop {
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        let later = witness.seen().await.unwrap();
        if later == seen {
            return seen;
        }
        assert!(
            start.elapsed() < Duration::from_secs(40),
            "no rest: {later:?}"
        );
        seen = later;
    }
}

#[tokio::test]
async fn forged_cut_and_foreign_tokens_are_refused_without_a_call_of_any_object() {
    let workerd = Setup::isolates(&["weur"])
        .witnessed()
        .start()
        .await
        .unwrap();
    let client = workerd.client(0).unwrap();
    let (_, made) = employ(&client, &request("backend", Role::Service)).await;
    let elsewhere = Setup::isolates(&["weur"])
        .token(Some("another-token-of-the-tests-7654321"))
        .start()
        .await
        .unwrap();
    let foreign = elsewhere.client(0).unwrap();
    let foreign = foreign
        .make_token(&request("backend", Role::Service))
        .await
        .unwrap();
    let mut forged = forgeries(&made.token);
    forged.push(foreign.token);

    let witness = workerd.witness().unwrap();
    let before = quiet(&witness).await;
    let body = json!({ "limit": LIMIT, "key": "k" });
    for token in &forged {
        let refused = client.with_token(token);
        let decided = refused.post(CHECK, &body).await.unwrap();
        assert_eq!(decided.status, 401, "{token:.120}");
        assert_eq!(
            refused.get(POLICY).await.unwrap().status,
            401,
            "{token:.120}"
        );
    }
    for value in [
        "",
        "x",
        "99999999999999.bootstrap.AAAA",
        "99999999999999.AAAAAAAAAAAAAAAA.AAAA",
    ] {
        let cookie = format!("weir_session={value}");
        let forged = client.with(Credential::Session { cookie, csrf: true });
        assert_eq!(forged.get(POLICY).await.unwrap().status, 401, "{value}");
    }
    assert_eq!(witness.seen().await.unwrap().calls, before.calls);
    assert!(
        !workerd.log().contains(&made.token),
        "a token is in the log"
    );
}

#[tokio::test]
async fn a_revoked_token_opens_nothing_in_any_isolate_and_its_sessions_end() {
    let workerd = Setup::isolates(&["weur", "weur", "apac"])
        .start()
        .await
        .unwrap();
    let clients = workerd.clients().unwrap();
    let root = &clients[0];
    let (_, viewer) = employ(root, &request("viewer", Role::Viewer)).await;
    let (_, other) = employ(root, &request("other", Role::Viewer)).await;
    let opened = login(&root.anonymous(), &viewer.token).await;
    let cookie = session_cookie(&opened).unwrap();
    let holders: Vec<Client> = clients
        .iter()
        .flat_map(|client| {
            let cookie = cookie.clone();
            let session = Credential::Session { cookie, csrf: true };
            [client.with_token(&viewer.token), client.with(session)]
        })
        .collect();
    for holder in &holders {
        await_status(holder, |status| status == 200).await;
    }
    revoke(root, &viewer.view.id).await;
    for holder in &holders {
        await_status(holder, |status| status == 401).await;
    }
    let path = format!("{TOKENS}/{}", viewer.view.id);
    let again = async || {
        let asked = root.request(Method::DELETE, &path);
        root.send(asked).await.unwrap()
    };
    let again = answered(again).await;
    assert_eq!(again.status, 404, "{}", again.text());
    for client in &clients {
        await_status(&client.with_token(&other.token), |status| status == 200).await;
    }
}

#[tokio::test]
async fn the_bootstrap_token_is_refused_once_there_is_another_admin() {
    let (workerd, root) = one_isolate().await;
    let opened = login(&root.anonymous(), TOKEN).await;
    let cookie = session_cookie(&opened).unwrap();
    let session = root.with(Credential::Session { cookie, csrf: true });
    // Others' tokens leave it in force.
    let (_, _) = employ(&root, &request("viewer", Role::Viewer)).await;
    let (_, _) = employ(&root, &request("editor", Role::Editor)).await;
    assert_eq!(read(&root).await, 200);
    assert_eq!(read(&session).await, 200);

    let (admin, made) = employ(&root, &request("admin", Role::Admin)).await;
    await_status(&root, |status| status == 401).await;
    await_status(&session, |status| status == 401).await;
    let check = json!({ "limit": LIMIT, "key": "k" });
    for reply in [
        posted(&root, CHECK, &check).await,
        answered(async || root.put_policy(&json!({}), Some("*")).await.unwrap()).await,
        posted(&root, TOKENS, &request("more", Role::Admin)).await,
        login(&root, TOKEN).await,
    ] {
        assert_eq!(reply.status, 401, "{}", reply.text());
    }
    assert_eq!(read(&admin).await, 200);

    // The last admin's token gives the deployment back to whoever holds its secret.
    revoke(&admin, &made.view.id).await;
    await_status(&root, |status| status == 200).await;
    assert!(!workerd.log().contains(TOKEN), "the token is in the log");
}

#[tokio::test]
async fn a_deployment_that_says_so_lets_the_bootstrap_token_in_beside_other_admins() {
    let workerd = Setup::isolates(&["weur"])
        .variable("WEIR_BOOTSTRAP_REARM", "1")
        .start()
        .await
        .unwrap();
    let root = workerd.client(0).unwrap();
    let (admin, _) = employ(&root, &request("admin", Role::Admin)).await;
    for client in [&root, &admin] {
        assert_eq!(read(client).await, 200);
    }
    assert_eq!(login(&root, TOKEN).await.status, 200);
}

#[tokio::test]
async fn what_the_bootstrap_token_does_is_in_the_audit_log() {
    let (_workerd, root) = one_isolate().await;
    assert_eq!(login(&root, TOKEN).await.status, 200);
    let (viewer, _) = employ(&root, &request("viewer", Role::Viewer)).await;
    let start = clock::now();
    loop {
        let log: Value = got(&viewer, "/operator/v1/audit").await.ok().unwrap();
        let of_bootstrap: Vec<&str> = log["records"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|record| record["actor"] == "bootstrap")
            .map(|record| record["action"].as_str().unwrap())
            .collect();
        let due = ["session.open", "token.create", "bootstrap.use"];
        if due.iter().all(|action| of_bootstrap.contains(action)) {
            return;
        }
        assert!(start.elapsed() < RECORDED, "{log}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn an_isolate_that_starts_while_the_registry_is_down_knows_every_token() {
    let mut workerd = Setup::isolates(&["weur"])
        .witnessed()
        .start()
        .await
        .unwrap();
    workerd.apply(&policy()).await.unwrap();
    let root = workerd.client(0).unwrap();
    let (tenant, made) = employ(&root, &of_tenant("acme")).await;
    workerd.restart().await.unwrap();
    let witness = workerd.witness().unwrap();
    for call in ["Registry/read", "Registry/save"] {
        witness.fault(call, Fault::Refuse, 1_000).await.unwrap();
    }
    let check = json!({ "budget": BUDGET, "cost": 1 });
    let decided = posted(&tenant, CHECK, &check).await;
    assert_eq!(decided.status, 200, "{}", decided.text());
    for forged in forgeries(&made.token).into_iter().take(3) {
        let refused = tenant.with_token(&forged);
        assert_eq!(posted(&refused, CHECK, &check).await.status, 401);
    }
}

#[tokio::test]
async fn a_tokens_text_is_shown_once_and_kept_nowhere() {
    let (workerd, root) = one_isolate().await;
    let (_, made): (_, TokenReply) = employ(&root, &request("viewer", Role::Viewer)).await;
    let listed = got(&root, TOKENS).await;
    assert_eq!(listed.status, 200, "{}", listed.text());
    assert!(listed.text().contains(&made.view.id), "{}", listed.text());
    let secret = made.token.split('.').nth(1).unwrap();
    for kept in [
        listed.text(),
        got(&root, "/operator/v1/audit").await.text(),
        workerd.log(),
    ] {
        assert!(!kept.contains(secret), "the secret is in {kept:.300}");
    }
    assert!(
        !stored(&workerd)
            .windows(secret.len())
            .any(|bytes| bytes == secret.as_bytes())
    );
}

/// Every byte that the objects have written.
fn stored(workerd: &Workerd) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut folders = vec![workerd.disk()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                bytes.extend(std::fs::read(path).unwrap());
            }
        }
    }
    assert!(!bytes.is_empty(), "nothing is stored");
    bytes
}

#[tokio::test]
async fn a_change_that_a_role_does_not_permit_is_in_the_audit_log() {
    let (_workerd, root) = one_isolate().await;
    let (viewer, _) = employ(&root, &request("viewer", Role::Viewer)).await;
    let path = "/operator/v1/tenants/acme";
    let ask = async || {
        let asked = viewer.request(Method::DELETE, path);
        viewer.send(asked).await.unwrap()
    };
    let refused = answered(ask).await;
    assert_eq!(refused.status, 403, "{}", refused.text());
    let start = clock::now();
    loop {
        let log: Value = got(&root, "/operator/v1/audit").await.ok().unwrap();
        let is_it = |record: &Value| {
            record["actor"] == "viewer"
                && record["action"] == "tenant.delete"
                && record["target"] == "acme"
                && record["outcome"] == "refused"
        };
        if log["records"].as_array().unwrap().iter().any(is_it) {
            return;
        }
        assert!(start.elapsed() < RECORDED, "{log}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
