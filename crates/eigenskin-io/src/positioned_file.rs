//! Reading and writing anywhere in a file, from several threads.

use std::fs::File;
use std::io::Result;

/// An open file without a place of its own.
#[derive(Debug)]
pub struct PositionedFile(pub File);

impl PositionedFile {
    /// Fills `into` with the bytes from `at` on.
    #[cfg(unix)]
    pub fn read_at(&self, into: &mut [u8], at: u64) -> Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.0, into, at)
    }

    /// Writes all bytes from `at` on.
    #[cfg(unix)]
    pub fn write_at(&self, bytes: &[u8], at: u64) -> Result<()> {
        std::os::unix::fs::FileExt::write_all_at(&self.0, bytes, at)
    }

    /// Fills `into` with the bytes from `at` on.
    #[cfg(windows)]
    pub fn read_at(&self, mut into: &mut [u8], mut at: u64) -> Result<()> {
        while !into.is_empty() {
            let count = std::os::windows::fs::FileExt::seek_read(&self.0, into, at)?;
            if count == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            into = &mut into[count..];
            at += count as u64;
        }
        Ok(())
    }

    /// Writes all bytes from `at` on.
    #[cfg(windows)]
    pub fn write_at(&self, mut bytes: &[u8], mut at: u64) -> Result<()> {
        while !bytes.is_empty() {
            let count = std::os::windows::fs::FileExt::seek_write(&self.0, bytes, at)?;
            bytes = &bytes[count..];
            at += count as u64;
        }
        Ok(())
    }
}
