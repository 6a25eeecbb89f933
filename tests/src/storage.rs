//! The SQLite files of a stopped workerd.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, Params};
use weir_shared::wire::shard_key::ShardKey;

use crate::folders;

/// One object's database.
pub struct ObjectFile {
    /// The class of the object.
    pub class: String,
    /// The file.
    pub path: PathBuf,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The table.
    pub table: String,
    /// The column.
    pub name: String,
    /// Whether it is part of the primary key.
    pub is_key: bool,
}

/// How a value is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// Text that is cut short.
    Truncated,
    /// Bytes that are no text.
    Bytes,
    /// A number where something else is meant.
    Number,
    /// Nothing.
    Null,
    /// Well-formed, of a version that does not exist yet.
    Version,
}

impl Damage {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Truncated,
        Self::Bytes,
        Self::Number,
        Self::Null,
        Self::Version,
    ];

    /// The damaged value; none where this damage does not apply to the value.
    fn of(self, value: &Value) -> Option<Value> {
        match (self, value) {
            (Self::Truncated, Value::Text(text)) => Some(Value::Text(
                text.chars().take(text.chars().count() / 2).collect(),
            )),
            (Self::Truncated, _) => None,
            (Self::Bytes, _) => Some(Value::Blob(vec![0xff, 0x00, 0xfe])),
            (Self::Number, _) => Some(Value::Integer(-7)),
            (Self::Null, _) => Some(Value::Null),
            (Self::Version, Value::Text(text)) => {
                let mut document: serde_json::Value = serde_json::from_str(text).ok()?;
                document
                    .as_object_mut()?
                    .insert("v".to_owned(), 9_999.into());
                Some(Value::Text(document.to_string()))
            }
            (Self::Version, _) => None,
        }
    }
}

/// Every object's database of a class, sorted.
pub fn objects(disk: &Path, class: &str) -> Result<Vec<ObjectFile>> {
    let folder = disk.join(class);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(|| format!("list {}", folder.display()))? {
        let path = entry.context("read an entry")?.path();
        // The platform keeps a database of its own in the folder, named otherwise.
        let is_object = path
            .file_stem()
            .and_then(|stem| stem.to_str())
            .is_some_and(|stem| stem.len() == 64);
        if is_object
            && path
                .extension()
                .is_some_and(|extension| extension == "sqlite")
        {
            files.push(ObjectFile {
                class: class.to_owned(),
                path,
            });
        }
    }
    if files.is_empty() {
        bail!("{} holds no object", folder.display());
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// The databases of a class that have such a table, open. The process that owns them must be dead.
pub fn databases(disk: &Path, class: &str, table: &str) -> Result<Vec<Connection>> {
    let mut having = Vec::new();
    for object in objects(disk, class)? {
        if object.tables()?.iter().any(|name| name == table) {
            having.push(object.open()?);
        }
    }
    Ok(having)
}

/// What a `SELECT COUNT(*)` counts.
pub fn count(database: &Connection, sql: &str, values: impl Params) -> Result<usize> {
    let count: i64 = database
        .query_row(sql, values, |row| row.get(0))
        .with_context(|| format!("count by {sql}"))?;
    usize::try_from(count).context("a count")
}

/// The secret by which a deployment chooses the shards of keys, of a copy of its registry: the process that owns it may
/// be alive.
pub fn shard_key(disk: &Path) -> Result<ShardKey> {
    let copies = folders::new("storage")?;
    for object in objects(disk, "Registry")? {
        let path = copies.path().join("registry.sqlite");
        for ending in ["", "-wal"] {
            let name = |path: &Path| PathBuf::from(format!("{}{ending}", path.display()));
            if name(&object.path).exists() {
                std::fs::copy(name(&object.path), name(&path)).context("copy the registry")?;
            }
        }
        let copy = Connection::open(&path).context("open the copy")?;
        let secret = copy.query_row("SELECT secret FROM placement", [], |row| {
            row.get::<_, String>(0)
        });
        if let Ok(secret) = secret {
            return ShardKey::try_from(secret).map_err(|error| anyhow::anyhow!("{error}"));
        }
    }
    bail!("no registry has a secret")
}

impl ObjectFile {
    /// Opens the database. The process that owns it must be dead.
    pub fn open(&self) -> Result<Connection> {
        Connection::open_with_flags(&self.path, OpenFlags::SQLITE_OPEN_READ_WRITE)
            .with_context(|| format!("open {}", self.path.display()))
    }

    /// The tables that the object made, the platform's own left out.
    pub fn tables(&self) -> Result<Vec<String>> {
        let connection = self.open()?;
        let mut statement = connection
            .prepare(
                "SELECT name FROM sqlite_master WHERE type = 'table' \
                 AND name NOT GLOB 'sqlite_*' AND name NOT GLOB '_cf_*' ORDER BY name",
            )
            .context("list tables")?;
        let names = statement
            .query_map([], |row| row.get(0))
            .context("list tables")?;
        names.collect::<Result<_, _>>().context("list tables")
    }

    /// The columns of a table.
    pub fn columns(&self, table: &str) -> Result<Vec<Column>> {
        let connection = self.open()?;
        let mut statement = connection
            .prepare("SELECT name, pk FROM pragma_table_info(?1)")
            .context("list columns")?;
        let columns = statement
            .query_map([table], |row| {
                let is_key = row.get::<_, u32>(1)? > 0;
                Ok(Column {
                    table: table.to_owned(),
                    name: row.get(0)?,
                    is_key,
                })
            })
            .context("list columns")?;
        columns.collect::<Result<_, _>>().context("list columns")
    }

    /// Damages every value of every row that is not part of a key; returns how many there were.
    pub fn damage(&self, damage: Damage) -> Result<usize> {
        let mut damaged = 0;
        for table in self.tables()? {
            for column in self.columns(&table)?.iter().filter(|column| !column.is_key) {
                damaged += self.damage_column(column, damage)?;
            }
        }
        Ok(damaged)
    }

    fn damage_column(&self, column: &Column, damage: Damage) -> Result<usize> {
        let (table, name) = (quoted(&column.table), quoted(&column.name));
        let connection = self.open()?;
        // Values are found again by themselves: a table may have no row numbers.
        let mut select = connection
            .prepare(&format!("SELECT DISTINCT {name} FROM {table}"))
            .context("read a column")?;
        let rows = select
            .query_map([], |row| row.get(0))
            .context("read a column")?;
        let values: Vec<Value> = rows.collect::<Result<_, _>>().context("read a column")?;
        let worse = values.iter().map(|value| (value, damage.of(value)));
        let mut damaged = 0;
        for (value, worse) in worse {
            if let Some(worse) = worse {
                let update = format!("UPDATE {table} SET {name} = ?1 WHERE {name} IS ?2");
                damaged += connection
                    .execute(&update, (worse, value))
                    .with_context(|| format!("damage {table}.{name}"))?;
            }
        }
        Ok(damaged)
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
