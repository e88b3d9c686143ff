//! Keys on the command line: text, or hexadecimal for other bytes.

use crate::database::Database;
use crate::failure::Result;
use crate::text::from_hex;
use clap::Args;

/// How key arguments are to be read.
#[derive(Args, Clone, Copy, Debug)]
pub struct KeyForm {
    /// Keys are given in hexadecimal: 00ff
    #[arg(long)]
    pub hex: bool,
}

impl KeyForm {
    /// The bytes of a key argument.
    pub fn bytes(self, text: &str) -> Result<Vec<u8>> {
        if self.hex { from_hex(text) } else { Ok(text.as_bytes().to_vec()) }
    }
}

/// One record of a database: what the commands that work on a single record begin with.
#[derive(Args, Clone, Debug)]
pub struct RecordPlace {
    #[command(flatten)]
    pub database: Database,

    /// Collection
    pub collection: String,

    /// Primary key
    key: String,

    #[command(flatten)]
    form: KeyForm,
}

impl RecordPlace {
    /// The bytes of the key.
    pub fn key(&self) -> Result<Vec<u8>> {
        self.form.bytes(&self.key)
    }
}
