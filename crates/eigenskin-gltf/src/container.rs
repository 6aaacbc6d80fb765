//! The GLB container: a header, a JSON chunk, a binary chunk.

use super::error::GltfError;

/// The first bytes of every GLB.
pub const MAGIC: &[u8] = b"glTF";

const JSON: u32 = 0x4E4F_534A;
const BIN: u32 = 0x004E_4942;

/// The chunks of a GLB.
#[derive(Debug)]
pub struct Parts<'a> {
    /// the JSON text
    pub json: &'a [u8],
    /// the binary chunk, possibly padded
    pub binary: Option<&'a [u8]>,
}

/// Splits a GLB into its chunks. Unknown chunks are skipped, as the specification asks.
pub fn split(bytes: &[u8]) -> Result<Parts<'_>, GltfError> {
    let fail = |problem: String| GltfError::Container { problem };
    if !bytes.starts_with(MAGIC) {
        return Err(fail("it does not begin with \"glTF\"".into()));
    }
    let version = word(bytes, 4).ok_or_else(|| fail("the header is cut off".into()))?;
    if version != 2 {
        return Err(fail(format!("it has container version {version}, not 2")));
    }
    let declared = word(bytes, 8).ok_or_else(|| fail("the header is cut off".into()))? as usize;
    let bytes = bytes.get(..declared).ok_or_else(|| {
        fail(format!("it should have {declared} bytes, but only {} are there", bytes.len()))
    })?;

    let (mut json, mut binary) = (None, None);
    let mut at = 12;
    while at < bytes.len() {
        let (Some(length), Some(kind)) = (word(bytes, at), word(bytes, at + 4)) else {
            return Err(fail("a chunk header is cut off".into()));
        };
        let start = at + 8;
        let end = start.checked_add(length as usize).filter(|&end| end <= bytes.len());
        let end = end.ok_or_else(|| fail(format!("a chunk of {length} bytes is cut off")))?;
        match kind {
            JSON if json.is_none() => json = Some(&bytes[start..end]),
            BIN if binary.is_none() => binary = Some(&bytes[start..end]),
            _ => {}
        }
        at = end.next_multiple_of(4);
    }
    let json = json.ok_or_else(|| fail("it has no JSON chunk".into()))?;
    Ok(Parts { json, binary })
}

/// Puts a GLB together. An empty binary part is left out.
pub fn join(json: &[u8], binary: &[u8]) -> Result<Vec<u8>, GltfError> {
    let json_length = json.len().next_multiple_of(4);
    let binary_length = binary.len().next_multiple_of(4);
    let total = 12 + 8 + json_length + if binary.is_empty() { 0 } else { 8 + binary_length };
    let total_word = u32::try_from(total).map_err(|_| GltfError::Container {
        problem: format!("it would have {total} bytes, and a GLB holds at most 4 GiB"),
    })?;
    let mut glb = Vec::with_capacity(total);
    glb.extend_from_slice(MAGIC);
    glb.extend_from_slice(&2u32.to_le_bytes());
    glb.extend_from_slice(&total_word.to_le_bytes());
    glb.extend_from_slice(&(json_length as u32).to_le_bytes());
    glb.extend_from_slice(&JSON.to_le_bytes());
    glb.extend_from_slice(json);
    glb.resize(20 + json_length, b' ');
    if !binary.is_empty() {
        glb.extend_from_slice(&(binary_length as u32).to_le_bytes());
        glb.extend_from_slice(&BIN.to_le_bytes());
        glb.extend_from_slice(binary);
        glb.resize(total, 0);
    }
    Ok(glb)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes([four[0], four[1], four[2], four[3]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_joined_can_be_split() {
        let glb = join(b"{\"a\":1}", &[1, 2, 3]).unwrap();
        assert_eq!(glb.len() % 4, 0);
        let parts = split(&glb).unwrap();
        assert_eq!(parts.json, b"{\"a\":1} ");
        assert_eq!(parts.binary, Some(&[1, 2, 3, 0][..]));
        assert!(split(&join(b"{}", &[]).unwrap()).unwrap().binary.is_none());
    }

    #[test]
    fn every_truncation_is_an_error() {
        let glb = join(b"{\"a\":1}", &[1, 2, 3]).unwrap();
        for length in 0..glb.len() {
            assert!(split(&glb[..length]).is_err(), "{length}");
        }
        let mut absurd = glb.clone();
        absurd[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(split(&absurd).is_err());
        let mut other = glb;
        other[0] = b'x';
        assert!(split(&other).unwrap_err().to_string().contains("glTF"));
    }
}
