//! Logins that are tried too often.

use std::net::Ipv4Addr;
use std::slice::from_ref;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use weir_shared::limits::{
    BOOTSTRAP_ACCOUNT_BYTES, GUESSES_MAX, LOGIN_ATTEMPTS_MAX, LOGIN_CALLS_MAX, LOGIN_PERIOD_MS,
    LOGIN_QUEUE_MS_MAX, LOGIN_WAITERS_MAX, LOGINS_PER_SEC_MAX,
};
use weir_shared::ordered::OrderedMap;
use weir_shared::wire::operator::SessionRequest;
use weir_tests::client::Client;
use weir_tests::clock;
use weir_tests::reply::Reply;
use weir_tests::watch::Watch;
use weir_tests::workerd::{Setup, TOKEN};

use weir_shared::wire::role::Role;

use crate::security::{ANSWERED, POLICY, SESSION, answered, employ, read, request};

/// A guess by one who has seen how the bootstrap secret begins.
fn begun(number: u64) -> String {
    format!("{}-{number}", &TOKEN[..BOOTSTRAP_ACCOUNT_BYTES])
}

/// An attempt that was used up comes back after so long.
const BACK_S: u64 = LOGIN_PERIOD_MS / 1_000 / LOGIN_ATTEMPTS_MAX;

/// By when a machine has been quick enough once to see what is answered before an attempt comes back.
const SHUT_DEADLINE: Duration = Duration::from_secs(120);

/// Bearer tokens that are tried at once.
const AT_ONCE: u64 = 50;

/// Guesses of a flood: three times as many as a queue looks at in the time that it lasts.
const GUESSES: u64 = 3 * LOGINS_PER_SEC_MAX * LOGIN_QUEUE_MS_MAX / 1_000;

/// What a login is answered, once attempts can be counted.
async fn log_in(client: &Client, address: &str, token: &str) -> Reply {
    let ask = async || {
        let token = token.to_owned();
        let asked = client
            .request(reqwest::Method::POST, SESSION)
            .header("cf-connecting-ip", address)
            .json(&SessionRequest { token });
        client.send(asked).await.unwrap()
    };
    answered(ask).await
}

/// What a login is answered right after guesses have used up its line, before an attempt comes back; and after how many
/// seconds one does, as the last guess was told.
async fn shut(guess: impl AsyncFn() -> Reply, login: impl AsyncFn() -> u16) -> (u16, u64) {
    let begun = clock::now();
    loop {
        let asked = clock::now();
        let refused = guess().await;
        let after_s = refused.header("retry-after");
        let after_s: u64 = after_s.map_or(0, |text| text.parse().expect("a time"));
        if refused.status == 429 && after_s >= BACK_S {
            let status = login().await;
            // Later than that an attempt may have come back.
            if asked.elapsed() < Duration::from_secs(BACK_S - 1) {
                return (status, after_s);
            }
        }
        assert!(begun.elapsed() < SHUT_DEADLINE, "{}", refused.status);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
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
        let reply = log_in(client, guesser, &begun(refused)).await;
        if reply.status == 429 {
            break reply;
        }
        assert_eq!(reply.status, 401, "{}\n{}", reply.text(), workerd.log());
        refused += 1;
        // Attempts come back as time passes, on a busy machine some while they are made.
        assert!(refused <= 2 * LOGIN_ATTEMPTS_MAX, "no end of guesses");
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
    let guess = async || log_in(&clients[0], guesser, &begun(refused)).await;
    let login = async || log_in(&clients[0], guesser, TOKEN).await.status;
    let (status, after_s) = shut(guess, login).await;
    assert_eq!(status, 429);
    assert_eq!(log_in(&clients[0], operator, TOKEN).await.status, 200);
    let bearer = workerd.client(0).unwrap();
    assert_eq!(read(&bearer).await, 200);

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
    // As above: attempts come back as time passes.
    for host in 0..=2 * LOGIN_ATTEMPTS_MAX {
        last = log_in(&client, &format!("2001:db8:1:2::{host:x}"), "guess")
            .await
            .status;
        if last == 429 {
            break;
        }
    }
    assert_eq!(last, 429);
    assert_eq!(log_in(&client, "2001:db8:1:3::1", TOKEN).await.status, 200);
}

/// What a login is answered, once attempts can be counted.
async fn status(client: &Client, token: &str) -> u16 {
    let begun = clock::now();
    loop {
        let status = status_once(client, token).await;
        if status != 503 || begun.elapsed() > ANSWERED {
            return status;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// What a login is answered. A connection that a busy machine resets has told nobody anything: it is made again.
async fn status_once(client: &Client, token: &str) -> u16 {
    for _ in 0..10 {
        if let Ok(reply) = client.post_session(token).await {
            return reply.status;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("no login is answered");
}

/// Strangers try until they are told to wait, each attempt from an address that it makes up.
async fn flood(client: &Client) -> u64 {
    for attempt in 0..2 * LOGIN_ATTEMPTS_MAX {
        let address = format!("203.0.113.{attempt}");
        if log_in(client, &address, &format!("guess-{attempt}"))
            .await
            .status
            == 429
        {
            return attempt;
        }
    }
    panic!("no end of guesses");
}

#[tokio::test]
async fn strangers_lock_nobody_out_where_no_address_is_known() {
    let setup = Setup::isolates(&["weur"]).variable("WEIR_CLIENT_ADDRESS", "none");
    let workerd = setup.start().await.unwrap();
    let root = workerd.client(0).unwrap();
    assert_eq!(
        status(&root.anonymous(), TOKEN).await,
        200,
        "the first admin"
    );
    let (_, ada) = employ(&root, &request("ada", Role::Admin)).await;
    let guesses = flood(&root.anonymous()).await;
    assert!(guesses >= LOGIN_ATTEMPTS_MAX / 2, "{guesses}");
    let stranger = root.anonymous();
    let guess = async || log_in(&stranger, "203.0.113.99", "guess").await;
    let another = async || status(&stranger, "another guess").await;
    assert_eq!(shut(guess, another).await.0, 429);
    assert_eq!(status(&root.anonymous(), &ada.token).await, 200);
    // Her own line has an end, too, and it is hers alone.
    let mut last = 200;
    for _ in 0..=2 * LOGIN_ATTEMPTS_MAX {
        last = status(&root.anonymous(), &ada.token).await;
        if last == 429 {
            break;
        }
    }
    assert_eq!(last, 429);
    let (_, bob) = employ(&root.with_token(&ada.token), &request("bob", Role::Viewer)).await;
    assert_eq!(status(&root.anonymous(), &bob.token).await, 200);
}

#[tokio::test]
async fn a_flood_of_guesses_keeps_no_admin_out_for_longer_than_the_queue_lasts() {
    for known in ["cloudflare", "none"] {
        let setup = Setup::isolates(&["weur"]).variable("WEIR_CLIENT_ADDRESS", known);
        let workerd = setup.start().await.unwrap();
        let root = workerd.client(0).unwrap();
        let (_, ada) = employ(&root, &request("ada", Role::Viewer)).await;
        let client = root.anonymous();
        let longest = Duration::from_millis(LOGIN_QUEUE_MS_MAX) + Duration::from_secs(3);
        let started = clock::now();
        // Each from an address that it makes up, from one, and from none.
        let flood = join_all((0..GUESSES).map(async |guess| {
            let address = match guess % 6 {
                0..4 => format!("198.51.100.{guess}"),
                _ => "203.0.113.9".to_owned(),
            };
            let token = format!("guess-{guess}");
            let asked = client
                .request(reqwest::Method::POST, SESSION)
                .json(&SessionRequest { token });
            let asked = match guess % 6 {
                5 => asked,
                _ => asked.header("cf-connecting-ip", address),
            };
            // Whoever floods waits as long as it likes.
            client.send(asked).await.map_or(0, |reply| reply.status)
        }));
        let watch = Watch::start(from_ref(&client));
        let admins = async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let mut times = Vec::new();
            for token in [TOKEN, &ada.token] {
                let asked = clock::now();
                let reply = log_in(&client, "203.0.113.10", token).await;
                assert_eq!(reply.status, 200, "{known}: {}", reply.text());
                times.push((asked, clock::now()));
            }
            times
        };
        let (flood, times) = futures_util::future::join(flood, admins).await;
        let stood = watch.stop().await;
        for (asked, told) in times {
            let took = (told - asked).saturating_sub(stood.during(asked, told));
            assert!(took < longest, "{known}: {took:?}");
        }
        let looked_at = flood.iter().filter(|status| **status == 401).count() as u64;
        // 503 where the count is out of reach for a moment, and 0 where nobody waited for the answer.
        let refused = |status: &&u16| [429, 503, 0].contains(*status);
        let refused = flood.iter().filter(refused).count() as u64;
        assert_eq!(looked_at + refused, GUESSES, "{known}: {flood:?}");
        let secs = started.elapsed().as_secs() + 1 + LOGIN_QUEUE_MS_MAX / 1_000;
        assert!(
            looked_at <= secs * LOGINS_PER_SEC_MAX,
            "{known}: {looked_at} in {secs} s"
        );
        assert!(refused > 0, "{known}");
    }
}

/// What an admin was told at each try, and from when to when it took: until attempts can be counted.
async fn tries(client: &Client, token: &str) -> Vec<(u16, Instant, Instant)> {
    let (mut tries, begun) = (Vec::new(), clock::now());
    loop {
        let asked = clock::now();
        let status = status_once(client, token).await;
        tries.push((status, asked, clock::now()));
        if status != 503 || begun.elapsed() > ANSWERED {
            return tries;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Strangers, all at once, each from an address of its own.
#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_logins_by_volume_keeps_no_admin_out() {
    const STRANGERS: u32 = 1_000;
    const ISOLATES: u64 = 2;
    let setup = Setup::isolates(&["weur", "weur"]).variable("WEIR_BOOTSTRAP_REARM", "1");
    let workerd = setup.witnessed().start().await.unwrap();
    let root = workerd.client(0).unwrap();
    let (_, ada) = employ(&root, &request("ada", Role::Admin)).await;
    let (clients, witness) = (workerd.clients().unwrap(), workerd.witness().unwrap());
    let questions = async || {
        let seen = witness.seen().await.unwrap();
        seen.count("Region/decide") + seen.count("Region/shape")
    };
    let watch = Watch::start(&clients);
    let (before, started) = (questions().await, clock::now());
    let flood = join_all((0..STRANGERS).map(async |nth| {
        let client = clients[nth as usize % clients.len()].anonymous();
        let address = Ipv4Addr::from(0x0a00_0000 + nth).to_string();
        let asked = client
            .request(reqwest::Method::POST, SESSION)
            .header("cf-connecting-ip", address)
            .json(&SessionRequest {
                token: format!("guess-{nth}"),
            });
        // Whoever floods waits as long as it likes.
        let status = client.send(asked).await.map_or(0, |reply| reply.status);
        (status, started.elapsed())
    }));
    let admins = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let client = clients[1].anonymous();
        let mut told = Vec::new();
        for (who, token) in [("the bootstrap secret", TOKEN), ("ada", &ada.token)].repeat(3) {
            for (status, asked, answered) in tries(&client, token).await {
                told.push((who, status, asked, answered));
            }
        }
        told
    };
    let (strangers, told) = futures_util::future::join(flood, admins).await;
    let stood = watch.stop().await;
    let asked = questions().await - before;
    // Whoever has a turn in the queue is asked about no more.
    let refused = strangers.iter().filter(|(status, _)| *status != 401);
    let took = refused.map(|(_, after)| *after).max().unwrap_or_default();
    let mut seen = OrderedMap::new();
    for (status, _) in strangers {
        *seen.entry(status).or_insert(0) += 1;
    }
    let statuses: Vec<_> = told.iter().map(|(who, status, ..)| (who, status)).collect();
    println!("strangers were told {seen:?} by {asked} questions in {took:?}; admins: {statuses:?}");
    let let_in = statuses.iter().filter(|(_, status)| **status == 200);
    assert_eq!(let_in.count(), 6, "strangers were told {seen:?}");
    // The count was out of reach because the machine stood still, or not at all.
    let kept_out = told.iter().find(|(_, status, asked, answered)| {
        *status != 200 && !(*status == 503 && stood.excuses(*asked, *answered))
    });
    assert_eq!(kept_out, None, "strangers were told {seen:?}");
    // What takes a turn; and, of each isolate, who comes before the queue is full and those few that ask again since then.
    let turns = LOGINS_PER_SEC_MAX * (took.as_secs() + 1);
    let each = LOGIN_WAITERS_MAX as u64 + LOGIN_CALLS_MAX as u64 * (1 + turns);
    let questions_max = 2 * (LOGIN_WAITERS_MAX as u64 + turns + ISOLATES * each);
    assert!(
        asked <= questions_max,
        "{asked} questions, not {questions_max}"
    );
}

async fn bearer(client: &Client, address: &str, token: &str) -> u16 {
    let ask = async || {
        let asked = client
            .with_token(token)
            .request(reqwest::Method::GET, POLICY)
            .header("cf-connecting-ip", address);
        client.send(asked).await.unwrap()
    };
    answered(ask).await.status
}

#[tokio::test]
async fn guesses_of_the_bootstrap_secret_by_bearer_are_bounded_as_logins_are() {
    let workerd = Setup::isolates(&["weur"]).start().await.unwrap();
    let root = workerd.client(0).unwrap();
    let (guesser, operator) = ("203.0.113.9", "203.0.113.10");
    assert_eq!(bearer(&root, guesser, TOKEN).await, 200);
    for guess in 0..LOGIN_ATTEMPTS_MAX {
        assert_eq!(bearer(&root, guesser, &begun(guess)).await, 401, "{guess}");
    }
    // The right one neither helps whoever guesses, though this isolate knows it, nor is it kept from anyone else.
    assert_eq!(bearer(&root, guesser, "another guess").await, 401);
    assert_eq!(bearer(&root, guesser, &begun(99)).await, 429);
    assert_eq!(bearer(&root, guesser, TOKEN).await, 429);
    assert_eq!(bearer(&root, operator, TOKEN).await, 200);
    let check = weir_shared::wire::check::CheckRequest::default();
    let asked = root
        .request(reqwest::Method::POST, "/v1/check")
        .header("cf-connecting-ip", guesser)
        .json(&check);
    assert_eq!(root.send(asked).await.unwrap().status, 429, "a check");
    // A token of Weir's proves itself.
    let (_, ada) = employ(&root, &request("ada", Role::Viewer)).await;
    assert_eq!(bearer(&root, guesser, &ada.token).await, 200);
}

#[tokio::test]
async fn strangers_by_bearer_wait_and_keep_neither_a_token_nor_the_bootstrap_secret_out() {
    let setup = Setup::isolates(&["weur"]).variable("WEIR_CLIENT_ADDRESS", "none");
    let workerd = setup.start().await.unwrap();
    let root = workerd.client(0).unwrap();
    let (_, ada) = employ(&root, &request("ada", Role::Viewer)).await;
    let (_, body) = ada.token.split_once('_').unwrap();
    let (mut looked_at, begun) = (0, clock::now());
    for first in (0..GUESSES_MAX + AT_ONCE).step_by(AT_ONCE as usize) {
        let tried = (first..first + AT_ONCE).map(async |guess| {
            // Of the form of a token of Weir's, and of none.
            let token = if guess % 2 == 0 {
                format!("weir_{}{body}", guess % 10)
            } else {
                format!("guess-{guess}")
            };
            bearer(&root, "203.0.113.9", &token).await
        });
        for status in join_all(tried).await {
            match status {
                401 => looked_at += 1,
                status => assert_eq!(status, 429),
            }
        }
    }
    // The count begins anew after each period.
    let periods = 1 + begun.elapsed().as_millis() as u64 / LOGIN_PERIOD_MS;
    assert!(
        (GUESSES_MAX..=periods * GUESSES_MAX).contains(&looked_at),
        "{looked_at} in {periods} periods"
    );
    assert_eq!(bearer(&root, "203.0.113.9", TOKEN).await, 200);
    assert_eq!(bearer(&root, "203.0.113.9", &ada.token).await, 200);
}

#[tokio::test]
async fn a_proxy_s_word_counts_where_the_deployment_says_so_and_a_client_s_does_not() {
    let setup = Setup::isolates(&["weur"]).variable("WEIR_CLIENT_ADDRESS", "forwarded");
    let workerd = setup.start().await.unwrap();
    let client = workerd.client(0).unwrap().anonymous();
    let from = async |chain: String| {
        let ask = async || {
            let token = "guess".to_owned();
            let asked = client
                .request(reqwest::Method::POST, SESSION)
                .header("cf-connecting-ip", "192.0.2.1")
                .header("x-forwarded-for", &chain)
                .json(&SessionRequest { token });
            client.send(asked).await.unwrap()
        };
        answered(ask).await.status
    };
    let mut last = 0;
    // As above: attempts come back as time passes.
    for forged in 0..=2 * LOGIN_ATTEMPTS_MAX {
        last = from(format!("198.51.100.{forged}, 203.0.113.9")).await;
        if last == 429 {
            break;
        }
    }
    assert_eq!(
        last, 429,
        "what stands before the proxy's word is the client's"
    );
    assert_eq!(from("203.0.113.10".to_owned()).await, 401, "another client");
}

#[tokio::test]
async fn a_bootstrap_secret_that_is_easily_guessed_lets_nobody_in() {
    for weak in [
        "password".repeat(5),
        "abcdefghijklmnopqrstuvwxyzabcdefghijkl".to_owned(),
    ] {
        let setup = Setup::isolates(&["weur"]).token(Some(&weak));
        let workerd = setup.start().await.unwrap();
        let client = workerd.client(0).unwrap();
        assert_eq!(read(&client).await, 401, "{weak}");
        assert_eq!(status(&client.anonymous(), &weak).await, 401, "{weak}");
        assert!(
            workerd.log().contains("WEIR_BOOTSTRAP_TOKEN"),
            "{}",
            workerd.log()
        );
        assert!(!workerd.log().contains(&weak), "the secret is in the log");
    }
}
