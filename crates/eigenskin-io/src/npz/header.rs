//! What stands before the numbers of a numpy array:
//! `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`, read without recursion and
//! without believing any length.

use std::io::Read;

/// How the elements are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    pub kind: Kind,
    /// bytes of a number; characters of a text
    pub size: usize,
    pub big_endian: bool,
    /// whether the first axis runs fastest
    pub fortran: bool,
    /// `axis`
    pub shape: Vec<u64>,
}

/// What an element is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Float,
    Int,
    Uint,
    Text,
}

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Headers of plain arrays have some hundred bytes.
const LONGEST_HEADER: u32 = 1 << 16;
/// Axes that numpy allows.
const MOST_AXES: usize = 64;
/// Characters of a text at most.
const LONGEST_TEXT: usize = 4096;

impl Header {
    /// Reads a header; an error says what is wrong, to follow the name of the array.
    pub fn read(reader: &mut impl Read) -> Result<Self, String> {
        let mut start = [0; 8];
        let no_array = |why: &str| format!("is no numpy array: {why}; save it with numpy.save or savez");
        let cut_off = |error: std::io::Error| no_array(&format!("its header is cut off ({error})"));
        reader.read_exact(&mut start).map_err(cut_off)?;
        if !start.starts_with(MAGIC) {
            return Err(no_array("it does not begin with NUMPY"));
        }
        let length = match start[6] {
            1 => {
                let mut length = [0; 2];
                reader.read_exact(&mut length).map_err(cut_off)?;
                u32::from(u16::from_le_bytes(length))
            }
            2 | 3 => {
                let mut length = [0; 4];
                reader.read_exact(&mut length).map_err(cut_off)?;
                u32::from_le_bytes(length)
            }
            version => return Err(format!("has version {version} of npy, known are 1 to 3; save it again")),
        };
        if length > LONGEST_HEADER {
            return Err(no_array(&format!("its header claims {length} bytes")));
        }
        let mut text = Vec::new();
        reader.take(u64::from(length)).read_to_end(&mut text).map_err(cut_off)?;
        if text.len() < length as usize {
            return Err(no_array("its header is cut off"));
        }
        Words { text: &text, at: 0 }.header()
    }
}

/// The text of a header, and how far it was read.
struct Words<'a> {
    text: &'a [u8],
    at: usize,
}

impl Words<'_> {
    fn header(&mut self) -> Result<Header, String> {
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        self.expect(b'{')?;
        while self.peek() != Some(b'}') {
            let key = self.quoted()?;
            self.expect(b':')?;
            match key.as_str() {
                "descr" if self.peek() == Some(b'[') => {
                    return Err("has records for elements; save plain numbers".into());
                }
                "descr" => descr = Some(self.quoted()?),
                "fortran_order" => fortran = Some(self.truth()?),
                "shape" => shape = Some(self.extents()?),
                _ => return Err(format!("has {key:?} in its header; save it again with numpy.save")),
            }
            if self.peek() == Some(b',') {
                self.at += 1;
            }
        }
        let (Some(descr), Some(fortran), Some(shape)) = (descr, fortran, shape) else {
            return Err("lacks descr, fortran_order or shape in its header; save it again".into());
        };
        let (kind, size, big_endian) = element(&descr)?;
        Ok(Header { kind, size, big_endian, fortran, shape })
    }

    /// The next character that is no space.
    fn peek(&mut self) -> Option<u8> {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn expect(&mut self, character: u8) -> Result<(), String> {
        if self.peek() == Some(character) {
            self.at += 1;
            Ok(())
        } else {
            Err(self.damaged())
        }
    }

    fn quoted(&mut self) -> Result<String, String> {
        let quote = self.peek().filter(|c| matches!(c, b'\'' | b'"')).ok_or_else(|| self.damaged())?;
        let inside = &self.text[self.at + 1..];
        let end = inside.iter().position(|&c| c == quote).ok_or_else(|| self.damaged())?;
        self.at += end + 2;
        Ok(String::from_utf8_lossy(&inside[..end]).chars().take(40).collect())
    }

    fn truth(&mut self) -> Result<bool, String> {
        self.peek();
        for (word, value) in [(&b"True"[..], true), (&b"False"[..], false)] {
            if self.text[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.damaged())
    }

    fn extents(&mut self) -> Result<Vec<u64>, String> {
        let close = match self.peek() {
            Some(b'(') => b')',
            Some(b'[') => b']',
            _ => return Err(self.damaged()),
        };
        self.at += 1;
        let mut extents = Vec::new();
        while self.peek() != Some(close) {
            let digits = self.text[self.at..].iter().take_while(|c| c.is_ascii_digit()).count();
            let number = std::str::from_utf8(&self.text[self.at..self.at + digits]).unwrap_or("");
            let extent: u64 = number.parse().map_err(|_| {
                format!("has an impossible shape at character {} of its header; save it again", self.at)
            })?;
            extents.push(extent);
            if extents.len() > MOST_AXES {
                return Err(format!("has more than {MOST_AXES} axes; save it again in its documented shape"));
            }
            self.at += digits;
            // Old programs mark long numbers.
            if self.text.get(self.at) == Some(&b'L') {
                self.at += 1;
            }
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(c) if c == close => {}
                _ => return Err(self.damaged()),
            }
        }
        self.at += 1;
        Ok(extents)
    }

    fn damaged(&self) -> String {
        format!("has a damaged header at character {}; save it again with numpy.save", self.at)
    }
}

/// The element of a type text such as `<f4`: kind, size, whether big endian.
fn element(descr: &str) -> Result<(Kind, usize, bool), String> {
    let unknown = || format!("has the type {descr:?}; save f32, f64, i32, i64 or <U");
    let big_endian = descr.starts_with('>');
    let plain = descr.strip_prefix(['<', '>', '|', '=']).unwrap_or(descr);
    let letter = plain.chars().next().ok_or_else(unknown)?;
    if letter == 'O' {
        return Err("holds Python objects; save plain numbers or texts".into());
    }
    let size: usize = plain.get(1..).and_then(|digits| digits.parse().ok()).ok_or_else(unknown)?;
    let kind = match (letter, size) {
        ('f', 4 | 8) => Kind::Float,
        ('i', 1 | 2 | 4 | 8) => Kind::Int,
        ('u', 1 | 2 | 4 | 8) | ('b', 1) => Kind::Uint,
        ('U', 1..=LONGEST_TEXT) => Kind::Text,
        _ => return Err(unknown()),
    };
    Ok((kind, size, big_endian))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(text: &str) -> Result<Header, String> {
        Words { text: text.as_bytes(), at: 0 }.header()
    }

    #[test]
    fn as_numpy_and_others_write_it() {
        let expected =
            Header { kind: Kind::Float, size: 4, big_endian: false, fortran: false, shape: vec![2, 3] };
        for text in [
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }          \n",
            "{'shape':(2,3),'fortran_order':False,'descr':'<f4'}",
            "{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": [2L, 3L]}",
        ] {
            assert_eq!(header(text).unwrap(), expected, "{text}");
        }
        let scalar = header("{'descr': '>i8', 'fortran_order': True, 'shape': ()}").unwrap();
        assert_eq!((scalar.kind, scalar.big_endian, scalar.fortran), (Kind::Int, true, true));
        assert!(scalar.shape.is_empty());
    }

    #[test]
    fn what_is_wrong_is_said() {
        let message = |text: &str| header(text).unwrap_err();
        let with = |descr: &str| format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (1,)}}");
        assert!(message(&with("'|O'")).contains("Python objects"));
        assert!(message(&with("'<c8'")).contains("<c8"));
        assert!(message(&with("[('x', '<f4')]")).contains("records"));
        assert!(message("{'shape': (-1,)}").contains("impossible shape"));
        assert!(message("{'shape': (99999999999999999999,)}").contains("impossible shape"));
        assert!(message("{'shape': (1 1)}").contains("damaged"));
        assert!(message(&"(".repeat(60_000)).contains("damaged"));
        let whole = with("'<f4'");
        assert!(header(&whole).is_ok());
        for end in 0..whole.len() {
            assert!(header(&whole[..end]).is_err(), "{end}");
        }
    }
}
