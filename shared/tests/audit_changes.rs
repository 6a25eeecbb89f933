//! What the audit log tells of a change: all of it, and nothing else.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use weir_shared::audit::changes::{changes, in_sections};

fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0_u8..4).prop_map(Value::from),
        "[a-b~/]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-b~/]{1,2}", inner, 0..3)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    /// Each value that is told stands at its pointer, and what is not told is equal.
    #[test]
    fn a_change_is_told_in_full_and_nothing_else(before in document(), after in document()) {
        let (was, is) = changes(&before, &after);
        prop_assert_eq!(was == is, before == after);
        for (told, whole, other) in [(&was, &before, &after), (&is, &after, &before)] {
            for (pointer, value) in told {
                prop_assert_eq!(whole.pointer(pointer), Some(value));
                prop_assert_ne!(other.pointer(pointer), Some(value));
            }
        }
        // What was there, without what it lost and with what it got, is what is there.
        let mut made = before.clone();
        for (pointer, _) in &was {
            take(&mut made, pointer);
        }
        for (pointer, value) in &is {
            put(&mut made, pointer, value.clone());
        }
        prop_assert_eq!(made, after);
    }

    /// However much changed elsewhere, every section is told of, and none more than it holds.
    #[test]
    fn no_section_of_a_large_change_hides_another(
        crowd in prop::collection::vec(0..400_usize, 1..6),
        length in 1..200_usize,
    ) {
        let mut values = Map::new();
        for (section, count) in crowd.iter().enumerate() {
            for number in 0..*count {
                values.insert(format!("/section{section}/{number}"), json!("x".repeat(length)));
            }
        }
        values.insert("/unrouted".to_owned(), json!("forward"));
        let bytes_max = 8 * 1_024;
        let told = in_sections(values.clone(), bytes_max);
        prop_assert!(told.to_string().len() <= bytes_max, "{} bytes", told.to_string().len());
        prop_assert_eq!(&told["/unrouted"], "forward");
        for (section, count) in crowd.iter().enumerate() {
            let start = format!("/section{section}/");
            let kept = told.as_object().unwrap().iter().filter(|(at, _)| at.starts_with(&start));
            let kept = kept.inspect(|(at, value)| assert_eq!(values.get(*at), Some(*value))).count();
            let rest = told[format!("/section{section}")]["values"].as_u64().unwrap_or(0);
            prop_assert_eq!(kept + rest as usize, *count);
        }
    }
}

fn unescaped(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

fn take(document: &mut Value, pointer: &str) {
    let Some((parent, name)) = pointer.rsplit_once('/') else {
        *document = Value::Null;
        return;
    };
    if let Some(members) = document.pointer_mut(parent).and_then(Value::as_object_mut) {
        members.remove(&unescaped(name));
    }
}

fn put(document: &mut Value, pointer: &str, value: Value) {
    let Some((parent, name)) = pointer.rsplit_once('/') else {
        *document = value;
        return;
    };
    let members = document.pointer_mut(parent).and_then(Value::as_object_mut);
    members.unwrap().insert(unescaped(name), value);
}
