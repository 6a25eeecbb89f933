//! Bodies over their limit.

use futures_util::{StreamExt, stream};
use reqwest::Method;
use weir_shared::limits::{CHECK_BODY_BYTES_MAX, OPERATOR_BODY_BYTES_MAX, POLICY_BODY_BYTES_MAX};
use weir_tests::client::Client;
use weir_tests::workerd::TOKEN;

use crate::bad_input::{
    BATCH, CHECK, POLICY, RESERVE, SESSION, SETTLE, assert_left_of_budget, deployment, state,
};

const ROUTES: [(&str, &str, usize); 7] = [
    ("POST", CHECK, CHECK_BODY_BYTES_MAX),
    ("POST", BATCH, CHECK_BODY_BYTES_MAX),
    ("POST", RESERVE, CHECK_BODY_BYTES_MAX),
    ("POST", SETTLE, CHECK_BODY_BYTES_MAX),
    ("POST", "/v1/report", CHECK_BODY_BYTES_MAX),
    ("PUT", POLICY, POLICY_BODY_BYTES_MAX),
    ("POST", SESSION, OPERATOR_BODY_BYTES_MAX),
];

/// A declared length is enough: no byte of the body is waited for. Without one, no more is read than is allowed.
#[tokio::test]
async fn a_body_over_the_limit_is_refused_with_and_without_its_length() {
    let (_workerd, client) = deployment().await;
    let before = state(&client).await;
    for (method, path, bytes_max) in ROUTES {
        let bytes = bytes_max + 1;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: weir\r\nAuthorization: Bearer {TOKEN}\r\n\
             If-Match: *\r\nContent-Type: application/json\r\n"
        );
        let declared = format!("{head}Content-Length: {bytes}\r\n\r\n");
        assert_too_large(&client, path, &declared).await;
        let chunk = format!("{bytes:x}\r\n{}\r\n", " ".repeat(bytes));
        let endless = format!("{head}Transfer-Encoding: chunked\r\n\r\n{chunk}");
        assert_too_large(&client, path, &endless).await;
    }
    assert_eq!(state(&client).await, before);
    assert_left_of_budget(&client, 100).await;
}

async fn assert_too_large(client: &Client, path: &str, request: &str) {
    let answer = client.send_raw(request.as_bytes()).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 413"), "{path}: {answer}");
    let media_type = "content-type: application/problem+json";
    assert!(
        answer.to_lowercase().contains(media_type),
        "{path}: {answer}"
    );
}

#[tokio::test]
async fn a_body_at_the_limit_is_read_whole_and_in_chunks() {
    let (_workerd, client) = deployment().await;
    let start = r#"{"tenant":"a","budget":"tokens","cost":1"#;
    let padding = " ".repeat(CHECK_BODY_BYTES_MAX - start.len() - 1);
    let body = format!("{start}{padding}}}");
    let whole = client.post_bytes(CHECK, body.as_str()).await.unwrap();
    assert_eq!(whole.status, 200, "{}", whole.text());
    let chunked = client.send(chunked(&client, &body)).await.unwrap();
    assert_eq!(chunked.status, 200, "{}", chunked.text());
    assert_left_of_budget(&client, 98).await;
}

/// A body in chunks of 1 KiB, without a length.
fn chunked(client: &Client, text: &str) -> reqwest::RequestBuilder {
    let chunks: Vec<Vec<u8>> = text.as_bytes().chunks(1_024).map(<[u8]>::to_vec).collect();
    let body = reqwest::Body::wrap_stream(stream::iter(chunks).map(Ok::<_, std::io::Error>));
    let request = client.request(Method::POST, CHECK);
    request
        .header("content-type", "application/json")
        .body(body)
}
