//! One numpy array: numbers or texts of any shape, in row-major order.

use std::io::Read;

use npyz::{DType, Endianness, NpyHeader, Order, TypeChar};

use super::NpzError;
use super::archive::LARGEST_BUNDLE;

/// An array as it was stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    pub shape: Vec<usize>,
    pub data: Data,
}

/// The elements, last axis fastest.
#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    Numbers(Vec<f64>),
    Texts(Vec<String>),
}

impl Array {
    /// Reads an array of at most `limit` bytes; returns the number of bytes as well.
    pub fn read(key: &str, reader: &mut impl Read, limit: u64) -> Result<(Self, u64), NpzError> {
        let fail = |problem: String| NpzError::Array { key: key.into(), problem };
        let header = NpyHeader::from_reader(&mut *reader)
            .map_err(|error| fail(format!("is no numpy array: {error}")))?;
        let DType::Plain(kind) = header.dtype() else {
            return Err(fail("has records for elements; save plain numbers".into()));
        };
        let (type_char, size) = (kind.type_char(), kind.size_field());
        let element = element_size(type_char, size)
            .ok_or_else(|| fail(format!("has the type {kind}; save f32, f64, i32, i64 or <U")))?;
        let bytes = header
            .shape()
            .iter()
            .try_fold(element, |product, &extent| product.checked_mul(extent))
            .filter(|&bytes| bytes <= limit)
            .ok_or(NpzError::TooLarge { limit: LARGEST_BUNDLE })?;
        let mut raw = Vec::new();
        reader
            .take(bytes)
            .read_to_end(&mut raw)
            .map_err(|error| fail(format!("cannot be unpacked: {error}")))?;
        if raw.len() as u64 != bytes {
            return Err(fail(format!("should have {bytes} bytes, but only {} are there", raw.len())));
        }
        if kind.endianness() == Endianness::Big {
            let unit = if type_char == TypeChar::UnicodeStr { 4 } else { element as usize };
            raw.chunks_exact_mut(unit.max(1)).for_each(<[u8]>::reverse);
        }
        let shape: Vec<usize> = header.shape().iter().map(|&extent| extent as usize).collect();
        let chunks = raw.chunks_exact((element as usize).max(1));
        let data = if type_char == TypeChar::UnicodeStr {
            let texts: Option<Vec<String>> = chunks.map(text).collect();
            Data::Texts(texts.ok_or_else(|| fail("has texts that are not Unicode".into()))?)
        } else {
            Data::Numbers(chunks.map(|chunk| number(type_char, chunk)).collect())
        };
        let data = match (header.order(), data) {
            (Order::C, data) => data,
            (Order::Fortran, Data::Numbers(values)) => Data::Numbers(row_major(&shape, &values)),
            (Order::Fortran, Data::Texts(values)) => Data::Texts(row_major(&shape, &values)),
        };
        Ok((Self { shape, data }, bytes))
    }
}

fn element_size(kind: TypeChar, size: u64) -> Option<u64> {
    match (kind, size) {
        (TypeChar::Float, 4 | 8) | (TypeChar::Int | TypeChar::Uint, 1 | 2 | 4 | 8) | (TypeChar::Bool, 1) => {
            Some(size)
        }
        (TypeChar::UnicodeStr, 0..=4096) => Some(4 * size),
        _ => None,
    }
}

/// The value of little-endian bytes.
fn number(kind: TypeChar, bytes: &[u8]) -> f64 {
    let mut eight = [0; 8];
    eight[..bytes.len()].copy_from_slice(bytes);
    let unused = 64 - 8 * bytes.len() as u32;
    match (kind, bytes.len()) {
        (TypeChar::Float, 4) => f64::from(f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])),
        (TypeChar::Float, _) => f64::from_le_bytes(eight),
        (TypeChar::Int, _) => ((i64::from_le_bytes(eight) << unused) >> unused) as f64,
        _ => u64::from_le_bytes(eight) as f64,
    }
}

/// A text of four-byte characters, padded with zeros.
fn text(bytes: &[u8]) -> Option<String> {
    let code = |c: &[u8]| u32::from_le_bytes([c[0], c[1], c[2], c[3]]);
    let text: Option<String> = bytes.chunks_exact(4).map(|c| char::from_u32(code(c))).collect();
    text.map(|text| text.trim_end_matches('\0').to_string())
}

/// Elements whose first axis runs fastest, with the last axis fastest instead.
fn row_major<T: Clone>(shape: &[usize], values: &[T]) -> Vec<T> {
    let mut strides = vec![1; shape.len()];
    for axis in 1..shape.len() {
        strides[axis] = strides[axis - 1] * shape[axis - 1];
    }
    (0..values.len())
        .map(|mut index| {
            let mut at = 0;
            for axis in (0..shape.len()).rev() {
                at += index % shape[axis] * strides[axis];
                index /= shape[axis];
            }
            values[at].clone()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn npy(descr: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let mut header = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
        while (header.len() + 11) % 64 != 0 {
            header.push(' ');
        }
        header.push('\n');
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Array, NpzError> {
        Array::read("x", &mut &bytes[..], 1000).map(|(array, _)| array)
    }

    #[test]
    fn orders_types_and_texts() {
        let fortran: Vec<u8> = [1i32, 4, 2, 5, 3, -6].iter().flat_map(|v| v.to_le_bytes()).collect();
        let array = read(&npy("<i4", "True", "(2, 3)", &fortran)).unwrap();
        assert_eq!(array.data, Data::Numbers(vec![1.0, 2.0, 3.0, 4.0, 5.0, -6.0]));
        let big: Vec<u8> = [1.5f64, -2.0].iter().flat_map(|v| v.to_be_bytes()).collect();
        assert_eq!(read(&npy(">f8", "False", "(2,)", &big)).unwrap().data, Data::Numbers(vec![1.5, -2.0]));
        let words: Vec<u8> = "hé\0wxy".chars().flat_map(|c| (c as u32).to_le_bytes()).collect();
        let texts = read(&npy("<U3", "False", "(2,)", &words)).unwrap();
        assert_eq!(texts.data, Data::Texts(vec!["hé".into(), "wxy".into()]));
    }

    #[test]
    fn absurd_and_short_arrays_are_refused() {
        assert!(matches!(
            read(&npy("<f8", "False", "(1000000000000, 1000000000000)", &[])),
            Err(NpzError::TooLarge { .. })
        ));
        assert!(matches!(read(&npy("<f8", "False", "(200,)", &[])), Err(NpzError::TooLarge { .. })));
        assert!(matches!(read(&npy("<f4", "False", "(3,)", &[0; 8])), Err(NpzError::Array { .. })));
        assert!(matches!(read(&npy("<c8", "False", "(1,)", &[0; 8])), Err(NpzError::Array { .. })));
        assert!(matches!(read(b"not numpy"), Err(NpzError::Array { .. })));
    }
}
