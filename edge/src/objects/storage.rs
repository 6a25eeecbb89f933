//! SQLite in an object: statements with bindings, rows as text, and the report of what cannot be read.
//!
//! `SqlCursor::one` is never used: with no row it hangs the caller. Integers stay below 2^53.

use wasm_bindgen::closure::Closure;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use weir_shared::wire::stored::Damaged;
use worker::{SqlStorage, SqlStorageValue, State, console_error};

use super::server::Refused;
use super::{telemetry, usage};

#[wasm_bindgen]
extern "C" {
    /// The part of an object's storage that the `worker` crate does not have.
    #[derive(Clone)]
    type Transactions;

    #[wasm_bindgen(method, catch, js_name = transactionSync)]
    fn transaction_sync(
        this: &Transactions,
        steps: &Closure<dyn FnMut() -> Result<(), JsValue>>,
    ) -> Result<JsValue, JsValue>;
}

/// An object's database.
#[derive(Clone)]
pub struct Database {
    sql: SqlStorage,
    transactions: Transactions,
}

/// A value of a row.
pub type Value = SqlStorageValue;

/// A statement with the values of its placeholders.
pub type Statement = (&'static str, Vec<Value>);

impl Database {
    /// Opens the object's database and makes its tables. An object whose tables cannot be made still answers: each
    /// statement then fails by itself. A column that is there already is as it should be.
    #[must_use]
    pub fn open(state: &State, schema: &[&str]) -> Self {
        let sql = state.storage().sql();
        for statement in schema {
            let failed = sql.exec(statement, None).err();
            let failed = failed.map(|error| error.to_string());
            if let Some(error) = failed.filter(|error| !error.contains("duplicate column")) {
                console_error!("schema: {error}");
            }
        }
        Self {
            sql,
            transactions: JsValue::from(state.storage().as_raw()).unchecked_into(),
        }
    }

    /// Runs statements that return nothing: all of them, or none.
    ///
    /// # Errors
    /// The database's words; then nothing was written.
    pub fn atomically(&self, statements: Vec<Statement>) -> Result<(), Refused> {
        let sql = self.sql.clone();
        let steps = Closure::once(move || {
            for (statement, values) in statements {
                let cursor = sql.exec(statement, values).map_err(JsValue::from)?;
                usage::wrote(cursor.rows_written());
            }
            Ok(())
        });
        let outcome = self.transactions.transaction_sync(&steps);
        outcome.map(|_| ()).map_err(|error| {
            telemetry::write_failed();
            Refused(words(&error))
        })
    }

    /// Runs one statement that returns nothing.
    ///
    /// # Errors
    /// The database's words.
    pub fn run(&self, statement: &str, values: Vec<Value>) -> Result<(), Refused> {
        let written = self.sql.exec(statement, values);
        let cursor = written.inspect_err(|_| telemetry::write_failed())?;
        usage::wrote(cursor.rows_written());
        Ok(())
    }

    /// All rows of a query.
    ///
    /// # Errors
    /// The database's words.
    pub fn rows(&self, query: &str, values: Vec<Value>) -> Result<Vec<Vec<Value>>, Refused> {
        let cursor = self.sql.exec(query, values)?;
        let rows: Result<Vec<_>, _> = cursor.raw().collect();
        usage::wrote(cursor.rows_written());
        Ok(rows?)
    }

    /// The first row of a query, if any.
    ///
    /// # Errors
    /// The database's words.
    pub fn first(&self, query: &str, values: Vec<Value>) -> Result<Option<Vec<Value>>, Refused> {
        Ok(self.rows(query, values)?.into_iter().next())
    }
}

/// What was thrown, as text.
fn words(error: &JsValue) -> String {
    let text = error.dyn_ref::<js_sys::Error>().map(js_sys::Error::message);
    text.map_or_else(|| format!("{error:?}"), String::from)
}

/// A non-negative integer of a row.
#[must_use]
pub fn integer(value: Option<&Value>) -> Option<u64> {
    match value {
        Some(Value::Integer(number)) => u64::try_from(*number).ok(),
        _ => None,
    }
}

/// A text of a row.
#[must_use]
pub fn text(value: Option<&Value>) -> Option<&str> {
    match value {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

/// A number as a value; numbers that SQLite's JavaScript side would round are kept at the largest exact one.
#[must_use]
pub fn number(number: u64) -> Value {
    let bounded = number.min(weir_shared::limits::JSON_INTEGER_MAX);
    Value::Integer(i64::try_from(bounded).unwrap_or(i64::MAX))
}

/// Reports a row that cannot be read. What the object does without it is the caller's rule.
pub fn report_damaged(what: &str, damaged: &Damaged) {
    telemetry::row_damaged();
    console_error!("damaged row {what}: {damaged}");
}

/// The damage of a row whose column is not of the expected type.
#[must_use]
pub fn wrong_type(column: &'static str) -> Damaged {
    Damaged::column(column)
}
