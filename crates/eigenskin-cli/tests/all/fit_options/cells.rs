//! For every option of `fit`: two fits that differ in it alone, and where that must show.

use super::desk::Desk;

/// Where the difference must show.
#[derive(Clone, Copy)]
pub enum Look {
    /// in what the model does between the examples
    Vertices,
    /// in the model's file
    Bytes,
    /// in what the command says
    Said,
    /// in a file beside the model
    File(&'static str),
}

/// Two fits.
pub struct Cell {
    /// with the option
    pub with: String,
    /// without it, or with another value
    pub without: String,
    /// the option alone, beside nothing but a rig and examples: what must be refused where `with` is
    pub alone: String,
    /// where the difference must show
    pub look: Look,
    /// what else a method may say that cannot honour it, and which
    pub otherwise: Option<(&'static str, &'static str)>,
}

const EXAMPLES: &str = "rig.glb --examples set.glb";
const CACHE: &str = "rig.glb --clip poses --cache rest-first.pc2";

impl Cell {
    /// An option with its value, beside the example set.
    fn of(option: &str, look: Look) -> Self {
        Self::beside("", option, look)
    }

    /// The same, where both fits have `context` too.
    fn beside(context: &str, option: &str, look: Look) -> Self {
        Self::values(&format!("{context} {option}"), context, option, look)
    }

    /// Two values of an option.
    fn values(with: &str, without: &str, alone: &str, look: Look) -> Self {
        let on = |words: &str| format!("{EXAMPLES} {words}");
        Self { with: on(with), without: on(without), alone: on(alone), look, otherwise: None }
    }

    /// Two whole lines.
    fn lines(with: &str, without: &str) -> Self {
        Self {
            with: with.to_string(),
            without: without.to_string(),
            alone: with.to_string(),
            look: Look::Vertices,
            otherwise: None,
        }
    }
}

/// The axes of the matrix: every run has them.
pub const AXES: [&str; 3] = ["method", "output", "help"];

/// The cell of an option under a method. An option without a cell is a mistake of whoever added it: say here
/// how it shows.
pub fn cell(option: &str, method: &str, desk: &Desk) -> Cell {
    use Look::{Bytes, File, Said, Vertices};
    match option {
        "examples" => Cell::lines(EXAMPLES, "rig.glb --examples other.glb"),
        "clip" => Cell::lines(CACHE, "rig.glb --clip less --cache rest-first.pc2"),
        "obj" => Cell::lines("rig.glb --clip poses --obj obj.dir", EXAMPLES),
        "cache" => Cell::lines(CACHE, EXAMPLES),
        "sculpts" => Cell::lines("rig.glb --clip poses --sculpts sculpts.glb", EXAMPLES),
        "shape-keys" => Cell::lines("rig.glb --clip poses --shape-keys keys.glb", EXAMPLES),
        "rest-frame" => {
            let last = "rig.glb --clip poses --cache rest-last.pc2";
            Cell::lines(&format!("{last} --rest-frame 8"), last)
        }
        "frames" => Cell::of("--frames ::2", Vertices),
        "parents" => Cell::of("--parents parents.toml", Vertices),
        "skin" => Cell::lines("two.glb --examples set.glb --skin arm", "two.glb --examples set.glb"),
        "up" => Cell::of("--up z", Bytes),
        "unit" => Cell::of("--unit mm", Bytes),
        "stream" | "scratch" => on_disk(option, method),
        "solve-weights" => Cell::of("--solve-weights", Vertices),
        "influences" => Cell::beside("--solve-weights", "--influences 1", Vertices),
        "smooth" => Cell::beside("--solve-weights", "--smooth 1e7", Vertices),
        "max-targets" => Cell::of("--max-targets 3", Vertices),
        "max-bytes" => {
            let length = |path| std::fs::metadata(path).unwrap().len();
            let (rig, model) = (length(desk.path("rig.glb")), length(desk.fitted(method, EXAMPLES).model));
            Cell::of(&format!("--max-bytes {}", rig + (model - rig) / 2), Vertices)
        }
        "max-error" => Cell::of("--max-error 0.9", Vertices),
        "leave-one-out" => Cell::of("--leave-one-out", Said),
        "quiet" => Cell::of("--quiet", Said),
        "report" => Cell::of(&format!("--report {method}-report.html"), File("report.html")),
        "json" => Cell::of(&format!("--json {method}-figures.json"), File("figures.json")),
        "exact" => Cell::of("--exact", Bytes),
        "profile" => Cell::of("--profile web", Bytes),
        "base" => Cell::of("--base dual-quaternion", Vertices),
        "no-normals" => Cell::of("--no-normals", Bytes),
        _ => of_method(option),
    }
}

/// Options about how to learn.
fn of_method(option: &str) -> Cell {
    use Look::{Bytes, Vertices};
    match option {
        "kernel" => Cell::of("--kernel cubic", Vertices),
        "width" => Cell::beside("--kernel gaussian", "--width 0.7", Vertices),
        "smoothing" => Cell::of("--smoothing 0.3", Vertices),
        "clamp" => Cell::of("--clamp 0.02", Vertices),
        "per-vertex" => Cell::of("--per-vertex 2", Vertices),
        "per-joint" => Cell::of("--per-joint 1", Vertices),
        "support-border" => Cell::of("--support-border hard", Vertices),
        "support-threshold" => Cell::of("--support-threshold 0.3", Vertices),
        "deltas" => Cell::of("--deltas forward", Vertices),
        "axes" => Cell::beside("--deltas forward", "--axes heaviest-joint", Vertices),
        "interpolation" => Cell::of("--interpolation shepard", Vertices),
        "radius" => Cell::of("--radius bent=0.2", Vertices),
        "axis-radii" => {
            let [with, without] =
                ["forearm=0.3,1,1", "forearm=1,1,1"].map(|radii| format!("--axis-radii {radii}"));
            Cell::values(&with, &without, &with, Vertices)
        }
        "order" => Cell::of("--order forearm,upper-arm,upper-arm+forearm", Bytes),
        "prototypes" => Cell::of("--prototypes 2", Vertices),
        "signals" => Cell::of("--signals 1", Vertices),
        "parts" => Cell::values("--parts 3", "--parts 1", "--parts 3", Vertices),
        "ica" => Cell::of("--ica", Bytes),
        "per-coordinate" => Cell::of("--per-coordinate", Bytes),
        "patches" => Cell::of("--patches 3", Vertices),
        other => panic!("--{other} has no cell: say here with which value it shows, and where"),
    }
}

/// Shapes on disk are learnt from alike, and that is told; pose space deformation needs a limit there.
fn on_disk(option: &str, method: &str) -> Cell {
    let limit = if method.ends_with("psd") { "--max-targets 8" } else { "" };
    let [with, without] = match option {
        "stream" => ["--stream", ""],
        _ => ["--stream --scratch shapes.dir", "--stream"],
    };
    let line = |words: &str| format!("{CACHE} {limit} {words}");
    Cell {
        with: line(with),
        without: line(without),
        alone: format!("{CACHE} --{option}{}", if option == "scratch" { " shapes.dir" } else { "" }),
        look: Look::Said,
        otherwise: None,
    }
}
