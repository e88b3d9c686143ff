//! One logged operation.
//!
//! ```text
//!   tag u8                bits 0-3: 0 delete, 1 put; 2 range delete and 3 merge are reserved
//!                         bit 4: an old version is named; bits 5-7: zero
//!   collection varint
//!   pk         slice      (varint length, bytes)
//!   header     slice      record header, opaque here
//!   value      slice      only of a put
//!   old sqn    varint     only with bit 4
//!   old header slice      only with bit 4
//! ```
//!
//! The sqn is not stored: it is the record's first sqn plus the operation's place, so that a writer encodes before it
//! knows its sqn.

use crate::base::coding::{Reader, put_slice, put_varint};
use crate::base::error::Damage;
use crate::base::ids::{CollectionId, Sqn};
use crate::base::key::Kind;

const TAG_DELETE: u8 = 0;
const TAG_PUT: u8 = 1;
const TAG_RANGE_DELETE: u8 = 2;
const TAG_MERGE: u8 = 3;
const TAG_MASK: u8 = 0x0F;
const WITH_OLD: u8 = 0x10;

/// An operation as the log holds it: enough to redo it without looking anything up (WAL-6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Op<'a> {
    pub collection: CollectionId,
    pub kind: Kind,
    /// Not encoded; see the module.
    pub sqn: Sqn,
    pub pk: &'a [u8],
    /// Encoded record header: attributes, epoch, flags.
    pub header: &'a [u8],
    /// Empty for a delete, which stores none.
    pub value: &'a [u8],
    /// The version that this one overwrites, where the writer knew it.
    pub old: Option<OldVersion<'a>>,
}

/// An overwritten version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OldVersion<'a> {
    pub sqn: Sqn,
    /// Its encoded record header.
    pub header: &'a [u8],
}

/// Where an encoded operation stands in its payload, and its parts in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpPlace {
    start: usize,
    /// Counted from the start.
    pk: [usize; 2],
    header: [usize; 2],
    end: usize,
}

impl OpPlace {
    /// The operation's bytes.
    pub fn op<'a>(&self, payload: &'a [u8]) -> &'a [u8] {
        self.part(payload, [0, self.end])
    }

    /// The primary key.
    pub fn pk<'a>(&self, payload: &'a [u8]) -> &'a [u8] {
        self.part(payload, self.pk)
    }

    /// The encoded record header.
    pub fn header<'a>(&self, payload: &'a [u8]) -> &'a [u8] {
        self.part(payload, self.header)
    }

    /// Where the first byte of the record header stands in the payload.
    pub(super) fn header_start(&self) -> usize {
        self.start + self.header[0]
    }

    /// The same operation, copied to another place.
    pub(super) fn at(self, start: usize) -> OpPlace {
        OpPlace { start, ..self }
    }

    #[inline]
    fn part<'a>(&self, payload: &'a [u8], [from, to]: [usize; 2]) -> &'a [u8] {
        payload.get(self.start + from..self.start + to).unwrap_or_default()
    }
}

/// Appends an operation to a buffer, whose payload starts at `base`.
pub(crate) fn encode_op(out: &mut Vec<u8>, base: usize, op: &Op<'_>) -> OpPlace {
    debug_assert!(op.kind == Kind::Put || op.value.is_empty(), "a delete has no value");
    // Tag and at most five varints beside the parts; an old version makes room for itself.
    out.reserve(op.pk.len() + op.header.len() + op.value.len() + 32);
    let start = out.len();
    let tag = match op.kind {
        Kind::Delete => TAG_DELETE,
        Kind::Put => TAG_PUT,
    };
    out.push(tag);
    put_varint(out, u64::from(op.collection.0));
    put_slice(out, op.pk);
    let pk = out.len() - start;
    put_slice(out, op.header);
    let header = out.len() - start;
    if op.kind == Kind::Put {
        put_slice(out, op.value);
    }
    let (pk, header) = ([pk - op.pk.len(), pk], [header - op.header.len(), header]);
    let mut place = OpPlace { start: start - base, pk, header, end: out.len() - start };
    if let Some(old) = &op.old {
        add_old(out, base, &mut place, old);
    }
    place
}

/// Adds the overwritten version to the operation at the end of a buffer, which has none yet.
pub(crate) fn add_old(out: &mut Vec<u8>, base: usize, place: &mut OpPlace, old: &OldVersion<'_>) {
    let start = base + place.start;
    debug_assert_eq!(start + place.end, out.len(), "an old version stands at its operation's end");
    if let Some(tag) = out.get_mut(start) {
        debug_assert!(*tag & WITH_OLD == 0, "one old version");
        *tag |= WITH_OLD;
    }
    put_varint(out, old.sqn.0);
    put_slice(out, old.header);
    place.end = out.len() - start;
}

/// The operations of a payload of `count` operations, the first of which has `first_sqn`. Stops after the first damage; bytes
/// that are left over are damage too.
pub(crate) fn decode_ops(payload: &[u8], first_sqn: Sqn, count: u32) -> Ops<'_> {
    Ops { reader: Reader::new(payload), next_sqn: first_sqn, left: count, done: false }
}

/// See [`decode_ops`].
#[derive(Debug)]
pub(crate) struct Ops<'a> {
    reader: Reader<'a>,
    next_sqn: Sqn,
    left: u32,
    done: bool,
}

impl<'a> Iterator for Ops<'a> {
    type Item = Result<Op<'a>, Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        if self.left == 0 {
            self.done = true;
            return (!self.reader.is_empty()).then(|| Err(self.reader.damage("bytes behind the last operation")));
        }
        let op = decode_op(&mut self.reader, self.next_sqn);
        self.left -= 1;
        self.next_sqn = self.next_sqn.next();
        self.done = op.is_err();
        Some(op)
    }
}

fn decode_op<'a>(r: &mut Reader<'a>, sqn: Sqn) -> Result<Op<'a>, Damage> {
    let start = r.position();
    let tag = r.u8()?;
    let kind = match tag & TAG_MASK {
        TAG_DELETE => Kind::Delete,
        TAG_PUT => Kind::Put,
        TAG_RANGE_DELETE => return Err(Damage::new(start, "range deletes are reserved for a later version")),
        TAG_MERGE => return Err(Damage::new(start, "merges are reserved for a later version")),
        _ => return Err(Damage::new(start, "unknown kind of operation")),
    };
    if tag & !(TAG_MASK | WITH_OLD) != 0 {
        return Err(Damage::new(start, "unknown flag of an operation"));
    }
    let collection = CollectionId(r.varint32()?);
    let pk = r.slice()?;
    let header = r.slice()?;
    let value = if kind == Kind::Put { r.slice()? } else { &[] };
    let old = if tag & WITH_OLD != 0 {
        let at = r.position();
        let old = OldVersion { sqn: Sqn(r.varint()?), header: r.slice()? };
        if old.sqn >= sqn {
            return Err(Damage::new(at, "the old version is not older"));
        }
        Some(old)
    } else {
        None
    };
    Ok(Op { collection, kind, sqn, pk, header, value, old })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    struct Owned {
        collection: u32,
        put: bool,
        parts: [Vec<u8>; 3],
        old: Option<(u64, Vec<u8>)>,
    }

    impl Owned {
        fn op(&self, sqn: Sqn) -> Op<'_> {
            Op {
                collection: CollectionId(self.collection),
                kind: if self.put { Kind::Put } else { Kind::Delete },
                sqn,
                pk: &self.parts[0],
                header: &self.parts[1],
                value: if self.put { &self.parts[2] } else { &[] },
                old: self.old.as_ref().map(|(sqn, header)| OldVersion { sqn: Sqn(*sqn), header }),
            }
        }
    }

    fn ops() -> impl Strategy<Value = Vec<Owned>> {
        let bytes = || proptest::collection::vec(any::<u8>(), 0..200);
        let op =
            (any::<u32>(), any::<bool>(), [bytes(), bytes(), bytes()], proptest::option::of((0..1000u64, bytes())))
                .prop_map(|(collection, put, parts, old)| Owned { collection, put, parts, old });
        proptest::collection::vec(op, 0..8)
    }

    fn encode(ops: &[Owned]) -> Vec<u8> {
        let mut payload = vec![];
        ops.iter().for_each(|op| {
            encode_op(&mut payload, 0, &op.op(Sqn::ZERO));
        });
        payload
    }

    proptest! {
        #[test]
        fn operations_survive_with_consecutive_sqns(ops in ops()) {
            let payload = encode(&ops);
            let decoded: Vec<_> = decode_ops(&payload, Sqn(1000), ops.len() as u32).collect::<Result<_, _>>().unwrap();
            let expected: Vec<_> = ops.iter().zip(1000..).map(|(op, sqn)| op.op(Sqn(sqn))).collect();
            prop_assert_eq!(decoded, expected);
        }

        #[test]
        fn a_place_leads_to_the_parts_and_takes_an_old_version_later(ops in ops(), lead in 0usize..3) {
            let mut buffer = vec![0xEE; lead];
            for owned in &ops {
                let op = owned.op(Sqn(1000));
                let mut place = encode_op(&mut buffer, lead, &Op { old: None, ..op.clone() });
                if let Some(old) = &op.old {
                    add_old(&mut buffer, lead, &mut place, old);
                }
                let payload = &buffer[lead..];
                prop_assert_eq!((place.pk(payload), place.header(payload)), (op.pk, op.header));
                prop_assert_eq!(decode_ops(place.op(payload), Sqn(1000), 1).next().unwrap().unwrap(), op.clone());
                prop_assert_eq!(payload[place.header_start()..].get(..op.header.len()), Some(op.header));
            }
            prop_assert_eq!(&buffer[lead..], &encode(&ops)[..]);
        }

        #[test]
        fn a_wrong_count_or_end_is_damage(ops in ops(), cut in 0usize..10) {
            let payload = encode(&ops);
            let damaged = |bytes: &[u8], count| decode_ops(bytes, Sqn(1000), count).any(|op| op.is_err());
            prop_assert!(damaged(&payload, ops.len() as u32 + 1));
            if !ops.is_empty() {
                prop_assert!(damaged(&payload, ops.len() as u32 - 1));
                prop_assert!(damaged(&payload[..payload.len().saturating_sub(cut + 1)], ops.len() as u32));
            }
        }

        #[test]
        fn any_bytes_end_in_operations_or_one_damage(bytes: Vec<u8>, count: u32) {
            let seen: Vec<_> = decode_ops(&bytes, Sqn(1), count).collect();
            let damages = seen.iter().filter(|op| op.is_err()).count();
            prop_assert!(damages <= 1);
            prop_assert!(damages == 0 || seen.last().is_some_and(|op| op.is_err()));
        }
    }

    #[test]
    fn reserved_and_unknown_tags_are_damage() {
        for tag in (2..16).chain([0x20, 0x41, 0x80]) {
            let payload = [tag, 0, 0, 0, 0];
            let first = decode_ops(&payload, Sqn(1), 1).next().unwrap();
            assert_eq!(first.unwrap_err().offset, 0, "tag {tag:#x}");
        }
    }

    #[test]
    fn an_old_version_that_is_not_older_is_damage() {
        let owned = Owned { collection: 1, put: true, parts: Default::default(), old: Some((5, vec![])) };
        let payload = encode(&[owned]);
        assert!(decode_ops(&payload, Sqn(6), 1).next().unwrap().is_ok());
        assert!(decode_ops(&payload, Sqn(5), 1).next().unwrap().is_err());
    }
}
