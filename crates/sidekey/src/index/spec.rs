//! What an index is, as its user states it, and the states it goes through.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The structure that an index is kept in. Only [`Structure::Composite`] is built in this version; the others answer
/// [`crate::ErrorKind::Unsupported`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Structure {
    /// Entries `attribute ++ primary key` in the collection's index tree (LevelDB++, "Composite Index").
    Composite,
    /// Entries `attribute ++ descending sequence number ++ primary key`.
    CompositeRecency,
    /// No structure of its own: filters and zone maps in the primary tables (LevelDB++, "Embedded Index").
    Embedded,
    /// A posting list per attribute value, rewritten by every write (LevelDB++, "Eager Index").
    Eager,
    /// A posting list per attribute value, kept as fragments (LevelDB++, "Lazy Index").
    Lazy,
    /// The PS-Tree of Perseid.
    PsTree,
}

/// How an index follows the records. [`Maintenance::Deferred`] is not built in this version and answers
/// [`crate::ErrorKind::Unsupported`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Maintenance {
    /// Every write reads the version it overwrites and deletes that version's entry: the index is clean, and its queries trust it. A
    /// write costs a look-up by key; one such index makes all writes to its collection pay it.
    Synchronous,
    /// Writes are blind: they read nothing from disk. Old entries stay until compaction of the index removes them, and a query asks the
    /// validator, at a look-up by key each, whether the entries that it meets are still the newest version's.
    Validated,
    /// Writes are blind; compaction of the primary tree emits the deletes (Tarantool's deferred update).
    Deferred,
}

/// Who decides whether an index entry is stale. Only [`Validator::Primary`] is built in this version; the others answer
/// [`crate::ErrorKind::Unsupported`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Validator {
    /// The primary tree's newest version of the key.
    Primary,
    /// A tree of primary keys and their newest sequence numbers.
    KeyIndex,
    /// The key filters of the primary tree's components.
    Filters,
    /// Hash maps of the versions that were written blindly.
    Hash,
}

macro_rules! names {
    ($type:ident { $($variant:ident = $name:literal),* $(,)? }) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$variant => $name),* })
            }
        }

        impl std::str::FromStr for $type {
            type Err = crate::Error;
            fn from_str(s: &str) -> Result<Self, crate::Error> {
                match s {
                    $($name => Ok(Self::$variant),)*
                    _ => Err(crate::Error::InvalidArgument(format!(
                        "'{s}' is none of {}", [$($name),*].join(", ")))),
                }
            }
        }
    };
}

names!(Structure {
    Composite = "composite",
    CompositeRecency = "composite_recency",
    Embedded = "embedded",
    Eager = "eager",
    Lazy = "lazy",
    PsTree = "ps_tree",
});
names!(Maintenance { Synchronous = "synchronous", Validated = "validated", Deferred = "deferred" });
names!(Validator { Primary = "primary", KeyIndex = "key_index", Filters = "filters", Hash = "hash" });
names!(IndexState { Building = "building", Ready = "ready", Invalid = "invalid" });

/// The definition of an index: a name, and the path of the attribute in records of JSON.
///
/// A record has an entry if the path leads to a bool, a number or a string in it: `$.city`, `$.address.city`, `$['odd name']`,
/// `$.list[0]`. Where it leads nowhere, to null, to an object or an array, there is none, and that is no error. Values of different types
/// are never equal: `7` and `"7"` are two.
///
/// ```
/// use sidekey::{IndexSpec, Maintenance};
/// let spec = IndexSpec::new("by_city", "$.address.city").maintenance(Maintenance::Synchronous);
/// assert_eq!(spec.name, "by_city");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct IndexSpec {
    /// The index's name, unique in its collection: 1 to 255 bytes.
    pub name: String,
    /// The JSON path of the attribute, for example `$.address.city`.
    pub attribute: String,
    /// The structure; [`Structure::Composite`] unless set.
    pub structure: Structure,
    /// The maintenance; [`Maintenance::Validated`] unless set.
    pub maintenance: Maintenance,
    /// The validator; [`Validator::Primary`] unless set. A synchronous index is clean and asks none.
    pub validator: Validator,
}

impl IndexSpec {
    /// An index called `name` on the attribute that the JSON path `attribute` leads to.
    pub fn new(name: impl Into<String>, attribute: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            attribute: attribute.into(),
            structure: Structure::Composite,
            maintenance: Maintenance::Validated,
            validator: Validator::Primary,
        }
    }

    /// Sets the structure.
    pub fn structure(mut self, structure: Structure) -> Self {
        self.structure = structure;
        self
    }

    /// Sets the maintenance.
    pub fn maintenance(mut self, maintenance: Maintenance) -> Self {
        self.maintenance = maintenance;
        self
    }

    /// Sets the validator.
    pub fn validator(mut self, validator: Validator) -> Self {
        self.validator = validator;
        self
    }
}

/// The durable state of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum IndexState {
    /// Being built from the records that were there; answers no query.
    Building,
    /// Answers queries.
    Ready,
    /// The build ended without success: drop the index, mend the cause, and create it again.
    Invalid,
}

/// An index as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct IndexInfo {
    /// Its definition.
    pub spec: IndexSpec,
    /// Its state.
    pub state: IndexState,
}
