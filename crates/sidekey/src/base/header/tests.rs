use super::*;
use crate::base::error::ErrorKind;
use crate::base::value::tests::{encoded, values};
use proptest::prelude::*;
use std::collections::BTreeSet;

type Attribute = (AttributeId, Vec<u8>);

fn attributes() -> impl Strategy<Value = Vec<Attribute>> {
    let id = prop_oneof![4 => 0u32..4, 1 => any::<u32>()];
    prop::collection::vec((id, values()), 0..12).prop_map(|list| {
        let set: BTreeSet<Attribute> = list.into_iter().map(|(id, value)| (AttributeId(id), encoded(&value))).collect();
        set.into_iter().collect()
    })
}

fn header(blind: bool, opaque: bool, epoch: u32, attributes: &[Attribute]) -> Vec<u8> {
    let mut out = vec![];
    encode(&mut out, blind, opaque, Epoch(epoch), attributes).unwrap();
    out
}

proptest! {
    #[test]
    fn a_header_gives_back_what_was_put_in(
        list in attributes(), blind: bool, opaque: bool, epoch: u32, value in prop::collection::vec(any::<u8>(), 0..4),
    ) {
        let opaque = opaque && list.is_empty();
        let bytes = header(blind, opaque, epoch, &list);
        let mut record = bytes.clone();
        record.extend(&value);
        let (h, rest) = HeaderRef::decode(&record).unwrap();
        prop_assert_eq!(rest, &value[..]);
        prop_assert_eq!((h.is_blind(), h.is_opaque(), h.epoch()), (blind, opaque, Epoch(epoch)));
        prop_assert_eq!(h.bytes(), &bytes[..]);
        prop_assert_eq!(is_blind(&record), blind);
        let back: Vec<Attribute> = h.attributes().map(|(id, v)| (id, v.to_vec())).collect();
        prop_assert_eq!(&back, &list);
        for id in list.iter().map(|(id, _)| *id).chain([AttributeId(0), AttributeId(3), AttributeId(u32::MAX)]) {
            let of_id: Vec<&[u8]> = list.iter().filter(|(other, _)| *other == id).map(|(_, v)| &v[..]).collect();
            prop_assert_eq!(h.values_of(id).collect::<Vec<_>>(), of_id);
        }
        for cut in 0..bytes.len() {
            prop_assert!(HeaderRef::decode(&bytes[..cut]).is_err());
        }
    }

    #[test]
    fn any_bytes_decode_to_a_canonical_header_or_damage(
        bytes in prop_oneof![any::<Vec<u8>>(), prop::collection::vec(0u8..4, 0..24)],
    ) {
        if let Ok((h, rest)) = HeaderRef::decode(&bytes) {
            let list: Vec<Attribute> = h.attributes().map(|(id, v)| (id, v.to_vec())).collect();
            let mut again = header(false, h.is_opaque(), h.epoch().0, &list);
            set_doubt(&mut again, doubt(&bytes));
            prop_assert_eq!(&again[..], h.bytes());
            prop_assert_eq!(again.len() + rest.len(), bytes.len());
            let _printed = h.to_string();
        }
    }

    #[test]
    fn setting_blind_changes_nothing_else(list in attributes(), was: bool, becomes: bool) {
        let mut bytes = header(was, false, 9, &list);
        set_blind(&mut bytes, becomes);
        prop_assert_eq!(bytes, header(becomes, false, 9, &list));
    }
}

#[test]
fn doubt_is_told_and_set_without_touching_the_rest() {
    for (flags, blind, behind) in [(0, false, false), (1, true, false), (4, false, true), (5, true, true)] {
        let mut bytes = header(!blind, true, 3, &[]);
        set_doubt(&mut bytes, Doubt { blind, behind });
        assert_eq!(bytes, [2 | flags, 3, 0]);
        assert_eq!((doubt(&bytes), doubt(&bytes).any()), (Doubt { blind, behind }, flags != 0));
    }
}

#[test]
fn headers_keep_their_golden_bytes() {
    let list: Vec<Attribute> =
        [(2, "a"), (2, "b"), (7, "")].map(|(id, s)| (AttributeId(id), encoded(&s.into()))).into();
    let golden = [1, 0x80, 1, 3, 2, 4, 0x40, b'a', 0, 1, 0, 4, 0x40, b'b', 0, 1, 5, 3, 0x40, 0, 1];
    assert_eq!(header(true, false, 128, &list), golden);
    assert_eq!(header(false, true, 5, &[]), [2, 5, 0]);
    assert_eq!(header(false, false, 0, &[]), [0, 0, 0]);
}

#[test]
fn malformed_headers_are_damage() {
    let what = |bytes: &[u8]| HeaderRef::decode(bytes).unwrap_err().what;
    assert_eq!(what(&[]), "ends early");
    assert_eq!(what(&[8, 0, 0]), "unknown flag in a record header");
    assert_eq!(what(&[2, 0, 1, 0, 1, 0x10]), "record header of an opaque value has attributes");
    assert_eq!(what(&[0, 0xff, 0xff, 0xff, 0xff, 0x7f, 0]), "integer overflows 32 bits");
    assert_eq!(what(&[0, 0, 1, 0, 0]), "attribute has an impossible length");
    assert_eq!(what(&[0, 0, 2, 0, 1, 0x11, 0, 1, 0x10]), "values of an attribute are not ascending");
    assert_eq!(what(&[0, 0, 2, 0, 1, 0x11, 0, 1, 0x11]), "values of an attribute are not ascending");
    assert_eq!(what(&[0, 0, 2, 1, 1, 0x11, 0xff, 0xff, 0xff, 0xff, 0x0f, 1, 0x11]), "attribute id overflows");
    assert_eq!(what(&[0, 0, 0xff, 0xff, 0xff, 0xff, 0x7f]), "ends early");
}

#[test]
fn a_header_over_the_limit_is_refused_by_both_sides() {
    let list: Vec<Attribute> = (0..16).map(|id| (AttributeId(id), vec![0x55; 4096])).collect();
    let mut out = vec![9];
    let error = encode(&mut out, false, false, Epoch(1), &list).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("65536"), "{error}");
    assert_eq!(out, [9]);
    encode(&mut out, false, false, Epoch(1), &list[..15]).unwrap();
    let mut bytes = vec![0, 1, 16];
    for i in 0..16u8 {
        bytes.extend([i.min(1), 0x80, 0x20]);
        bytes.extend([0x55; 4096]);
    }
    assert_eq!(HeaderRef::decode(&bytes).unwrap_err().what, "record header is over its limit");
}

#[test]
fn attributes_out_of_order_are_the_engines_own_fault() {
    let (a, b) = ((AttributeId(1), vec![0x10]), (AttributeId(2), vec![0x10]));
    for list in [[b.clone(), a.clone()], [a.clone(), a.clone()]] {
        let mut out = vec![];
        assert_eq!(encode(&mut out, false, false, Epoch(0), &list).unwrap_err().kind(), ErrorKind::Internal);
        assert!(out.is_empty());
    }
    assert_eq!(encode(&mut vec![], false, true, Epoch(0), &[a]).unwrap_err().kind(), ErrorKind::Internal);
}

#[test]
fn headers_print_their_flags_and_attributes() {
    let list =
        [(AttributeId(1), encoded(&42.into())), (AttributeId(2), encoded(&"x".into())), (AttributeId(3), vec![9])];
    let bytes = header(true, false, 3, &list);
    let (h, _) = HeaderRef::decode(&bytes).unwrap();
    assert_eq!(h.to_string(), r#"epoch 3 blind {1: 42, 2: "x", 3: damaged (unknown attribute type)}"#);
    assert_eq!(format!("{h:?}"), format!("Header({h})"));
    let bytes = header(false, true, 0, &[]);
    assert_eq!(HeaderRef::decode(&bytes).unwrap().0.to_string(), "epoch 0 opaque {}");
}
