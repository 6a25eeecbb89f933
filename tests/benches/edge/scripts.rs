//! The Workers that Weir stands beside.

use anyhow::Result;
use serde_json::{Map, Value};
use weir_tests::plain::{CALLED, Script};
use weir_tests::reply::Reply;

/// Header fields that the runtime sets by itself.
const RUNTIME_HEADERS: [&str; 5] = [
    "connection",
    "content-encoding",
    "content-length",
    "date",
    "transfer-encoding",
];

/// Answers whatever comes, unread.
pub const CONSTANT: &str = "constant";

/// Parses the question.
pub const PARSES: &str = "parses";

/// Asks an object for each check, which writes a row for it.
pub const OBJECT: &str = "object";

/// Calls a method of another Worker for each check.
pub const CALLS: &str = "calls";

/// Has the method, which answers whatever comes.
const METHOD: &str = "method";

/// Calls of one answer: what the question comes by is little beside them.
pub const CALLS_AN_ANSWER: usize = 20;

/// Five Workers that answer what Weir answered: over HTTP with the same header fields, or to a call.
pub fn scripts(answer: &Reply) -> Result<[Script; 5]> {
    let headers: Map<String, Value> = answer
        .headers
        .iter()
        .filter(|(name, _)| !RUNTIME_HEADERS.contains(&name.as_str()))
        .map(|(name, value)| Ok((name.to_string(), value.to_str()?.into())))
        .collect::<Result<_>>()?;
    let headers = Value::Object(headers);
    let body = Value::String(answer.text());
    let decision: Value = serde_json::from_str(&answer.text())?;
    let answer = format!("const headers = {headers};\nconst body = {body};\n");
    Ok([
        script(CONSTANT, &answer, "async fetch() {"),
        script(
            PARSES,
            &answer,
            "async fetch(request) {
    const question = await request.json();
    if (typeof question.tenant !== \"string\" || typeof question.cost !== \"number\") {
      return new Response(null, { status: 400 });
    }",
        ),
        Script {
            object: Some("Counter"),
            ..script(
                OBJECT,
                &format!("{COUNTER}{answer}"),
                "async fetch(request, env) {
    const { budget, tenant, cost } = await request.json();
    const counter = env.Counter.get(env.Counter.idFromName(budget));
    if (!(await counter.spend(tenant, cost))) return new Response(null, { status: 429 });",
            )
        },
        Script {
            name: CALLS,
            text: caller(CALLED),
            object: None,
            calls: Some(METHOD),
        },
        Script {
            name: METHOD,
            text: format!(
                "{ENTRYPOINT}  check(token, question) {{\n    return {decision};\n  }}\n}}\n"
            ),
            object: None,
            calls: None,
        },
    ])
}

/// A Worker that calls `check` of what is bound, with the token and the question of a request, and answers whether all were
/// admitted.
pub fn caller(binding: &str) -> String {
    format!(
        "export default {{
  async fetch(request, env) {{
    if (request.method === \"GET\") return new Response(\"ready\");
    const token = request.headers.get(\"authorization\").slice(7);
    const question = await request.json();
    let allowed = true;
    for (let call = 0; call < {CALLS_AN_ANSWER}; call++) {{
      allowed &&= (await env.{binding}.check(token, question)).allowed;
    }}
    return Response.json({{ allowed, reason: allowed ? \"admitted\" : \"other\" }});
  }},
}};
"
    )
}

const ENTRYPOINT: &str = r#"import { WorkerEntrypoint } from "cloudflare:workers";
export default class extends WorkerEntrypoint {
"#;

fn script(name: &'static str, answer: &str, start: &str) -> Script {
    Script {
        name,
        text: format!(
            "{answer}export default {{\n  {start}\n    return new Response(body, {{ headers }});\n  }},\n}};\n"
        ),
        object: None,
        calls: None,
    }
}

/// One row a tenant, read and written by one statement.
const COUNTER: &str = r#"import { DurableObject } from "cloudflare:workers";
export class Counter extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS spent (tenant TEXT PRIMARY KEY, units INTEGER) WITHOUT ROWID");
  }
  spend(tenant, cost) {
    const [row] = this.ctx.storage.sql
      .exec(
        "INSERT INTO spent VALUES (?1, ?2) ON CONFLICT DO UPDATE SET units = units + ?2 RETURNING units",
        tenant,
        cost,
      )
      .toArray();
    return row.units <= Number.MAX_SAFE_INTEGER;
  }
}
"#;
