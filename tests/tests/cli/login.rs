//! A login that is kept.

use std::io::Write;

use weir_tests::workerd::TOKEN;

use crate::cli::{Ended, Weir, deployment, mode};

/// Logs in with a token on the standard input.
fn log_in(weir: &Weir, url: &str, token: &str) -> Ended {
    let mut running = weir.start(&["login", "--url", url]);
    let mut stdin = running.child().stdin.take().unwrap();
    stdin.write_all(token.as_bytes()).unwrap();
    drop(stdin);
    running.ended()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_is_kept_for_its_user_alone_and_its_token_goes_to_no_other_deployment() {
    let deployed = deployment().await;
    let url = deployed.client.origin();
    let weir = Weir::with(Vec::new());
    let file = weir.file("config/weir/login.json");

    let refused = log_in(&weir, url, "a-token-that-nobody-has-made-12345678\n");
    assert_eq!(refused.status, 1, "{refused:?}");
    assert!(!file.exists(), "a token that opens nothing is not kept");

    let done = log_in(&weir, url, &format!("{TOKEN}\n"));
    assert_eq!(done.status, 0, "{done:?}");
    assert!(done.out.contains(&file.display().to_string()), "{done:?}");
    assert!(
        !done.out.contains(TOKEN) && !done.error.contains(TOKEN),
        "{done:?}"
    );
    assert_eq!(mode(&file), 0o600);

    weir.ends(0, &["export"]);
    weir.ends(0, &["export", "--url", &format!("{url}/")]);
    let elsewhere = url.replace("127.0.0.1", "localhost");
    let error = weir.fails(&["export", "--url", &elsewhere]);
    assert!(
        error.contains(&format!("There is no token for {elsewhere}")),
        "{error}"
    );
}
