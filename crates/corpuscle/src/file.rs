//! Files written whole or not at all: the one way in which anything here is written to a disk.
//!
//! The content goes into a file beside the place, which is synced and then renamed over it, and the folder is synced so
//! that the name outlives a crash as well. A reader sees the old file or the new one, never a part; of two writers at
//! once the later rename wins, whole. The new file has the permissions of the one it replaces, or those that any new
//! file gets (the system applies the umask). What is no ordinary file (a pipe, a terminal, `/dev/null`) cannot be
//! replaced and is written to directly.
//!
//! ```
//! use std::io::Write;
//! let path = std::env::temp_dir().join(format!("corpuscle-doc-{}.txt", std::process::id()));
//! corpuscle::file::write_whole(&path, |file| file.write_all(b"whole").map_err(|e| corpuscle::Error::io(&path, e)))?;
//! assert_eq!(std::fs::read(&path).unwrap(), b"whole");
//! # std::fs::remove_file(&path).unwrap();
//! # Ok::<(), corpuscle::Error>(())
//! ```

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, Result};

/// Writes a file whole or not at all: `write` fills it. Its error is handed on as it is; nothing is left behind then.
pub fn write_whole<E: From<Error>>(
    path: impl AsRef<Path>,
    write: impl FnOnce(&mut File) -> Result<(), E>,
) -> Result<(), E> {
    let path = path.as_ref();
    let failed = |e: io::Error| Error::io(path, e);
    let old = fs::metadata(path).ok();
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        let mut file = OpenOptions::new().write(true).open(path).map_err(failed)?;
        return write(&mut file);
    }
    // Through a link to the file meant, as opening it would go; a link that leads nowhere is replaced.
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let (beside, mut file) = Beside::create(&place).map_err(failed)?;
    if let Some(old) = old {
        // Before there is anything to read: what was private stays so at every moment.
        keep_permissions(&file, &old).map_err(failed)?;
    }
    write(&mut file)?;
    file.sync_all().map_err(failed)?;
    drop(file);
    beside.rename_to(&place).map_err(failed)?;
    sync_folder(&place).map_err(failed)?;
    Ok(())
}

/// Writes bytes as a whole file or not at all.
pub fn write_bytes(path: impl AsRef<Path>, bytes: &[u8]) -> Result<()> {
    let path = path.as_ref();
    write_whole(path, |file| file.write_all(bytes).map_err(|e| Error::io(path, e)))
}

/// Fails when [`write_whole`] could not write there, and leaves nothing behind: for a check before long work.
pub fn check_writable(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    let tried = match fs::metadata(path) {
        Ok(old) if !old.is_file() => OpenOptions::new().write(true).open(path).map(|_| ()),
        _ => Beside::create(&fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())).map(|_| ()),
    };
    tried.map_err(|e| Error::io(path, e))
}

/// Makes the names in a file's folder outlive a crash. A file system that cannot do that has done what it can.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(not(unix)) {
        return Ok(());
    }
    // A folder may be written to and not read; its names are then the system's to sync.
    let Ok(folder) = File::open(folder_of(path)) else { return Ok(()) };
    match folder.sync_all() {
        Err(e) if matches!(e.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        done => done,
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(unix)]
fn keep_permissions(file: &File, old: &fs::Metadata) -> io::Result<()> {
    // Only where they differ: some file systems have one mode for all files and refuse any change.
    if file.metadata()?.permissions() == old.permissions() { Ok(()) } else { file.set_permissions(old.permissions()) }
}

#[cfg(not(unix))]
fn keep_permissions(_file: &File, _old: &fs::Metadata) -> io::Result<()> {
    Ok(())
}

/// A temporary file, removed unless it is renamed.
struct Beside(Option<PathBuf>);

impl Beside {
    /// A new file in the folder of `path`, under a name that nobody else has.
    fn create(path: &Path) -> io::Result<(Beside, File)> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        if path.file_name().is_none() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "this is no file name to write to"));
        }
        loop {
            // A name of its own length: one made from the file's could be longer than names may be.
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let beside = folder_of(path).join(format!(".corpuscle-{}-{number}.tmp", std::process::id()));
            match OpenOptions::new().write(true).create_new(true).open(&beside) {
                Ok(file) => return Ok((Beside(Some(beside)), file)),
                // A process of another machine, or one long gone, had the same number.
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        }
    }

    fn rename_to(mut self, path: &Path) -> io::Result<()> {
        if let Some(beside) = &self.0 {
            fs::rename(beside, path)?;
            self.0 = None;
        }
        Ok(())
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if let Some(beside) = &self.0 {
            // Best effort: the error to report is the one that stopped the writing.
            let _ = fs::remove_file(beside);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn nothing_half_written_is_left() {
        let folder = tempfile::tempdir().unwrap();
        assert!(write_bytes(folder.path().join("no/such/folder/model"), b"x").is_err());
        assert!(check_writable(folder.path().join("no/such/folder/model")).is_err());
        let path = folder.path().join("taken");
        fs::create_dir(&path).unwrap();
        assert!(write_bytes(&path, b"x").is_err());
        assert!(write_bytes("..", b"x").is_err());
        let path = folder.path().join("kept");
        write_bytes(&path, b"old").unwrap();
        let said = write_whole(&path, |file| {
            file.write_all(b"half").unwrap();
            Err(Error::data("broken off"))
        });
        assert_eq!(said.unwrap_err().to_string(), "broken off");
        let broken = std::panic::catch_unwind(|| write_whole(&path, |_| -> Result<()> { panic!("in the middle") }));
        assert!(broken.is_err());
        check_writable(&path).unwrap();
        assert_eq!(
            (names(folder.path()), fs::read(&path).unwrap()),
            (vec!["kept".into(), "taken".into()], b"old".to_vec())
        );
    }

    #[test]
    fn writers_at_once_leave_one_whole_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let content = |writer: u8| vec![writer; 300_000];
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let path = &path;
                scope.spawn(move || (0..5).for_each(|_| write_bytes(path, &content(writer)).unwrap()));
            }
        });
        let found = fs::read(&path).unwrap();
        assert_eq!(found, content(found[0]));
        assert_eq!(names(folder.path()), ["file"]);
    }

    #[cfg(unix)]
    #[test]
    fn permissions_stay_links_lead_on_and_devices_are_written_to() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("private");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        write_whole(&path, |file| {
            assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
            file.write_all(b"new").map_err(|e| Error::io(&path, e))
        })
        .unwrap();
        assert_eq!((mode(&path), fs::read(&path).unwrap()), (0o600, b"new".to_vec()));

        let link = folder.path().join("link");
        symlink("private", &link).unwrap();
        write_bytes(&link, b"newer").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!((mode(&path), fs::read(&path).unwrap()), (0o600, b"newer".to_vec()));

        // A new file is as readable as one made plainly.
        fs::write(folder.path().join("plain"), "").unwrap();
        write_bytes(folder.path().join("written"), b"").unwrap();
        assert_eq!(mode(&folder.path().join("written")), mode(&folder.path().join("plain")));

        write_bytes("/dev/null", b"x").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        assert_eq!(names(folder.path()), ["link", "plain", "private", "written"]);
    }
}
