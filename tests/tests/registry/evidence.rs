//! Nobody blinds the audit log or pushes its records out: what one does often is summed up, beside everybody else's.

use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use weir_shared::limits::{
    AUDIT_ANONYMOUS_IN_FULL_PER_DAY_MAX, AUDIT_IN_FULL_PER_DAY_MAX, AUDIT_ROOT_ACTORS,
    AUDIT_SUMMARY_MS, POLICIES_PER_DAY_MAX,
};
use weir_shared::wire::audit::AuditOutcome;
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::fixtures::LIMIT;
use weir_tests::workerd::Workerd;

use super::{
    SETTLING, answered, between_runs, document, employed, make_token, post_token, records, refused,
    revoke, service, start, verdict,
};

const IN_FULL_MAX: usize = AUDIT_IN_FULL_PER_DAY_MAX as usize;

/// An editor of that name, and the id of its token.
async fn editor(root: &Client, name: &str) -> (Client, String) {
    let token = json!({ "name": name, "role": "editor" });
    let made = make_token(root, &token).await.unwrap();
    (employed(root, &made).await, made.view.id)
}

/// Puts the states of so many keys back to their start. How often a busy machine had no time for it: it is asked again then, and
/// either may be recorded.
async fn reset(client: &Client, keys: usize) -> usize {
    let mut unanswered = 0;
    for key in 0..keys {
        let begun = now();
        let body = json!({ "limit": LIMIT, "key": format!("key-{key}") });
        loop {
            let done = client.post("/operator/v1/reset", &body).await.unwrap();
            if done.status == 200 {
                break;
            }
            let waits = done.status == 503 && begun.elapsed() < SETTLING;
            assert!(waits, "{}", done.text());
            unanswered += 1;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    unanswered
}

/// Makes the summaries as old as those that are due.
async fn age_summaries(workerd: &mut Workerd) {
    let age = format!("UPDATE audit_summaries SET since = since - {AUDIT_SUMMARY_MS}");
    between_runs(workerd, |rows| rows.execute(&age, []).unwrap()).await;
}

/// How many records each summary stands for that is not in the log yet.
async fn pending(workerd: &mut Workerd) -> Vec<i64> {
    let counts = "SELECT json_extract(body, '$.count') FROM audit_summaries";
    between_runs(workerd, |rows| {
        let mut rows = rows.prepare(counts).unwrap();
        let counts = rows.query_map([], |row| row.get(0)).unwrap();
        counts.collect::<Result<_, _>>().unwrap()
    })
    .await
}

/// How many records the one summary stands for that is not in the log yet: so many, and as many more as were not answered.
async fn pending_one(workerd: &mut Workerd, answered: usize, unanswered: usize) -> i64 {
    let counts = pending(workerd).await;
    let bounds = answered as i64..=(answered + unanswered) as i64;
    assert!(
        counts.len() == 1 && bounds.contains(&counts[0]),
        "{counts:?}"
    );
    counts[0]
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_logins_of_strangers_do_not_hide_what_an_editor_is_refused() {
    let mut workerd = start().await;
    let root = workerd.client(0).unwrap();
    let (mallory, id) = editor(&root, "mallory").await;
    for _ in 0..200 {
        let stranger = root.anonymous();
        let login = answered(async || stranger.post_session("weir_nobody").await).await;
        let status = login.status;
        assert!([401, 429].contains(&status), "{status}");
    }
    let wanted = json!({ "name": "mine", "role": "admin" });
    let escalation = post_token(&mallory, &wanted).await.unwrap();
    assert_eq!(escalation.status, 403);
    let record = refused(&root, "&actor=mallory", 1).await.remove(0);
    assert_eq!(record.action, "token.create");
    assert_eq!(record.token, Some(id));
    let logins = "&outcome=refused&action=session.open";
    let in_full = records(&root, logins).await.unwrap();
    let max = AUDIT_ANONYMOUS_IN_FULL_PER_DAY_MAX as usize;
    assert!(in_full.len() <= max, "{}", in_full.len());
    age_summaries(&mut workerd).await;
    let all = records(&root, logins).await.unwrap();
    // At most one more: of those that were told to the registry, none is lost.
    assert!(all.len() <= in_full.len() + 1, "{}", all.len());
    let told: u64 = all
        .iter()
        .map(|record| record.after["summed_up"].as_u64().unwrap_or(1))
        .sum();
    assert!(told > max as u64 || in_full.len() < max, "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_editor_pushes_nothing_out_of_the_log_and_nothing_it_does_is_lost() {
    let mut workerd = start().await;
    let root = workerd.client(0).unwrap();
    let (mallory, id) = editor(&root, "mallory").await;
    let (ada, _) = editor(&root, "ada").await;
    let more = 60;
    let unanswered = reset(&mallory, IN_FULL_MAX + more).await;
    let resets = "&action=state.reset&actor=mallory";
    assert_eq!(records(&root, resets).await.unwrap().len(), IN_FULL_MAX);
    // Who does little is recorded as ever.
    let twice = reset(&ada, 1).await;
    let of_ada = records(&root, "&action=state.reset&actor=ada").await;
    assert!((1..=1 + twice).contains(&of_ada.unwrap().len()));

    // Nothing of it is in memory alone.
    let more = pending_one(&mut workerd, more, unanswered).await;
    age_summaries(&mut workerd).await;
    let all = records(&root, resets).await.unwrap();
    assert_eq!(all.len(), IN_FULL_MAX + 1);
    let summary = &all[0];
    assert_eq!(summary.after["summed_up"], more);
    assert_eq!(summary.token, Some(id));
    assert_eq!(summary.outcome, AuditOutcome::Done);
    assert_eq!(summary.after["targets"], json!([all[1].target]));
    let verdict = verdict(&root).await.unwrap();
    assert!(verdict.intact, "{verdict:?}");
}

/// Nobody has to look at the log for it to stay bounded.
#[tokio::test(flavor = "multi_thread")]
async fn a_summary_that_is_due_is_one_record_and_takes_nothing_more() {
    let mut workerd = start().await;
    let root = workerd.client(0).unwrap();
    let (mallory, _) = editor(&root, "mallory").await;
    let unanswered = reset(&mallory, IN_FULL_MAX + 5).await;
    let due = pending_one(&mut workerd, 5, unanswered).await;
    age_summaries(&mut workerd).await;
    let unanswered = reset(&mallory, 3).await;
    pending_one(&mut workerd, 3, unanswered).await;
    let resets = records(&root, "&action=state.reset&actor=mallory").await;
    let resets = resets.unwrap();
    assert_eq!(resets.len(), IN_FULL_MAX + 1);
    assert_eq!(resets[0].after["summed_up"], due);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_live_tokens_never_have_one_name_in_the_log() {
    let workerd = start().await;
    let root = workerd.client(0).unwrap();
    let ada = make_token(&root, &service("ada")).await.unwrap();
    let wanted = json!({ "name": "ada", "role": "editor" });
    let taken = post_token(&root, &wanted).await.unwrap();
    assert_eq!(taken.status, 409, "{}", taken.text());
    assert!(taken.text().contains("\\\"ada\\\""), "{}", taken.text());
    for (weirs, status) in [("bootstrap", 400), ("deployment", 409)] {
        let taken = post_token(&root, &service(weirs)).await.unwrap();
        assert_eq!(taken.status, status, "{weirs}: {}", taken.text());
    }
    // A name is free again when nobody has it.
    assert_eq!(revoke(&root, &ada.view.id).await.unwrap().status, 204);
    assert_eq!(post_token(&root, &wanted).await.unwrap().status, 201);
}

/// Nobody has more room in the log by making itself many: what all have in common is who made them.
#[tokio::test(flavor = "multi_thread")]
async fn tokens_that_one_admin_made_share_one_allowance_in_the_log() {
    let mut workerd = start().await;
    let root = workerd.client(0).unwrap();
    let wanted = json!({ "name": "ada", "role": "admin" });
    let ada = make_token(&root, &wanted).await.unwrap();
    let ada_client = employed(&root, &ada).await;
    // One is made by an admin in between, who is gone by then.
    let wanted = json!({ "name": "between", "role": "admin" });
    let between = make_token(&ada_client, &wanted).await.unwrap();
    let (first, _) = editor(&employed(&root, &between).await, "editor-1").await;
    let gone = revoke(&ada_client, &between.view.id).await.unwrap();
    assert_eq!(gone.status, 204);
    let (second, _) = editor(&ada_client, "editor-2").await;
    let (third, _) = editor(&ada_client, "editor-3").await;
    let shared = IN_FULL_MAX * AUDIT_ROOT_ACTORS as usize;
    // No one but the last comes near its own allowance, also where a few are recorded twice.
    let unanswered = reset(&first, IN_FULL_MAX - 20).await
        + reset(&second, shared - IN_FULL_MAX - 20).await
        + reset(&third, 60).await;
    let resets = "&action=state.reset";
    let in_full = records(&ada_client, resets).await;
    assert_eq!(in_full.unwrap().len(), shared);
    // Who made them has an allowance of its own, as everyone has whom the deployment let in.
    let twice = reset(&ada_client, 1).await;
    let own = records(&ada_client, "&action=state.reset&actor=ada").await;
    assert!((1..=1 + twice).contains(&own.unwrap().len()));
    // The rest is one record, which says whose it is.
    let rest = pending_one(&mut workerd, 20, unanswered).await;
    age_summaries(&mut workerd).await;
    let all = records(&ada_client, "&action=state.reset&actor=tokens+of+ada").await;
    let all = all.unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].token, Some(ada.view.id));
    assert_eq!(all[0].after["summed_up"], rest);
    assert_eq!(all[0].after["actors"], json!({ "editor-3": rest }));
    assert!(verdict(&ada_client).await.unwrap().intact);
}

/// A row that cannot be read is told in the log; what is summed up after it is summed up beside it.
#[tokio::test(flavor = "multi_thread")]
async fn a_summary_that_is_damaged_is_told_and_never_written_over() {
    let mut workerd = start().await;
    let root = workerd.client(0).unwrap();
    let (mallory, _) = editor(&root, "mallory").await;
    reset(&mallory, IN_FULL_MAX + 5).await;
    between_runs(&mut workerd, |rows| {
        let damage = "UPDATE audit_summaries SET body = 'not a summary'";
        assert_eq!(rows.execute(damage, []).unwrap(), 1);
    })
    .await;
    let unanswered = reset(&mallory, 3).await;
    let resets = "&action=state.reset&actor=mallory";
    let told = records(&root, resets).await.unwrap().remove(0);
    assert!(told.after["damaged"].is_string(), "{}", told.after);
    assert_eq!(told.after["row"], "not a summary");
    pending_one(&mut workerd, 3, unanswered).await;
    assert!(verdict(&root).await.unwrap().intact);
}

/// What an actor did often hides nothing that it did of another kind.
#[tokio::test(flavor = "multi_thread")]
async fn harmless_acts_do_not_hide_what_the_policy_became() {
    let workerd = start().await;
    let root = workerd.client(0).unwrap();
    let (mallory, id) = editor(&root, "mallory").await;
    reset(&mallory, IN_FULL_MAX + 1).await;
    let mut wanted = document();
    wanted["trusted_proxies"] = json!(["203.0.113.0/24"]);
    for tenant in 0..400 {
        wanted["tenants"][format!("tenant-{tenant}")] = json!({ "weight": 5 });
    }
    mallory.save_policy(&wanted).await.unwrap();
    let saves = "&action=policy.save&actor=mallory";
    let saved = records(&root, saves).await.unwrap().remove(0);
    assert_eq!(saved.token, Some(id));
    let values = &saved.after["values"];
    assert_eq!(values["/trusted_proxies"], wanted["trusted_proxies"]);
    assert_eq!(values["/tenants/tenant-0"]["weight"], 5);
    let rest = values["/tenants"]["values"].as_u64().unwrap();
    assert!(rest > 0 && rest < 400, "{rest}");
}

/// A sum does not say what a policy was: one that would only be counted is not saved.
#[tokio::test(flavor = "multi_thread")]
async fn no_policy_is_saved_that_the_log_would_not_tell() {
    let mut workerd = start().await;
    let root = workerd.client(0).unwrap();
    let (mallory, _) = editor(&root, "mallory").await;
    mallory.save_policy(&document()).await.unwrap();
    // As many as a day may have, all of them within the last minute.
    let more = POLICIES_PER_DAY_MAX - 1;
    between_runs(&mut workerd, |rows| {
        let copy = "INSERT INTO audit (sequence, at, actor, action, outcome) \
             SELECT ?1, at, actor, action, outcome FROM audit WHERE actor = 'mallory' AND action = 'policy.save' LIMIT 1";
        for number in 0..more {
            rows.execute(copy, [1_000 + number as i64]).unwrap();
        }
    })
    .await;
    let mut wanted = document();
    wanted["tenants"]["newcomer"] = json!({ "weight": 5 });
    let refused = answered(async || mallory.put_policy(&wanted, Some("*")).await);
    let refused = refused.await;
    assert_eq!(refused.status, 429, "{}", refused.text());
    let after: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((86_000..=86_400).contains(&after), "{after}");
    let (ada, _) = editor(&root, "ada").await;
    ada.save_policy(&wanted).await.unwrap();
}

/// Nor is a tenant changed, or removed, of which the log would only say that it was one of many.
#[tokio::test(flavor = "multi_thread")]
async fn no_tenant_is_changed_or_removed_that_the_log_would_not_tell() {
    let mut workerd = start().await;
    let root = workerd.client(0).unwrap();
    let (mallory, _) = editor(&root, "mallory").await;
    let tenant = "/operator/v1/tenants/acme";
    let asked = async |method: Method, client: &Client| {
        let ask = async || {
            let asked = client
                .request(method.clone(), tenant)
                .header("if-match", "*");
            let asked = match method {
                Method::PATCH => asked.json(&json!({ "weight": 5 })),
                _ => asked,
            };
            client.send(asked).await
        };
        answered(ask).await.status
    };
    assert_eq!(asked(Method::PATCH, &mallory).await, 200);
    assert!([200, 204].contains(&asked(Method::DELETE, &mallory).await));
    // As many as a day may have, all of them within the last minute.
    between_runs(&mut workerd, |rows| {
        let copy = "INSERT INTO audit (sequence, at, actor, action, outcome) \
             SELECT ?1, at, actor, action, outcome FROM audit WHERE actor = 'mallory' AND action = ?2 LIMIT 1";
        for (number, action) in (0..POLICIES_PER_DAY_MAX - 1)
            .flat_map(|number| [(2 * number, "tenant.patch"), (2 * number + 1, "tenant.delete")])
        {
            rows.execute(copy, (1_000 + number as i64, action)).unwrap();
        }
    })
    .await;
    assert_eq!(asked(Method::PATCH, &mallory).await, 429);
    let (ada, _) = editor(&root, "ada").await;
    assert_eq!(asked(Method::PATCH, &ada).await, 200);
    assert_eq!(asked(Method::DELETE, &mallory).await, 429);
}
