//! Messages without a Rust type of their own: what crosses a border between languages.

use std::{any::Any, collections::BTreeMap, fmt};

/// A message, an input or a result that both sides understand without a common Rust type.
///
/// ```
/// use process::Payload;
///
/// let order = Payload::map([("item", "tea".into()), ("count", 2.into())]);
/// assert_eq!(order.get("count").and_then(Payload::as_int), Some(2));
/// assert_eq!(order.get("price"), None);
/// ```
#[derive(Default)]
#[non_exhaustive]
pub enum Payload {
    /// Nothing.
    #[default]
    Empty,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// Several, in order.
    List(Vec<Payload>),
    /// Several, by name.
    Map(BTreeMap<String, Payload>),
    /// A Rust value, for those who know its type.
    Opaque(Box<dyn Any + Send>),
}

impl Payload {
    /// A Rust value, for those who know its type.
    pub fn opaque(value: impl Any + Send) -> Payload {
        Payload::Opaque(Box::new(value))
    }

    /// A map of these.
    pub fn map<K: Into<String>>(entries: impl IntoIterator<Item = (K, Payload)>) -> Payload {
        Payload::Map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }

    /// The entry with this name, of a map.
    pub fn get(&self, name: &str) -> Option<&Payload> {
        match self {
            Payload::Map(entries) => entries.get(name),
            _ => None,
        }
    }

    /// The number, if it is a whole one.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Payload::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Payload::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The Rust value, if it is a `T`.
    ///
    /// # Errors
    /// The payload, if it is something else.
    pub fn downcast<T: Any + Send>(self) -> Result<T, Payload> {
        match self {
            Payload::Opaque(value) => match value.downcast() {
                Ok(value) => Ok(*value),
                Err(value) => Err(Payload::Opaque(value)),
            },
            other => Err(other),
        }
    }
}

/// Opaque values are equal to nothing.
impl PartialEq for Payload {
    fn eq(&self, other: &Payload) -> bool {
        match (self, other) {
            (Payload::Empty, Payload::Empty) => true,
            (Payload::Bool(a), Payload::Bool(b)) => a == b,
            (Payload::Int(a), Payload::Int(b)) => a == b,
            (Payload::Float(a), Payload::Float(b)) => a == b,
            (Payload::Text(a), Payload::Text(b)) => a == b,
            (Payload::Bytes(a), Payload::Bytes(b)) => a == b,
            (Payload::List(a), Payload::List(b)) => a == b,
            (Payload::Map(a), Payload::Map(b)) => a == b,
            _ => false,
        }
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Payload::Empty => f.write_str("Empty"),
            Payload::Bool(value) => value.fmt(f),
            Payload::Int(value) => value.fmt(f),
            Payload::Float(value) => value.fmt(f),
            Payload::Text(value) => value.fmt(f),
            Payload::Bytes(value) => write!(f, "{} bytes", value.len()),
            Payload::List(value) => value.fmt(f),
            Payload::Map(value) => value.fmt(f),
            Payload::Opaque(_) => f.write_str("Opaque"),
        }
    }
}

macro_rules! from {
    ($($type:ty => $variant:ident;)*) => {$(
        impl From<$type> for Payload {
            fn from(value: $type) -> Payload {
                Payload::$variant(value.into())
            }
        }
    )*};
}

from! {
    bool => Bool;
    i32 => Int;
    i64 => Int;
    u32 => Int;
    f64 => Float;
    &str => Text;
    String => Text;
    Vec<u8> => Bytes;
    Vec<Payload> => List;
}

impl From<()> for Payload {
    fn from((): ()) -> Payload {
        Payload::Empty
    }
}
