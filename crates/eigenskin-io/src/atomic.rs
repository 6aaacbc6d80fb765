//! Files that are either wholly written or not touched at all.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Writes `bytes` to `path`: into a temporary file beside it, flushed to the disk, then renamed.
/// When anything fails the old file, if any, stays as it was.
pub fn write_file(path: impl AsRef<Path>, bytes: &[u8]) -> std::io::Result<()> {
    let path = path.as_ref();
    let mut file = FileInProgress::new(path)?;
    file.write_all(bytes)?;
    file.finish()
}

/// A file that is written piece by piece and appears under its name when it is finished. Dropped
/// before that, it leaves nothing behind.
#[derive(Debug)]
pub struct FileInProgress {
    path: PathBuf,
    /// none once it is finished
    file: Option<tempfile::NamedTempFile>,
    temporary: PathBuf,
}

/// Temporary files and folders that exist now, for [`abandon_unfinished`].
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Removes the temporary files of everything that is being written, and lets nothing be begun or
/// finished from now on: whoever tries waits for ever. For a program that is about to end because it
/// was interrupted.
pub fn abandon_unfinished() {
    let unfinished = unfinished();
    for path in unfinished.iter() {
        let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    }
    // Never given back: another thread would make a file that nobody removes.
    std::mem::forget(unfinished);
}

fn unfinished() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FileInProgress {
    /// Begins a temporary file beside `path`.
    pub fn new(path: &Path) -> std::io::Result<Self> {
        let folder = std::path::absolute(folder_of(path))?;
        let mut unfinished = unfinished();
        let file = tempfile::Builder::new().prefix(".eigenskin-").tempfile_in(folder)?;
        let temporary = file.path().to_path_buf();
        unfinished.insert(temporary.clone());
        Ok(Self { path: path.into(), file: Some(file), temporary })
    }

    /// Flushes it to the disk and moves it into place.
    pub fn finish(mut self) -> std::io::Result<()> {
        let Some(file) = self.file.take() else { return Ok(()) };
        // Temporary files are private to their owner; the final one gets what its predecessor had, or
        // what any new file in this folder would get.
        if let Some(permissions) = permissions_for(&self.path, folder_of(&self.path)) {
            file.as_file().set_permissions(permissions)?;
        }
        file.as_file().sync_all()?;
        let _held = unfinished();
        file.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }
}

impl Drop for FileInProgress {
    fn drop(&mut self) {
        let mut unfinished = unfinished();
        self.file = None;
        unfinished.remove(&self.temporary);
    }
}

impl Write for FileInProgress {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file.as_mut().map_or(Ok(0), |file| file.write(bytes))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }
}

/// Several files of one folder that appear there together when they are finished. Dropped before that,
/// they leave nothing behind.
#[derive(Debug)]
pub struct FolderInProgress {
    folder: PathBuf,
    /// whether it is new
    is_new: bool,
    /// where the files are for now: inside `folder`, so that moving them is renaming
    temporary: Option<tempfile::TempDir>,
    /// its path, as it was registered
    registered: PathBuf,
    names: Vec<String>,
}

impl FolderInProgress {
    /// Begins files in `folder`, which is made when it is missing.
    pub fn new(folder: &Path) -> std::io::Result<Self> {
        let is_new = !folder.exists();
        std::fs::create_dir_all(folder)?;
        let mut unfinished = unfinished();
        let temporary =
            tempfile::Builder::new().prefix(".eigenskin-").tempdir_in(std::path::absolute(folder)?)?;
        let registered = temporary.path().to_path_buf();
        unfinished.insert(registered.clone());
        Ok(Self { folder: folder.into(), is_new, temporary: Some(temporary), registered, names: Vec::new() })
    }

    /// Adds a file.
    pub fn write_file(&mut self, name: &str, bytes: &[u8]) -> std::io::Result<()> {
        let mut file = std::fs::File::create(self.registered.join(name))?;
        file.write_all(bytes)?;
        if let Some(permissions) = permissions_for(&self.folder.join(name), &self.folder) {
            file.set_permissions(permissions)?;
        }
        file.sync_all()?;
        self.names.push(name.to_string());
        Ok(())
    }

    /// Moves all files into place.
    pub fn finish(mut self) -> std::io::Result<()> {
        self.is_new = false;
        let _held = unfinished();
        for name in &self.names {
            std::fs::rename(self.registered.join(name), self.folder.join(name))?;
        }
        Ok(())
    }
}

impl Drop for FolderInProgress {
    fn drop(&mut self) {
        let mut unfinished = unfinished();
        self.temporary = None;
        unfinished.remove(&self.registered);
        if self.is_new {
            // Stays where somebody else put something into it.
            let _ = std::fs::remove_dir(&self.folder);
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(unix)]
fn permissions_for(path: &Path, folder: &Path) -> Option<std::fs::Permissions> {
    use std::os::unix::fs::PermissionsExt;
    if let Ok(old) = std::fs::metadata(path) {
        return Some(old.permissions());
    }
    // Readable by whoever may read the folder; never executable.
    let mode = std::fs::metadata(folder).ok()?.permissions().mode();
    Some(std::fs::Permissions::from_mode(0o600 | (mode & 0o044)))
}

#[cfg(not(unix))]
fn permissions_for(_path: &Path, _folder: &Path) -> Option<std::fs::Permissions> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.glb");
        write_file(&path, b"first").unwrap();
        write_file(&path, b"second").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"second");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failed_write_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        // A folder cannot be replaced by a file: the rename fails after the bytes were written.
        let path = folder.path().join("taken");
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("inside"), b"kept").unwrap();
        assert!(write_file(&path, b"new").is_err());
        assert_eq!(std::fs::read(path.join("inside")).unwrap(), b"kept");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(write_file(folder.path().join("no/such/folder.glb"), b"x").is_err());
    }

    #[test]
    fn files_of_a_folder_appear_together_or_not_at_all() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("new");
        let visible = || {
            let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
            let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
            names.retain(|name| !name.starts_with('.'));
            names.sort();
            names
        };
        let mut begun = FolderInProgress::new(&folder).unwrap();
        begun.write_file("a", b"1").unwrap();
        assert!(visible().is_empty());
        drop(begun);
        assert!(!folder.exists());

        let mut begun = FolderInProgress::new(&folder).unwrap();
        begun.write_file("a", b"1").unwrap();
        begun.write_file("b", b"2").unwrap();
        begun.finish().unwrap();
        assert_eq!(visible(), ["a", "b"]);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2);

        let mut begun = FolderInProgress::new(&folder).unwrap();
        begun.write_file("a", b"3").unwrap();
        drop(begun);
        assert_eq!(std::fs::read(folder.join("a")).unwrap(), b"1");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2);
    }
}
