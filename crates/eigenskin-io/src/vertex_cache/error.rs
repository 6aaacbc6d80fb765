//! What can be wrong with a cache, and with bringing it to a rig.

use std::path::PathBuf;

/// Why a cache could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// The operating system refused.
    #[error("cannot read {}: {error}", path.display())]
    Io {
        /// the file or folder
        path: PathBuf,
        /// what the system says
        error: std::io::Error,
    },
    /// Nothing on the disk was changed.
    #[error("cannot write {}: {problem}", path.display())]
    CannotWrite {
        /// the file
        path: PathBuf,
        /// what is wrong
        problem: String,
    },
    /// An extension that is none of ours.
    #[error("{} is not a .pc2, .mdd, .npy or .npz file or a folder of .obj files; export one of these", path.display())]
    UnknownExtension {
        /// the file
        path: PathBuf,
    },
    /// The content is not what the format says.
    #[error("{}: {problem}; export it again", path.display())]
    Damaged {
        /// the file
        path: PathBuf,
        /// what is wrong
        problem: String,
    },
    /// A line of a text file that cannot be read.
    #[error("{}, line {line}: {problem}; export it again", path.display())]
    Line {
        /// the file
        path: PathBuf,
        /// its line, from 1
        line: usize,
        /// what is wrong
        problem: String,
    },
    /// More data than is read.
    #[error("{} holds more than {limit} bytes; split it", path.display())]
    TooLarge {
        /// the file or folder
        path: PathBuf,
        /// the largest size
        limit: u64,
    },
    /// There is nothing in it.
    #[error("{} has no frames or no vertices; export at least the rest shape and one pose", path.display())]
    Empty {
        /// the file
        path: PathBuf,
    },
    /// A folder without frames.
    #[error("{} has no .obj files; export one per key of the clip into it", path.display())]
    NoObjFiles {
        /// the folder
        path: PathBuf,
    },
    /// Frames of different meshes.
    #[error("{}: frame {frame} has {found} vertices, the first frame has {expected}; export all frames of one mesh with the same settings{hint}", path.display())]
    OtherVertexCount {
        /// the file or folder
        path: PathBuf,
        /// the frame at fault
        frame: String,
        /// its vertices
        found: usize,
        /// vertices of the first frame
        expected: usize,
        /// what else there is to say
        hint: String,
    },
    /// NaN or infinity.
    #[error("{}: vertex {vertex} of frame {frame} is not a finite number; repair the shape and export it again", path.display())]
    NotFinite {
        /// the file
        path: PathBuf,
        /// the frame at fault
        frame: usize,
        /// the vertex at fault
        vertex: usize,
    },
    /// A face with a corner that does not exist.
    #[error("{}: a face uses vertex {corner} of {vertices} (counted from 1); export it again", path.display())]
    Face {
        /// the file
        path: PathBuf,
        /// the vertex it names, from 1
        corner: u64,
        /// how many there are
        vertices: usize,
    },
}

/// Why a cache does not fit a rig.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CorrespondenceError {
    /// No such frame.
    #[error("there is no frame {frame}; the cache has {frames} frames, counted from 0")]
    NoRestFrame {
        /// the frame asked for
        frame: usize,
        /// how many there are
        frames: usize,
    },
    /// Rig vertices without a cache vertex at their place.
    #[error(
        "{count} of the rig's {rig_vertices} vertices ({}) have no vertex of the cache ({cache_vertices} vertices) at their place in rest frame {frame}{distance}; make that frame the rig's rest shape (--rest-frame N) and export with the rig's own topology{hint}",
        listed(first, *count)
    )]
    NotMatched {
        /// the rest frame
        frame: usize,
        /// how many vertices have no partner
        count: usize,
        /// vertices of the rig
        rig_vertices: usize,
        /// vertices of the cache
        cache_vertices: usize,
        /// the first few of them
        first: Vec<usize>,
        /// how far they are, where that means something
        distance: String,
        /// what else there is to say
        hint: String,
    },
    /// A rest frame elsewhere, with frames that do not agree.
    #[error(
        "the rest frame is the rig's rest shape shifted by {:.4}, {:.4}, {:.4}, but {problem}; apply the object's location and export all frames again",
        -shift[0], -shift[1], -shift[2]
    )]
    Shift {
        /// what would bring the rest frame to the rig
        shift: [f64; 3],
        /// why that is not done
        problem: String,
    },
    /// Rig vertices for which several cache vertices would do.
    #[error(
        "{count} of the rig's vertices ({}) have several vertices of the cache at their place in the rest frame, which move differently and cannot be told apart; export faces with the cache (OBJ), keep the rig's vertex order, or part the touching surfaces at rest{hint}",
        listed(first, *count)
    )]
    Ambiguous {
        /// how many
        count: usize,
        /// the first few of them
        first: Vec<usize>,
        /// what else there is to say
        hint: String,
    },
}

/// How many culprits an error names.
pub const NAMED: usize = 5;

/// "3, 17, 40, …"
fn listed(first: &[usize], count: usize) -> String {
    let mut text = first.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if count > first.len() {
        text.push_str(", …");
    }
    text
}

/// An explanation when a mesh has as many vertices as its faces have corners.
pub fn flat_shading_hint(vertices: usize, corners: Option<usize>) -> String {
    if corners != Some(vertices) {
        return String::new();
    }
    format!(
        " ({vertices} vertices are one per corner of every face: a flat-shaded export splits the mesh by posed normals, differently in every pose; shade smooth before exporting)"
    )
}
