//! Files written by NumPy (`testdata/arrays.py`) and by this crate.

use std::fs;

use ir_knn::npy;
use ndarray::{Array2, array};
use proptest::prelude::*;

fn file(name: &str) -> Vec<u8> {
    fs::read(format!(
        "{}/testdata/npy/{name}",
        env!("CARGO_MANIFEST_DIR")
    ))
    .unwrap()
}

#[test]
fn every_number_type_byte_order_layout_and_version() {
    let types = ["f2", "f4", "f8", "i1", "i2", "i4"];
    for name in types {
        for order in ["little", "big", "column", "v2"] {
            let name = format!("{name}.{order}.npy");
            let rows = npy::read(&file(&name)[..], &name).unwrap();
            assert_eq!(rows, array![[1.0, -2.0, 3.0], [4.0, 5.0, -60.0]], "{name}");
            assert!(rows.is_standard_layout());
        }
    }
    let rows = npy::read(&file("u2.npy")[..], "u2.npy").unwrap();
    assert_eq!(rows, array![[65535.0, 0.0]]);
    let whole = file("i8.npy");
    let rows = npy::read(&whole[..], "i8.npy").unwrap();
    assert_eq!(rows, array![[1.0, -2.0, 3.0], [4.0, 5.0, -60.0]]);
    // The same array with integers at the limit of exact conversion to `f64`, and beyond.
    let with = |value: i64| {
        let mut changed = whole.clone();
        let at = changed.len() - 8;
        changed[at..].copy_from_slice(&value.to_le_bytes());
        npy::read(&changed[..], "i8.npy")
    };
    for edge in [1 << 53, -(1 << 53)] {
        assert_eq!(with(edge).unwrap().last(), Some(&(edge as f64)));
    }
    for beyond in [(1 << 53) + 1, -(1 << 53) - 1, i64::MIN] {
        let error = with(beyond).unwrap_err().to_string();
        let expected = "expected an integer of absolute value 2^53 at most, found";
        assert!(error.ends_with(&format!("{expected} {beyond}")), "{error}");
    }
    let rows = npy::read(&file("half.npy")[..], "half.npy").unwrap();
    let expected = array![[
        65504.0,
        5.960464477539063e-8,
        -0.333251953125,
        0.00006097555160522461,
    ]];
    assert_eq!(rows, expected);
}

#[test]
fn written_files_equal_those_of_numpy() {
    let name = "f8.little.npy";
    let rows = npy::read(&file(name)[..], name).unwrap();
    let mut written = Vec::new();
    npy::write(rows.view(), &mut written).unwrap();
    assert_eq!(written, file(name));
    written.clear();
    let narrow = rows.mapv(|value| value as f32);
    npy::write(narrow.view(), &mut written).unwrap();
    assert_eq!(written, file("f4.little.npy"));
    // Values are written in C order whatever the layout.
    written.clear();
    let fortran = narrow.t().as_standard_layout().into_owned();
    npy::write(fortran.t(), &mut written).unwrap();
    assert_eq!(written, file("f4.little.npy"));
}

#[test]
fn files_of_other_formats_are_rejected() {
    let error = |bytes: &[u8]| {
        let error = npy::read(bytes, "x.npy").unwrap_err().to_string();
        assert!(error.starts_with("x.npy: "), "{error}");
        error["x.npy: ".len()..].to_owned()
    };
    let expected = "expected a .npy file, found";
    assert_eq!(error(b""), format!("{expected} an empty file"));
    assert!(error(&file("x.npz")).starts_with(&format!("{expected} a zip archive (.npz?)")));
    assert_eq!(error(&file("x.pickle")), format!("{expected} a pickle"));
    assert_eq!(
        error(b"PAR1 and more"),
        format!("{expected} a Parquet file")
    );
    assert_eq!(error(b"0.1 0.2 0.3"), format!("{expected} another format"));
    assert_eq!(error(b"\0\0"), format!("{expected} another format"));
    for cut in 1..8 {
        let error = error(&file("f8.little.npy")[..cut]);
        assert_eq!(
            error,
            "expected a complete header, found the end of the file"
        );
    }
    let shape = "expected two dimensions, vectors by components, found the shape";
    assert_eq!(error(&file("one.npy")), format!("{shape} [4]"));
    assert_eq!(error(&file("three.npy")), format!("{shape} [2, 2, 2]"));
    assert_eq!(error(&file("none.npy")), format!("{shape} []"));
    let numbers = "expected numbers (f2, f4, f8, i1, i2, i4, i8, u1, u2, u4, u8), found";
    assert_eq!(error(&file("text.npy")), format!("{numbers} \"<U3\""));
    assert_eq!(
        error(&file("record.npy")),
        format!("{numbers} \"[('a', '<f4'), ('b', '<f4')]\"")
    );
    assert_eq!(error(&file("object.npy")), format!("{numbers} \"|O\""));
    let nan = npy::read(&file("nan.npy")[..], "x.npy").unwrap_err();
    assert_eq!(nan.to_string(), "x.npy: expected vectors of finite numbers");
    let cause = std::error::Error::source(&nan).unwrap().to_string();
    assert_eq!(
        cause,
        "row 1, column 0: expected a finite number, found NaN"
    );
}

#[test]
fn damaged_headers_are_rejected() {
    let error = |dictionary: &str| {
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend((dictionary.len() as u16).to_le_bytes());
        file.extend(dictionary.as_bytes());
        npy::read(&file[..], "x").unwrap_err().to_string()
    };
    let whole = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2)}";
    assert_eq!(error(whole), "x: expected 16 bytes of values, found 0");
    let changed = |from: &str, to: &str| {
        assert!(whole.contains(from));
        error(&whole.replace(from, to))
    };
    for (from, to) in [
        ("{", ""),
        ("False", "0"),
        ("(2, 2)", "(2, -2)"),
        ("(2, 2)", "[2, 2]"),
        ("(2, 2)", "((((2, 2))))"),
        ("shape", "size"),
        ("'fortran_order': False, ", ""),
        ("}", "} x"),
    ] {
        let found = whole.replace(from, to);
        let expected = "expected a header with descr, fortran_order and shape";
        let text = format!("x: {expected}, found {found:?}");
        assert_eq!(changed(from, to), text);
    }
    assert_eq!(
        changed("(2, 2)", "(18446744073709551615, 2)"),
        "x: expected an array that fits into memory, found a larger one"
    );
    assert!(changed("(2, 2)", "(2, 0)").contains("vectors of finite numbers"));
    let version = npy::read(&b"\x93NUMPY\x04\x00"[..], "x").unwrap_err();
    assert_eq!(
        version.to_string(),
        "x: expected version 1, 2 or 3 of the .npy format, found 4.0"
    );
    let cut = npy::read(&b"\x93NUMPY\x01\x00\x76"[..], "x").unwrap_err();
    let text = "x: expected a complete header, found the end of the file";
    assert_eq!(cut.to_string(), text);
    let long = npy::read(&b"\x93NUMPY\x02\x00\xff\xff\xff\xff"[..], "x").unwrap_err();
    assert!(long.to_string().contains("at most 65536 bytes"));
}

#[test]
fn arrays_without_rows() {
    let rows = npy::read(&file("empty.npy")[..], "empty.npy").unwrap();
    assert_eq!(rows.dim(), (0, 3));
}

/// Writes what is read from any bytes: it is read again with the same values. Returns the file;
/// `None` if the bytes are rejected.
fn check_any(bytes: &[u8]) -> Option<Vec<u8>> {
    let rows = npy::read(bytes, "x").ok()?;
    let mut file = Vec::new();
    npy::write(rows.view(), &mut file).unwrap();
    assert_eq!(npy::read(&file[..], "x").unwrap(), rows);
    Some(file)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn written_arrays_are_read_back(
        values in prop::collection::vec(any::<f32>().prop_filter("finite", |v| v.is_finite()), 1..200),
        dim in 1_usize..6,
        cut in 1_usize..3000,
    ) {
        let whole = (values.len() / dim).max(1) * dim;
        let mut values: Vec<f64> = values.into_iter().map(f64::from).collect();
        values.resize(whole, 0.0);
        let rows = Array2::from_shape_vec((values.len() / dim, dim), values).unwrap();
        let (mut narrow, mut wide) = (Vec::new(), Vec::new());
        npy::write(rows.mapv(|value| value as f32).view(), &mut narrow).unwrap();
        npy::write(rows.view(), &mut wide).unwrap();
        for mut file in [narrow, wide] {
            prop_assert_eq!(&npy::read(&file[..], "x").unwrap(), &rows);
            let cut = cut % file.len();
            prop_assert!(npy::read(&file[..cut], "x").is_err());
            file.push(0);
            let error = npy::read(&file[..], "x").unwrap_err().to_string();
            prop_assert!(error.contains("expected the end of the file"), "{}", error);
        }
    }

    #[test]
    fn damaged_arrays_are_rejected_or_written_back(mut bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0..150_usize, byte: u8) {
        check_any(&bytes);
        let mut file = Vec::new();
        npy::write(array![[1.0, 2.0]].view(), &mut file).unwrap();
        let header = file.len() - 16;
        if let Some(old) = file.get_mut(at) {
            *old = byte;
        }
        if let Some(written) = check_any(&file) && at >= header {
            prop_assert_eq!(&written, &file);
        }
        file.truncate(10);
        file.append(&mut bytes);
        check_any(&file);
    }
}
