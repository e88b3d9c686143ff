//! The kinds of error, worded as what the caller should do.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A result with the crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, and where. Cheap to clone, since every writer of a group gets the same one.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The call cannot be served as it was made: mend the argument and call again. Also: beyond a limit.
    #[error("{0}")]
    InvalidArgument(String),
    /// The combination or feature does not exist in this version.
    #[error("not supported: {0}")]
    Unsupported(String),
    /// What should be new exists with another definition, or a condition did not hold.
    #[error("{0}")]
    Conflict(String),
    /// Another process or handle holds the database, or what is asked for is still being built.
    #[error("{0}")]
    Busy(String),
    /// A byte that was read back is not the byte that was written.
    #[error("{}: corruption at offset {offset}: {what}", file.display())]
    Corruption {
        /// The file that holds the damage.
        file: PathBuf,
        /// Where in the file, in bytes from its start.
        offset: u64,
        /// What was found.
        what: String,
    },
    /// The files were made by another format, index version or setting than this build or call has.
    #[error("{0}")]
    Incompatible(String),
    /// The file system is full: free some space; reads go on, writes resume when there is space.
    #[error("{}: no space left while trying to {doing}; reads go on, and writes resume when there is space", file.display())]
    NoSpace {
        /// The file that could not grow.
        file: PathBuf,
        /// What was being done.
        doing: &'static str,
    },
    /// Writes are refused until the database is opened again; reads go on.
    #[error("the database is read-only until it is opened again, because: {0}")]
    ReadOnly(Arc<Error>),
    /// The operating system refused.
    #[error("{}: cannot {doing}: {source}", file.display())]
    Io {
        /// The file concerned.
        file: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// The operating system's error.
        source: Arc<io::Error>,
    },
    /// The database was closed.
    #[error("the database is closed")]
    Closed,
    /// A broken invariant: a fault of Sidekey itself. Writes are stopped.
    #[error("internal error, please report it: {0}")]
    Internal(String),
}

/// The kind of an [`Error`]; the names are part of the script interface and do not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// [`Error::InvalidArgument`]
    InvalidArgument,
    /// [`Error::Unsupported`]
    Unsupported,
    /// [`Error::Conflict`]
    Conflict,
    /// [`Error::Busy`]
    Busy,
    /// [`Error::Corruption`]
    Corruption,
    /// [`Error::Incompatible`]
    Incompatible,
    /// [`Error::NoSpace`]
    NoSpace,
    /// [`Error::ReadOnly`]
    ReadOnly,
    /// [`Error::Io`]
    Io,
    /// [`Error::Closed`]
    Closed,
    /// [`Error::Internal`]
    Internal,
}

impl ErrorKind {
    /// The name used in scripts and JSON output.
    pub fn name(self) -> &'static str {
        match self {
            Self::InvalidArgument => "InvalidArgument",
            Self::Unsupported => "Unsupported",
            Self::Conflict => "Conflict",
            Self::Busy => "Busy",
            Self::Corruption => "Corruption",
            Self::Incompatible => "Incompatible",
            Self::NoSpace => "NoSpace",
            Self::ReadOnly => "ReadOnly",
            Self::Io => "Io",
            Self::Closed => "Closed",
            Self::Internal => "Internal",
        }
    }
}

impl std::fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl Error {
    /// The kind, for programs that decide by it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::InvalidArgument(_) => ErrorKind::InvalidArgument,
            Self::Unsupported(_) => ErrorKind::Unsupported,
            Self::Conflict(_) => ErrorKind::Conflict,
            Self::Busy(_) => ErrorKind::Busy,
            Self::Corruption { .. } => ErrorKind::Corruption,
            Self::Incompatible(_) => ErrorKind::Incompatible,
            Self::NoSpace { .. } => ErrorKind::NoSpace,
            Self::ReadOnly(_) => ErrorKind::ReadOnly,
            Self::Io { .. } => ErrorKind::Io,
            Self::Closed => ErrorKind::Closed,
            Self::Internal(_) => ErrorKind::Internal,
        }
    }

    pub(crate) fn invalid(what: impl Into<String>) -> Self {
        Self::InvalidArgument(what.into())
    }

    pub(crate) fn internal(what: impl Into<String>) -> Self {
        Self::Internal(what.into())
    }

    pub(crate) fn corruption(file: impl Into<PathBuf>, offset: u64, what: impl Into<String>) -> Self {
        Self::Corruption { file: file.into(), offset, what: what.into() }
    }

    /// Wraps an operating system error; a full disk and a spent quota become [`Error::NoSpace`].
    pub fn io(file: &Path, doing: &'static str, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                Self::NoSpace { file: file.to_path_buf(), doing }
            }
            _ => Self::Io { file: file.to_path_buf(), doing, source: Arc::new(source) },
        }
    }
}

/// What a pure decoder found wrong in bytes from outside; the caller adds the file and the place of the buffer in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Damage {
    /// Offset within the decoded buffer.
    pub offset: usize,
    /// What was found.
    pub what: &'static str,
}

impl Damage {
    pub fn new(offset: usize, what: &'static str) -> Self {
        Self { offset, what }
    }

    /// The error for a buffer that was read at `base` of `file`.
    pub fn in_file(self, file: &Path, base: u64) -> Error {
        Error::corruption(file, base + self.offset as u64, self.what)
    }
}
