//! The file to load: opening it, guessing its format, counting its bytes.

use super::arguments::Format;
use crate::failure::{Failure, Result};
use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::rc::Rc;

/// An opened input.
pub struct Source {
    /// Its name in messages.
    pub name: String,
    pub format: Format,
    /// Its size, if it is a regular file.
    pub size: Option<u64>,
    pub bytes_read: Rc<Cell<u64>>,
    pub reader: Box<dyn BufRead>,
}

impl Source {
    /// Opens a file, or standard input for `-`.
    pub fn open(path: &Path, format: Option<Format>) -> Result<Self> {
        let bytes_read = Rc::new(Cell::new(0));
        let standard_input = path == Path::new("-");
        let name = if standard_input { "standard input".to_owned() } else { path.display().to_string() };
        let format = match format.or_else(|| guess(path)) {
            Some(format) => format,
            None => {
                return Err(Failure::usage(format!("{name}: the format cannot be told from the name"))
                    .hint("give --format jsonl, csv or tsv"));
            }
        };
        let (input, size): (Box<dyn Read>, _) = if standard_input {
            (Box::new(io::stdin()), None)
        } else {
            let file = File::open(path).map_err(|e| Failure::file(path, "open", &e))?;
            let metadata = file.metadata().map_err(|e| Failure::file(path, "look at", &e))?;
            if metadata.is_dir() {
                return Err(Failure::usage(format!("{name} is a directory; load takes one file")));
            }
            (Box::new(file), metadata.is_file().then_some(metadata.len()))
        };
        let counting = Counting { input, bytes_read: bytes_read.clone() };
        Ok(Self { name, format, size, bytes_read, reader: Box::new(BufReader::with_capacity(256 << 10, counting)) })
    }
}

fn guess(path: &Path) -> Option<Format> {
    match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "jsonl" | "ndjson" | "json" => Some(Format::Jsonl),
        "csv" => Some(Format::Csv),
        "tsv" | "tab" => Some(Format::Tsv),
        _ => None,
    }
}

struct Counting {
    input: Box<dyn Read>,
    bytes_read: Rc<Cell<u64>>,
}

impl Read for Counting {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.bytes_read.set(self.bytes_read.get() + count as u64);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_is_guessed_from_the_extension_in_any_case() {
        assert_eq!(guess(Path::new("a.JSONL")), Some(Format::Jsonl));
        assert_eq!(guess(Path::new("b/c.csv")), Some(Format::Csv));
        assert_eq!(guess(Path::new("c.tsv")), Some(Format::Tsv));
        assert_eq!(guess(Path::new("-")), None);
        assert_eq!(guess(Path::new("data.parquet")), None);
    }
}
