//! What proves an operator, and what speaks for a whole address: neither passes the gateway.

use reqwest::Method;
use weir_tests::origin::Echo;

use crate::gateway::{Gateway, one_token};

#[tokio::test]
async fn no_origin_gets_what_proves_an_operator() {
    let gateway = Gateway::start(one_token()).await;
    let request = gateway
        .request(Method::GET, "/echo", "pro:a")
        .header(
            "cookie",
            "a=1; CF_Authorization=jwt; weir_session=x; __Host-weir_session=y; CF_AppSession=z; cf_authorization=w; b=2",
        )
        .header("cf-access-jwt-assertion", "a.b.c")
        .header("cf_access_jwt_assertion", "a.b.c")
        .header("cf-access-token", "a.b.c");
    let echo: Echo = gateway.send(request).await.ok().unwrap();
    assert_eq!(echo.headers["cookie"], "a=1; b=2");
    let told = echo.headers.keys().filter(|name| name.contains("access"));
    assert_eq!(told.count(), 0, "{echo:?}");
}

#[tokio::test]
async fn no_origin_sets_an_operator_s_cookie_or_speaks_for_the_console() {
    let gateway = Gateway::start(one_token()).await;
    let reply = gateway.get("/odd", "pro:a").await;
    let cookies = reply.headers.get_all("set-cookie").iter();
    let cookies: Vec<_> = cookies.map(|value| value.to_str().unwrap()).collect();
    assert_eq!(cookies, ["a=1; Path=/", "b=2; Path=/"]);
    for name in ["clear-site-data", "service-worker-allowed"] {
        assert_eq!(reply.header(name), None, "{name}");
    }
}

#[tokio::test]
async fn what_a_client_says_a_request_was_before_is_not_passed_on() {
    let gateway = Gateway::start(one_token()).await;
    let said = [
        "x-original-url",
        "x-rewrite-url",
        "x-http-method-override",
        "x-host",
        "fastly-client-ip",
        "x_forwarded_for",
        "x_original_url",
        "x_tenant",
        "content_length",
    ];
    let request = gateway.request(Method::GET, "/echo", "pro:a");
    let request = said
        .iter()
        .fold(request, |request, name| request.header(*name, "/admin"));
    let echo: Echo = gateway.send(request).await.ok().unwrap();
    for name in said {
        assert!(!echo.headers.contains_key(name), "{name}: {echo:?}");
    }
    assert_eq!(echo.headers["x-tenant"], "pro:a");
}

#[tokio::test]
async fn a_trace_is_refused() {
    let gateway = Gateway::start(one_token()).await;
    for method in ["TRACE", "TRACK"] {
        let request = format!("{method} /echo HTTP/1.1\r\nHost: weir\r\nx-tenant: pro:a\r\n\r\n");
        let answer = gateway.client.send_raw(request.as_bytes()).await;
        // A method that the platform does not know it refuses by itself.
        let answer = answer.unwrap_or_else(|_| "HTTP/1.1 501".to_owned());
        let refused = ["405", "501"]
            .iter()
            .any(|status| answer.contains(&format!("HTTP/1.1 {status}")));
        assert!(refused, "{method}: {answer}");
    }
    assert_eq!(gateway.origin.served(), 0);
}
