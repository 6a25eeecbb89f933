//! `/operator/v1/audit`: the records of changes, whether they are as they were written, and all of them as a file.

use futures_util::stream::{StreamExt, try_unfold};
use weir_shared::export::file_form::FileForm;
use weir_shared::export::sheets::AUDIT;
use weir_shared::invalid::{Fault, Invalid, within};
use weir_shared::limits::{
    AUDIT_PAGE_MAX, JSON_INTEGER_MAX, LABEL_BYTES_MAX, NAME_BYTES_MAX, OPERATOR_CALL_MS_MAX,
    PAGE_SIZE_DEFAULT,
};
use weir_shared::query::Query;
use weir_shared::wire::audit::{AuditOutcome, AuditVerdict};
use weir_shared::wire::operator::audit::AuditReply;
use worker::{Request, Response};

use super::{query, registry};
use crate::http::failure::Failure;
use crate::http::file::{ListFile, attachment};
use crate::http::reply;
use crate::isolate::place::home;
use crate::isolate::request::RequestHandles;
use crate::objects::binding::{Address, call};
use crate::objects::calls::{ExportAudit, ReadAudit, VerifyAudit};

/// Records, newest first; with `after`, oldest first.
///
/// # Errors
/// 400, 503.
pub async fn list(request: &Request, handles: &RequestHandles) -> Result<Response, Failure> {
    let asked = asked(query(request)?)?;
    let page = registry(handles, &asked).await?;
    let last = page.entries.last().map(|entry| entry.record.sequence);
    // Those that cannot be read are passed, too.
    let passed = page.damaged.iter().copied().chain(last);
    let last = if asked.newest_first {
        passed.min()
    } else {
        passed.max()
    };
    reply::json(
        200,
        &AuditReply {
            next: last.filter(|_| page.more),
            records: page.entries,
            damaged: page.damaged,
            head: page.head,
        },
    )
}

fn asked(mut query: Query) -> Result<ReadAudit, Failure> {
    let read = filters(&mut query)?;
    query.finish("before, after, limit, actor, action, target, outcome, from, to")?;
    Ok(read)
}

fn filters(query: &mut Query) -> Result<ReadAudit, Failure> {
    let mut number = |name: &str| -> Result<Option<u64>, Invalid> {
        let Some(number) = query.number(name)? else {
            return Ok(None);
        };
        within(&format!("/{name}"), number, 0..=JSON_INTEGER_MAX).map(Some)
    };
    let (before, after) = (number("before")?, number("after")?);
    let (from, to) = (number("from")?, number("to")?);
    let limit = number("limit")?.unwrap_or(PAGE_SIZE_DEFAULT);
    let limit = within("/limit", limit, 1..=AUDIT_PAGE_MAX)?;
    let outcome = match query.take("outcome").as_deref() {
        None => None,
        Some("done") => Some(AuditOutcome::Done),
        Some("refused") => Some(AuditOutcome::Refused),
        Some(other) => {
            let got = other.chars().take(LABEL_BYTES_MAX).collect();
            let served = "done, refused";
            return Err(Invalid::new("/outcome", Fault::Unserved { got, served }).into());
        }
    };
    Ok(ReadAudit {
        after: after.unwrap_or(0),
        before: before.unwrap_or(0),
        limit,
        newest_first: after.is_none(),
        actor: query.text("actor", NAME_BYTES_MAX)?,
        action: query.text("action", LABEL_BYTES_MAX)?,
        target: query.text("target", NAME_BYTES_MAX)?,
        outcome,
        from,
        to,
    })
}

/// Whether the whole log is as it was written; else the first record that is not.
///
/// # Errors
/// 400, 503.
pub async fn verify(request: &Request, handles: &RequestHandles) -> Result<Response, Failure> {
    query(request)?.finish("none")?;
    let mut checked = 0;
    let mut body = VerifyAudit {
        after: 0,
        previous: String::new(),
        limit: AUDIT_PAGE_MAX,
    };
    loop {
        let verdict = registry(handles, &body).await?;
        checked += verdict.checked;
        let goes_on = verdict.more && verdict.intact && verdict.through > body.after;
        if !goes_on {
            return reply::json(200, &AuditVerdict { checked, ..verdict });
        }
        body.after = verdict.through;
        body.previous = verdict.hash;
    }
}

/// The log as a file, one record a line, as it is written; or, for a spreadsheet, the records that filters let through. It
/// is read and sent a part at a time.
///
/// # Errors
/// 400; 503 when the first part does not come. One that fails later breaks the file off, which then ends without the
/// record that the log's head names.
pub async fn export(request: &Request, handles: &RequestHandles) -> Result<Response, Failure> {
    let mut query = query(request)?;
    if FileForm::take(&mut query)? == Some(FileForm::Csv) {
        return export_csv(query, handles).await;
    }
    let after = query.number("after")?.unwrap_or(0);
    let after = within("/after", after, 0..=JSON_INTEGER_MAX)?;
    query.finish("after, format")?;
    let limit = AUDIT_PAGE_MAX;
    let first = registry(handles, &ExportAudit { after, limit }).await?;
    let env = handles.env.clone();
    let home = home()?;
    let parts = try_unfold(Some(Part::Lines(first)), move |part| {
        let (env, home) = (env.clone(), home.clone());
        async move {
            let lines = match part {
                None => return Ok(None),
                Some(Part::Lines(lines)) => lines,
                Some(Part::After(after)) => {
                    let body = ExportAudit { after, limit };
                    let address = Address::registry(&home);
                    let told = call(&env, address, &body, OPERATOR_CALL_MS_MAX).await;
                    told.map_err(|error| worker::Error::RustError(error.to_string()))?
                }
            };
            let mut text = lines.lines.join("\n");
            if !text.is_empty() {
                text.push('\n');
            }
            let next = lines.more.then_some(Part::After(lines.through));
            Ok::<_, worker::Error>(Some((text.into_bytes(), next)))
        }
    });
    let builder = attachment(FileForm::JsonLines.media_type(), "weir-audit.jsonl")?;
    Ok(builder.from_stream(parts)?)
}

/// The records that the filters let through, oldest first, as comma-separated values.
async fn export_csv(mut query: Query, handles: &RequestHandles) -> Result<Response, Failure> {
    let read = ReadAudit {
        limit: AUDIT_PAGE_MAX,
        newest_first: false,
        ..filters(&mut query)?
    };
    query.finish("after, format, actor, action, target, outcome, from, to")?;
    let first = registry(handles, &read).await?;
    let env = handles.env.clone();
    let home = home()?;
    let batches = try_unfold(Some((read, Some(first))), move |part| {
        let (env, home) = (env.clone(), home.clone());
        async move {
            let Some((mut read, told)) = part else {
                return Ok(None);
            };
            let page = match told {
                Some(page) => page,
                None => {
                    let address = Address::registry(&home);
                    let told = call(&env, address, &read, OPERATOR_CALL_MS_MAX).await;
                    told.map_err(|error| worker::Error::RustError(error.to_string()))?
                }
            };
            let texts = page.entries.iter().map(serde_json::to_string);
            let last = page.entries.last().map(|entry| entry.record.sequence);
            let passed = page.damaged.iter().copied().chain(last).max();
            let next = passed.filter(|_| page.more).map(|passed| {
                read.after = passed;
                (read, None)
            });
            Ok(Some((texts.collect::<Result<_, _>>()?, next)))
        }
    });
    let file = ListFile {
        form: FileForm::Csv,
        sheet: &AUDIT,
    };
    file.of_batches(batches.boxed_local())
}

/// A part of the file.
enum Part {
    /// It was read.
    Lines(crate::objects::calls::AuditLines),
    /// It is behind this record.
    After(u64),
}
