//! Runs the checks over a pinned state of the whole database.

use super::inner::Inner;
use crate::base::error::{Error, Result};
use crate::base::ids::{FileNumber, Sqn, TreeKind};
use crate::check::finding::Finding;
use crate::check::{Subject, check_directory, check_entries, check_records, check_tables};
use crate::index::spec::IndexState;
use std::collections::BTreeSet;

impl Inner {
    /// See [`crate::Db::verify`]. Records and entries are checked at the head and at every open snapshot.
    pub fn verify(&self) -> Result<Vec<Finding>> {
        // Held while it runs, whoever else releases them, so that what is pinned below stays complete at these sqns.
        let held = self.hold_all();
        let findings = self.verify_at(&held);
        held.into_iter().for_each(|sqn| self.release(sqn));
        findings
    }

    fn verify_at(&self, snapshots: &[Sqn]) -> Result<Vec<Finding>> {
        let mut findings = self.verify_directory()?;
        for core in self.all_collections() {
            let view = core.view();
            let subject = Subject { collection: &core.name, superversion: &view.superversion, set: &view.set };
            findings.extend(check_tables(&subject));
            for at in snapshots {
                findings.extend(check_records(&subject, *at)?);
                findings.extend(check_entries(&subject, *at)?);
            }
            for index in view.set.indexes.iter().filter(|i| i.info.state == IndexState::Invalid) {
                let what = format!("index '{}' is invalid; drop it and create it again", index.info.spec.name);
                findings.push(Finding { rule: "V7", collection: core.name.clone(), what });
            }
        }
        Ok(findings)
    }

    /// Under the install lock, so that no edit comes between the manifest and the directory.
    fn verify_directory(&self) -> Result<Vec<Finding>> {
        let manifest = self.manifest.lock();
        let catalog = manifest.catalog();
        let mut tables = BTreeSet::new();
        for c in catalog.collections.values() {
            TreeKind::ALL.into_iter().for_each(|tree| tables.extend(c.tables(tree).keys().copied()));
        }
        let log: BTreeSet<FileNumber> = self.log.segments().into_iter().filter(|n| *n >= catalog.log_start).collect();
        let names = self.env.files.list(&self.dir).map_err(|e| Error::io(&self.dir, "list the directory", e))?;
        Ok(check_directory(&names, &tables, manifest.number(), &log))
    }
}
