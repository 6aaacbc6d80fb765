//! One numpy array: numbers or texts of any shape, in row-major order.

use std::io::Read;

use super::NpzError;
use super::header::{Header, Kind};

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

/// Elements unpacked at a time.
const CHUNK: u64 = 8192;

impl Array {
    /// Reads an array that takes at most `limit` bytes of memory; returns how many it takes.
    ///
    /// The elements are unpacked a few at a time, so that a header that lies costs nothing.
    pub fn read(key: &str, reader: &mut impl Read, limit: u64) -> Result<(Self, u64), NpzError> {
        let fail = |problem: String| NpzError::Array { key: key.into(), problem };
        let header = Header::read(reader).map_err(fail)?;
        let element = if header.kind == Kind::Text { 4 * header.size } else { header.size };
        let in_memory = match header.kind {
            Kind::Text => (element + size_of::<String>()) as u64,
            _ => size_of::<f64>() as u64,
        };
        let too_large = || NpzError::TooLarge { key: key.into(), limit };
        let count = header.shape.iter().try_fold(1u64, |count, &extent| count.checked_mul(extent));
        let count = count.ok_or_else(too_large)?;
        let memory = count.checked_mul(in_memory).filter(|&memory| memory <= limit).ok_or_else(too_large)?;
        let (mut numbers, mut texts) = (Vec::new(), Vec::new());
        let mut chunk = Vec::new();
        let mut left = count;
        while left > 0 {
            let wanted = left.min(CHUNK);
            let bytes = wanted * element as u64;
            chunk.clear();
            let unpacked = reader.take(bytes).read_to_end(&mut chunk);
            unpacked.map_err(|error| fail(format!("cannot be unpacked: {error}; save it again")))?;
            if chunk.len() as u64 != bytes {
                let (there, needed) =
                    (element as u64 * (count - left) + chunk.len() as u64, count * element as u64);
                return Err(fail(format!(
                    "should have {needed} bytes, but only {there} are there; save it again"
                )));
            }
            if header.big_endian {
                let unit = if header.kind == Kind::Text { 4 } else { element };
                chunk.chunks_exact_mut(unit).for_each(<[u8]>::reverse);
            }
            for bytes in chunk.chunks_exact(element) {
                if header.kind == Kind::Text {
                    texts.push(
                        text(bytes)
                            .ok_or_else(|| fail("has texts that are not Unicode; save it again".into()))?,
                    );
                } else {
                    numbers.push(number(header.kind, bytes));
                }
            }
            left -= wanted;
        }
        // Only the end of an archive's entry tells whether its checksum holds.
        match reader.read(&mut [0]) {
            Ok(0) => {}
            Ok(_) => return Err(fail("has more bytes than its shape says; save it again".into())),
            Err(error) => return Err(fail(format!("cannot be unpacked: {error}; save it again"))),
        }
        let shape: Vec<usize> = header.shape.iter().map(|&extent| extent as usize).collect();
        let data = match header.kind {
            Kind::Text => Data::Texts(if header.fortran { row_major(&shape, &texts) } else { texts }),
            _ => Data::Numbers(if header.fortran { row_major(&shape, &numbers) } else { numbers }),
        };
        Ok((Self { shape, data }, memory))
    }
}

/// The value of little-endian bytes.
fn number(kind: Kind, bytes: &[u8]) -> f64 {
    let mut eight = [0; 8];
    eight[..bytes.len()].copy_from_slice(bytes);
    let unused = 64 - 8 * bytes.len() as u32;
    match (kind, bytes.len()) {
        (Kind::Float, 4) => f64::from(f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])),
        (Kind::Float, _) => f64::from_le_bytes(eight),
        (Kind::Int, _) => ((i64::from_le_bytes(eight) << unused) >> unused) as f64,
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
            Err(NpzError::TooLarge { limit: 1000, .. })
        ));
        // One byte stored takes eight in memory.
        assert!(matches!(read(&npy("|u1", "False", "(200,)", &[0; 200])), Err(NpzError::TooLarge { .. })));
        assert!(matches!(read(&npy("<f4", "False", "(1,)", &[0; 8])), Err(NpzError::Array { .. })));
        assert!(matches!(read(&npy("<f8", "False", "(200,)", &[])), Err(NpzError::TooLarge { .. })));
        assert!(matches!(read(&npy("<f4", "False", "(3,)", &[0; 8])), Err(NpzError::Array { .. })));
        assert!(matches!(read(&npy("<c8", "False", "(1,)", &[0; 8])), Err(NpzError::Array { .. })));
        assert!(matches!(read(b"not numpy"), Err(NpzError::Array { .. })));
    }
}
