//! Newtypes for everything that is counted or numbered.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

id!(
    /// A sequence number: 56 bits, strictly increasing over the whole database. Zero is "before everything".
    Sqn(u64)
);
id!(
    /// A collection's number; never reused.
    CollectionId(u32)
);
id!(
    /// An index's incarnation number: unique over the database's life, never reused, the first part of its keys.
    Incarnation(u32)
);
id!(
    /// An attribute's number within its collection; never reused.
    AttributeId(u32)
);
id!(
    /// The state of a collection's attribute catalog that a record header was extracted under. It rises when an
    /// attribute is added, never otherwise; zero knows no attribute.
    Epoch(u32)
);
id!(
    /// A file's number; one sequence over tables, logs and manifests, never reused.
    FileNumber(u64)
);

impl Sqn {
    /// The largest sequence number that fits.
    pub const MAX: Sqn = Sqn((1 << 56) - 1);
    /// Before every write.
    pub const ZERO: Sqn = Sqn(0);

    /// The next one.
    pub fn next(self) -> Sqn {
        Sqn(self.0 + 1)
    }
}

/// Which of a collection's two trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum TreeKind {
    /// pk → record header and value.
    Primary,
    /// incarnation ++ attribute ++ pk → nothing; holds all LSM-kept indexes of the collection.
    Index,
}

impl TreeKind {
    /// Both, in storage order.
    pub const ALL: [TreeKind; 2] = [TreeKind::Primary, TreeKind::Index];
}
