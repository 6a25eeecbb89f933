//! Logins that are tried too often.

use std::time::Duration;

use weir_shared::limits::{LOGIN_ATTEMPTS_MAX, LOGIN_PERIOD_MS};
use weir_shared::wire::operator::SessionRequest;
use weir_tests::client::Client;
use weir_tests::reply::Reply;
use weir_tests::workerd::{Setup, TOKEN};

use crate::security::{POLICY, SESSION};

async fn log_in(client: &Client, address: &str, token: &str) -> Reply {
    let token = token.to_owned();
    let asked = client
        .request(reqwest::Method::POST, SESSION)
        .header("cf-connecting-ip", address)
        .json(&SessionRequest { token });
    client.send(asked).await.unwrap()
}

#[tokio::test]
async fn an_address_that_tries_too_many_logins_waits_whatever_token_it_brings() {
    let workerd = Setup::isolates(&["weur", "weur"])
        .witnessed()
        .start()
        .await
        .unwrap();
    let clients: Vec<Client> = workerd
        .clients()
        .unwrap()
        .iter()
        .map(Client::anonymous)
        .collect();
    let (guesser, operator) = ("203.0.113.9", "203.0.113.10");
    let mut refused = 0;
    let limited = loop {
        // From two isolates in turn: the count is the region's.
        let client = &clients[refused as usize % 2];
        let reply = log_in(client, guesser, &format!("guess-{refused}")).await;
        if reply.status == 429 {
            break reply;
        }
        assert_eq!(reply.status, 401, "{}\n{}", reply.text(), workerd.log());
        refused += 1;
        assert!(refused <= LOGIN_ATTEMPTS_MAX + 5, "no end of guesses");
    };
    assert!(refused >= LOGIN_ATTEMPTS_MAX / 2, "{refused} were tried");
    let problem = limited.problem().unwrap();
    assert_eq!(problem.status, 429);
    let after_s: u64 = limited
        .header("retry-after")
        .expect("a time")
        .parse()
        .unwrap();
    assert!(
        (1..=LOGIN_PERIOD_MS / 1_000).contains(&after_s),
        "{after_s}"
    );

    // The right token neither helps whoever guesses, nor is it kept from anyone else.
    assert_eq!(log_in(&clients[0], guesser, TOKEN).await.status, 429);
    assert_eq!(log_in(&clients[0], operator, TOKEN).await.status, 200);
    let bearer = workerd.client(0).unwrap();
    assert_eq!(bearer.get(POLICY).await.unwrap().status, 200);

    let witness = workerd.witness().unwrap();
    witness
        .ahead(Duration::from_secs(after_s + 1))
        .await
        .unwrap();
    assert_eq!(log_in(&clients[0], guesser, TOKEN).await.status, 200);
}

#[tokio::test]
async fn one_network_of_ipv6_counts_as_one_client() {
    let workerd = Setup::isolates(&["weur"]).start().await.unwrap();
    let client = workerd.client(0).unwrap().anonymous();
    let mut last = 0;
    for host in 0..=LOGIN_ATTEMPTS_MAX {
        last = log_in(&client, &format!("2001:db8:1:2::{host:x}"), "guess")
            .await
            .status;
    }
    assert_eq!(last, 429);
    assert_eq!(log_in(&client, "2001:db8:1:3::1", TOKEN).await.status, 200);
}
