//! Reading a file into memory, up to a size.

use std::io::{Error, ErrorKind, Result};
use std::path::Path;

/// The bytes of a file; devices, pipes and files above `limit` bytes are refused before anything is
/// read.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let data = std::fs::metadata(path)?;
    if !data.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is no file"));
    }
    if data.len() > limit {
        let problem = format!("it has {} bytes, at most {limit} are read; split it", data.len());
        return Err(Error::new(ErrorKind::FileTooLarge, problem));
    }
    std::fs::read(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_or_too_large_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, [7; 10]).unwrap();
        assert_eq!(read(&path, 10).unwrap(), [7; 10]);
        assert!(read(&path, 9).unwrap_err().to_string().contains("10 bytes"));
        assert!(read(folder.path(), 9).unwrap_err().to_string().contains("no file"));
        // A hole of a terabyte takes no room on the disk.
        if std::fs::File::options().write(true).open(&path).unwrap().set_len(1 << 40).is_ok() {
            assert_eq!(read(&path, 1 << 30).unwrap_err().kind(), ErrorKind::FileTooLarge);
        }
    }
}
