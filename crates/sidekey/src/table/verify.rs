//! The full check of a table: every byte past the cache, every statement against a recount. Nothing is changed, and one
//! finding does not hide the next.

use super::block::{Block, Cursor};
use super::filter::FilterKey;
use super::order::{common_prefix_len, sort_prefix};
use super::properties::Properties;
use super::reader::{Parts, Table};
use crate::base::error::Error;
use crate::base::ids::Sqn;
use crate::base::key;

/// Something that is wrong in a table file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Where, in bytes from the start of the file.
    pub offset: u64,
    /// What.
    pub what: String,
}

/// A check in progress.
struct Check<'a> {
    table: &'a Table,
    filter_key: FilterKey,
    findings: Vec<Finding>,
    recount: Properties,
    /// The key before, over block borders.
    last: Vec<u8>,
    /// A block could not be read: totals cannot be compared.
    incomplete: bool,
}

impl Table {
    /// Checks the whole file: checksums, order, index, filter, properties. `filter_key` is what the table was built with;
    /// `visit` is given every entry that can be read, in order, so that a caller's own checks need no second pass.
    pub fn verify(&self, filter_key: FilterKey, visit: &mut dyn FnMut(&[u8], &[u8])) -> Vec<Finding> {
        let stated = self.properties();
        let mut check = Check {
            table: self,
            filter_key,
            findings: Vec::new(),
            recount: Properties::empty(stated.compression, stated.tree),
            last: Vec::new(),
            incomplete: false,
        };
        check.parts();
        for number in 0..self.parts.index.len() {
            check.block(number, visit);
        }
        check.totals();
        check.findings
    }
}

impl Check<'_> {
    fn add(&mut self, offset: u64, what: impl Into<String>) {
        self.findings.push(Finding { offset, what: what.into() });
    }

    fn add_error(&mut self, offset: u64, error: Error) {
        match error {
            Error::Corruption { offset, what, .. } => self.add(offset, what),
            other => self.add(offset, other.to_string()),
        }
    }

    /// What is in memory was verified at open; the file may have changed since.
    fn parts(&mut self) {
        let after_data = self.table.parts.index.end();
        match Parts::read(&*self.table.file, &self.table.path, self.table.number) {
            Ok(parts) if parts == self.table.parts => {}
            Ok(_) => self.add(after_data, "filter, index or properties changed since the table was opened"),
            Err(error) => self.add_error(after_data, error),
        }
    }

    fn block(&mut self, number: usize, visit: &mut dyn FnMut(&[u8], &[u8])) {
        let table = self.table;
        let (offset, _) = table.parts.index.place(number);
        let mut cursor = Cursor::default();
        let read = table.block_from_disk(number).and_then(|block| {
            let mut more = cursor.first(&block);
            self.boundary(offset, "first", table.parts.index.first(number), cursor.key());
            let mut sqns = (Sqn::MAX, Sqn::ZERO);
            while more.map_err(|damage| table.damage(number, damage))? {
                let sqn = self.entry(offset, &block, &cursor, visit);
                sqns = (sqns.0.min(sqn), sqns.1.max(sqn));
                more = cursor.step(&block);
            }
            self.boundary(offset, "last", table.parts.index.last(number), cursor.key());
            if sqns != table.parts.index.sqns(number) {
                self.add(offset, "the block's sqn range is not what the index states");
            }
            Ok(block)
        });
        match read {
            Ok(block) => self.restarts(offset, &block),
            Err(error) => {
                self.incomplete = true;
                self.add_error(offset, error);
            }
        }
    }

    fn boundary(&mut self, offset: u64, which: &str, stated: &[u8], found: &[u8]) {
        if stated != found {
            self.add(offset, format!("the block's {which} key is not what the index states"));
        }
    }

    fn entry(&mut self, offset: u64, block: &Block, cursor: &Cursor, visit: &mut dyn FnMut(&[u8], &[u8])) -> Sqn {
        let (start, end) = cursor.value();
        let (key, value) = (cursor.key(), block.entries().get(start..end).unwrap_or_default());
        let Some((user, sqn, kind)) = key::decode(key) else {
            self.add(offset, "a key that is no internal key");
            return Sqn::ZERO;
        };
        if self.recount.entries > 0 && key::compare(&self.last, key).is_ge() {
            self.add(offset, format!("key {key:02x?} is not after the one before"));
        }
        let filter = &self.table.parts.filter;
        if filter.filtered() == self.filter_key.filtered() && !filter.may_contain(self.filter_key.of(user)) {
            self.add(offset, format!("the filter denies key {key:02x?}"));
        }
        self.recount.count(key, sqn, kind, value);
        self.last.clear();
        self.last.extend_from_slice(key);
        visit(key, value);
        sqn
    }

    /// The search array of a block says what its entries say.
    fn restarts(&mut self, offset: u64, block: &Block) {
        let mut user_keys = Vec::new();
        for restart in 0..block.restarts() {
            match block.restart_key(restart) {
                Ok(found) => user_keys.push(key::user_key(found)),
                Err(damage) => return self.add(offset, damage.what),
            }
        }
        let (first, last) = (user_keys.first().copied().unwrap_or_default(), key::user_key(&self.last));
        if block.common() != common_prefix_len(first, last) {
            self.add(offset, "the block's common prefix is not what it states");
        }
        for (restart, user) in user_keys.into_iter().enumerate() {
            if block.restart_prefix(restart) != sort_prefix(user.get(block.common()..).unwrap_or_default()) {
                self.add(offset, "a restart's prefix is not that of its key");
            }
        }
    }

    fn totals(&mut self) {
        let stated = self.table.properties();
        self.recount.largest.clone_from(&self.last);
        self.recount.data_bytes = stated.data_bytes;
        self.recount.max_blind_sqn = stated.max_blind_sqn;
        self.recount.hidden_until_sqn = stated.hidden_until_sqn;
        if !self.incomplete && self.recount != *stated {
            let what = format!("properties {stated:?} differ from a recount {:?}", self.recount);
            self.add(self.table.parts.index.end(), what);
        }
        let filtered = self.table.parts.filter.filtered();
        if filtered != super::filter::Filtered::Nothing && filtered != self.filter_key.filtered() {
            self.add(
                self.table.parts.index.end(),
                format!("the filter is over {filtered:?}, which is not expected here"),
            );
        }
    }
}
