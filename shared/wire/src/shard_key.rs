//! The secret by which the shards of keys are chosen.

use serde::{Deserialize, Serialize};

/// The secret by which shards are chosen: without it nobody can tell which keys lie together. As text 32 hexadecimal
/// digits.
///
/// ```
/// use weir_wire::shard_key::ShardKey;
/// let key = ShardKey::new([7; 16]);
/// let text = serde_json::to_string(&key).unwrap();
/// assert_eq!(text, format!("\"{}\"", "07".repeat(16)));
/// assert_eq!(serde_json::from_str::<ShardKey>(&text).unwrap(), key);
/// assert!(serde_json::from_str::<ShardKey>("\"07\"").is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ShardKey([u8; 16]);

impl ShardKey {
    /// The secret that is these bytes, which have to be random.
    #[must_use]
    pub fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(self) -> [u8; 16] {
        self.0
    }
}

impl std::fmt::Debug for ShardKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ShardKey")
    }
}

impl From<ShardKey> for String {
    fn from(key: ShardKey) -> Self {
        format!("{:032x}", u128::from_be_bytes(key.0))
    }
}

/// A text that is no [`ShardKey`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoShardKey;

impl std::fmt::Display for NoShardKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("not 32 hexadecimal digits")
    }
}

impl TryFrom<String> for ShardKey {
    type Error = NoShardKey;

    fn try_from(text: String) -> Result<Self, NoShardKey> {
        let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let bytes = digits.then(|| u128::from_str_radix(&text, 16).ok());
        let bytes = bytes.flatten().ok_or(NoShardKey)?;
        Ok(Self(bytes.to_be_bytes()))
    }
}
