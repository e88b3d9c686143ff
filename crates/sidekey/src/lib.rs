//! Sidekey: an embedded, log-structured key-value store whose secondary indexes are first-class.

