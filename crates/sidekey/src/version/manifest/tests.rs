use super::*;
use crate::base::ids::{AttributeId, CollectionId, Epoch, Sqn};
use crate::env::memory::MemoryFs;
use crate::version::edit::AttributeEntry;

/// Bytes of the confirmation behind the last record.
const CONFIRMATION: usize = 14;

fn directory() -> (MemoryFs, Arc<dyn FileSystem>, &'static Path) {
    let memory = MemoryFs::new();
    let dir = Path::new("/db");
    memory.create_dir_all(dir).unwrap();
    (memory.clone(), Arc::new(memory), dir)
}

fn edits() -> Vec<Vec<Edit>> {
    let collection = CollectionId(1);
    vec![
        vec![Edit::Collection { id: collection, name: "c".into() }],
        vec![
            Edit::Attribute {
                collection,
                id: AttributeId(1),
                entry: AttributeEntry { path: "$.a".into(), epoch: Epoch(1) },
            },
            Edit::Flushed { collection, sqn: Sqn(300) },
        ],
        vec![Edit::BlindFloor { collection, sqn: Sqn(5) }],
    ]
}

/// A manifest with three commits, and the state after each, the first being the one before them.
fn committed() -> (MemoryFs, Arc<dyn FileSystem>, &'static Path, Vec<u8>, Vec<Catalog>) {
    let (memory, files, dir) = directory();
    let catalog = Catalog { next_file: FileNumber(4), ..Catalog::default() };
    let mut manifest = Manifest::create(files.clone(), dir, catalog).unwrap();
    let mut states = vec![manifest.catalog().clone()];
    for edits in edits() {
        manifest.commit(&edits).unwrap();
        states.push(manifest.catalog().clone());
    }
    let bytes = memory.read_file(&manifest_path(dir, manifest.number())).unwrap();
    (memory, files, dir, bytes, states)
}

#[test]
fn what_was_committed_is_loaded() {
    let (_, files, dir, _, states) = committed();
    let (number, catalog) = Manifest::load(files.as_ref(), dir).unwrap();
    assert_eq!((number, &catalog), (FileNumber(4), states.last().unwrap()));
}

#[test]
fn every_truncation_loads_a_prefix_or_is_damage() {
    let (_, _, _, bytes, states) = committed();
    let mut found = 0;
    for len in 0..bytes.len() {
        match decode_manifest(&bytes[..len], FileNumber(4)) {
            Ok(catalog) => {
                let state = states.iter().position(|s| *s == catalog).expect("a state that never was");
                assert!(state >= found, "a longer file holds more");
                found = state;
            }
            Err(Bad::Damage(_)) => assert_eq!(found, 0, "{len} bytes"),
            Err(Bad::Newer(version)) => panic!("version {version} out of {len} bytes"),
        }
    }
    // The last bytes are those of the confirmation, which states nothing.
    assert_eq!(found, states.len() - 1);
}

#[test]
fn every_flipped_bit_is_damage_unless_it_is_one_of_the_confirmation() {
    let (_, _, _, bytes, states) = committed();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut bad = bytes.clone();
            bad[at] ^= 1 << bit;
            match decode_manifest(&bad, FileNumber(4)) {
                Ok(catalog) => {
                    assert_eq!(&catalog, states.last().unwrap());
                    assert!(at >= bytes.len() - CONFIRMATION, "byte {at} bit {bit}");
                }
                Err(Bad::Damage(d)) => assert!(d.offset <= bytes.len()),
                Err(Bad::Newer(version)) => panic!("version {version} out of byte {at} bit {bit}"),
            }
        }
    }
}

#[test]
fn a_newer_format_is_incompatible_and_says_so() {
    let (memory, files, dir, ..) = committed();
    let (path, number) = (manifest_path(dir, FileNumber(4)), FileNumber(4));
    let mut bytes = memory.read_file(&path).unwrap();
    bytes[8..12].copy_from_slice(&(FORMAT_VERSION + 1).to_le_bytes());
    bytes[12..16].copy_from_slice(&header_sum(FORMAT_VERSION + 1, number).to_le_bytes());
    memory.write_file(&path, &bytes).unwrap();
    let error = Manifest::load(files.as_ref(), dir).unwrap_err();
    assert!(
        matches!(&error, Error::Incompatible(text) if text.contains(&format!("format version {}", FORMAT_VERSION + 1))),
        "{error}"
    );
}

#[test]
fn a_manifest_is_not_taken_for_another_one() {
    let (_, _, _, bytes, _) = committed();
    assert!(matches!(decode_manifest(&bytes, FileNumber(5)), Err(Bad::Damage(_))));
}

#[test]
fn every_flipped_bit_and_truncation_of_current_is_damage() {
    let good = encode_current(FileNumber(4)).into_bytes();
    assert_eq!(decode_current(&good).unwrap(), FileNumber(4));
    for at in 0..good.len() {
        assert!(decode_current(&good[..at]).is_err());
        for bit in 0..8 {
            let mut bad = good.clone();
            bad[at] ^= 1 << bit;
            assert!(decode_current(&bad).is_err(), "byte {at} bit {bit}");
        }
    }
    assert!(decode_current(&[&good[..], b"\n"].concat()).is_err());
}

#[test]
fn golden_bytes() {
    let (memory, _, dir, bytes, _) = committed();
    let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(hex, GOLDEN);
    assert_eq!(memory.read_file(&current_path(dir)).unwrap(), GOLDEN_CURRENT.as_bytes());
    let bytes: Vec<u8> =
        (0..GOLDEN.len() / 2).map(|n| u8::from_str_radix(&GOLDEN[2 * n..][..2], 16).unwrap()).collect();
    assert!(decode_manifest(&bytes, FileNumber(4)).is_ok());
}

#[test]
fn rewriting_keeps_the_state_under_another_number_and_removes_the_old_file() {
    let (memory, files, dir, _, states) = committed();
    let mut manifest = Manifest::create(files.clone(), dir, states[3].clone()).unwrap();
    let first = manifest.number();
    manifest.rewrite().unwrap();
    let (number, catalog) = Manifest::load(files.as_ref(), dir).unwrap();
    assert!(number > first && catalog == *manifest.catalog());
    assert_eq!(catalog.collections, states[3].collections);
    assert!(memory.read_file(&manifest_path(dir, first)).is_err());
}

/// Changing these is a change of the format: raise [`FORMAT_VERSION`].
const GOLDEN: &str = concat!(
    "534944454b45594d01000000459ad9750400000000000000",
    "c680ccdb060000000a0000050000",
    "e6d98d550400000001010163",
    "115f073d0c0000000201010103242e610801ac02",
    "a2ccdb5503000000090105",
    "02b40640060000000a0000000000",
);
const GOLDEN_CURRENT: &str = "MANIFEST-000004 06ff95cd\n";
