//! Figure 4 of Kim, Choi, Hoffmann 2011: what leads from linear blending to dual quaternions on a square
//! bar, carried to round ones.

use std::path::PathBuf;

use anyhow::Result;
use eigenskin::characters::{cylinder, square_bar};
use eigenskin::evaluate::Evaluator;
use eigenskin::glam::Vec3;
use eigenskin::mesh::Mesh;
use eigenskin::method::{ParameterizationParams, fit_examples};
use eigenskin::progress::Unwatched;
use eigenskin::report::picture::painter::CpuPainter;
use eigenskin::report::picture::{Panel, PictureParams, Surface, View, draw_panels};
use eigenskin::skinning::BaseSkinning;
use eigenskin::style::{Space, StyleMap, StyleParams};
use serde_json::{Value, json};

use super::bars::{self, BarErrors, Motion};
use crate::output::{Output, figure, write};

/// Kim, Choi, Hoffmann 2011, Figure 4: a style carried from a square bar to cylinders
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  eigenskin-lab reproduce kim-figure4\n  eigenskin-lab reproduce kim-figure4 --picture figure4.png --json figure4.json"
)]
pub struct Args {
    /// Draw the deformations into this PNG
    #[arg(long, value_name = "FILE.png")]
    picture: Option<PathBuf>,
}

/// The paper's Table I: RMSE and MAXE of the bar's parameterization and of the two cylinders' transfer.
const PAPER_BAR: BarErrors = BarErrors { rmse: 0.04671, largest: 0.32829 };
const PAPER_CYLINDERS: [BarErrors; 2] =
    [BarErrors { rmse: 0.40031, largest: 2.59442 }, BarErrors { rmse: 0.40086, largest: 2.59489 }];
/// The paper's number of signals.
const PAPER_SIGNALS: usize = 7;
const MOST_SIGNALS: usize = 9;

/// One motion.
struct Case {
    motion: Motion,
    /// numerical rank of the linear bar, share of the style that it carries
    rank: usize,
    carried: f64,
    cylinders: Vec<Cylinder>,
    /// the bar's dual quaternion motion as signals over the angle, k = 1…9: in its frames, between them
    parameterized: Vec<[BarErrors; 2]>,
}

struct Cylinder {
    vertices: usize,
    untransferred: BarErrors,
    /// k = 1…9
    transferred: Vec<BarErrors>,
    /// in the space that is chosen, with all signals
    chosen: BarErrors,
    chosen_space: Space,
}

/// Runs the experiment.
pub fn run(args: &Args, output: &Output) -> Result<()> {
    output.doing("bending and twisting");
    let cases: Vec<Case> = Motion::ALL.into_iter().map(Case::of).collect::<Result<_>>()?;
    print(output, &cases);
    if let Some(path) = &args.picture {
        output.doing("drawing");
        let png = picture()?;
        write(path, &png)?;
        output.item("wrote", format!("{}", path.display()));
    }
    output.figures(&json!({
        "experiment": "kim-figure4",
        "length_of_100": bars::LENGTH,
        "paper": {
            "signals": PAPER_SIGNALS,
            "bar": PAPER_BAR.json(),
            "cylinders": PAPER_CYLINDERS.iter().map(BarErrors::json).collect::<Vec<_>>(),
        },
        "motions": cases.iter().map(Case::json).collect::<Vec<_>>(),
    }))
}

impl Case {
    fn of(motion: Motion) -> Result<Self> {
        let bar = square_bar()?;
        let [before, after] = motion.frames(&bar)?;
        let mut cylinders = Vec::new();
        let (mut rank, mut carried) = (0, 0.0);
        for ring in bars::RINGS {
            let [target, truth] = motion.frames(&cylinder(ring)?)?;
            let transferred = (1..=MOST_SIGNALS)
                .map(|signals| {
                    let (signals, space) = (Some(signals), Some(Space::NearestBones));
                    let params = StyleParams { signals, space, ..StyleParams::default() };
                    let map = StyleMap::capture(&before, &after, &target, &params, &Unwatched)?;
                    (rank, carried) = (map.report.rank, map.report.carried);
                    Ok(BarErrors::of(&map.transfer(&target, 1.0, &Unwatched)?.set, &truth))
                })
                .collect::<Result<_>>()?;
            let map = StyleMap::capture(&before, &after, &target, &StyleParams::default(), &Unwatched)?;
            cylinders.push(Cylinder {
                vertices: truth.rig().vertex_count(),
                chosen: BarErrors::of(&map.transfer(&target, 1.0, &Unwatched)?.set, &truth),
                chosen_space: map.report.space.space,
                untransferred: BarErrors::of(&target, &truth),
                transferred,
            });
        }
        let between = motion.between(&bar)?;
        let parameterized = (1..=MOST_SIGNALS)
            .map(|signals| {
                let params = ParameterizationParams {
                    signals_per_vertex: Some(signals),
                    parts: Some(1),
                    normals: false,
                    ..ParameterizationParams::default()
                };
                let model = std::sync::Arc::new(
                    fit_examples(&after, &BaseSkinning::Rigid.into(), &params.into(), &Unwatched)?.model,
                );
                let shape = |pose: &_| {
                    let mut positions = vec![Vec3::ZERO; bar.rig.vertex_count()];
                    Evaluator::new(model.clone()).evaluate(pose, &mut positions, None);
                    positions
                };
                Ok([&after, &between].map(|truth| BarErrors::of_shapes(truth, shape)))
            })
            .collect::<Result<_>>()?;
        Ok(Self { motion, rank, carried, cylinders, parameterized })
    }

    fn json(&self) -> Value {
        let list = |errors: &[BarErrors]| errors.iter().map(BarErrors::json).collect::<Vec<_>>();
        let cylinders: Vec<Value> = self
            .cylinders
            .iter()
            .map(|cylinder| {
                json!({
                    "vertices": cylinder.vertices,
                    "untransferred": cylinder.untransferred.json(),
                    "transferred": list(&cylinder.transferred),
                    "chosen_space": cylinder.chosen_space.name(),
                    "in_chosen_space": cylinder.chosen.json(),
                })
            })
            .collect();
        let at = |place: usize| list(&self.parameterized.iter().map(|e| e[place]).collect::<Vec<_>>());
        json!({
            "motion": self.motion.kind(),
            "degrees": self.motion.degrees,
            "rank": self.rank,
            "carried": self.carried,
            "cylinders": cylinders,
            "bar_parameterized": { "frames": at(0), "between": at(1) },
        })
    }
}

fn print(output: &Output, cases: &[Case]) {
    output.line("X1, X2: a square bar of 402 vertices by linear blending and by dual quaternions, 9 frames from rest. Y1:");
    output.line("cylinders by linear blending; truth: the same by dual quaternions. RMSE / MAXE, length of the bars = 100.");
    output.line("");
    let ks: Vec<String> = (1..=MOST_SIGNALS).map(|k| format!("k = {k}")).collect();
    let named = |errors: &BarErrors| format!("{} / {}", figure(errors.rmse), figure(errors.largest));
    let mut rows = Vec::new();
    for case in cases {
        for (index, cylinder) in case.cylinders.iter().enumerate() {
            // k = 2 and more are the same: the linear bar has two signals.
            let mut row =
                vec![case.motion.name(), cylinder.vertices.to_string(), named(&cylinder.untransferred)];
            row.extend([1, 2, 3, PAPER_SIGNALS, 9].map(|k| named(&cylinder.transferred[k - 1])));
            row.push(named(&PAPER_CYLINDERS[index]));
            row.push(format!("{} of {}", percent(case.carried), case.rank));
            rows.push(row);
        }
    }
    let head = [
        "motion",
        "n",
        "untransferred",
        "k = 1",
        "k = 2",
        "k = 3",
        "k = 7",
        "k = 9",
        "paper (k = 7)",
        "carried, rank",
    ];
    output.table(&head, &rows);
    let cylinders = || cases.iter().flat_map(|case| &case.cylinders);
    let mut spaces: Vec<&str> = cylinders().map(|cylinder| cylinder.chosen_space.description()).collect();
    spaces.sort_unstable();
    spaces.dedup();
    output.line("");
    output.line("Columns k: displacements from the nearest bones, as in the paper. The space that eigenskin chooses by frames");
    output.line(format!(
        "left out in turn is {}, with an RMSE of at most {}.",
        spaces.join(", "),
        figure(cylinders().map(|cylinder| cylinder.chosen.rmse).fold(0.0, f64::max))
    ));
    output.line("");
    output.line("The bar itself by dual quaternions as k signals over the angle: in its frames, and at the 8 angles between");
    let mut rows = Vec::new();
    for case in cases {
        for (place, name) in ["frames", "between"].into_iter().enumerate() {
            let mut row = vec![case.motion.name(), name.to_string()];
            row.extend(case.parameterized.iter().map(|errors| figure(errors[place].rmse)));
            row.push(if place == 0 { named(&PAPER_BAR) } else { "–".to_string() });
            rows.push(row);
        }
    }
    let mut head = vec!["RMSE", "at"];
    head.extend(ks.iter().map(String::as_str));
    head.push("paper (k = 7)");
    output.table(&head, &rows);
    output.line("");
    output.line("The paper says neither which motion its figures are of nor how far it goes. From k = 2 on all columns agree");
    output.line(
        "(--json has every k): the linear bar has two signals, and what lies beyond its rank is rounding.",
    );
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// The furthest twist and bend: X1 and Y1, X2 and Y2, X2 and the truth, bars beside cylinders, from the side.
fn picture() -> Result<Vec<u8>> {
    let (bar, round) = (square_bar()?, cylinder(20)?);
    // Bends are in the plane of y and z.
    let apart = Vec3::new(0.0, 0.0, 8.5);
    let beside = |bar: &[Vec3], round: &[Vec3]| -> Vec<Vec3> {
        bar.iter().map(|p| *p + apart).chain(round.iter().map(|p| *p - apart)).collect()
    };
    let offset = bar.rig.vertex_count() as u32;
    let triangles = bar.rig.mesh().triangles().iter().copied();
    let triangles = triangles.chain(round.rig.mesh().triangles().iter().map(|t| t.map(|v| v + offset)));
    let rest = beside(bar.rig.mesh().positions(), round.rig.mesh().positions());
    let mesh = Mesh::new(rest, triangles.collect(), None)?;
    let mut shapes: Vec<(String, Vec<Vec3>, Vec<Vec3>)> = Vec::new();
    let from_bones = StyleParams { space: Some(Space::NearestBones), ..StyleParams::default() };
    for motion in Motion::SHOWN {
        let [x1, x2] = motion.frames(&bar)?;
        let [y1, truth] = motion.frames(&round)?;
        let y2 =
            StyleMap::capture(&x1, &x2, &y1, &from_bones, &Unwatched)?.transfer(&y1, 1.0, &Unwatched)?.set;
        let captions =
            ["X1, Y1\nlinear blending", "X2, Y2\nthe style carried over", "X2, truth\ndual quaternions"];
        for (caption, (x, y)) in captions.into_iter().zip([(&x1, &y1), (&x2, &y2), (&x2, &truth)]) {
            let last = |set: &eigenskin::examples::ExampleSet| {
                set.examples().last().map(|example| example.positions.clone()).unwrap_or_default()
            };
            let positions = beside(&last(x), &last(y));
            let normals = mesh.normals_of(&positions);
            shapes.push((format!("{caption}, {}", motion.name()), positions, normals));
        }
    }
    let panels: Vec<Panel> = shapes
        .iter()
        .map(|(caption, positions, normals)| Panel {
            caption: caption.clone(),
            positions,
            normals,
            surface: Surface::Skin,
        })
        .collect();
    let params = PictureParams {
        panel_width: 440,
        panel_height: 380,
        columns: 3,
        view: View { from_direction: Vec3::new(1.0, 0.15, 0.25), ..View::default() },
        ..PictureParams::default()
    };
    Ok(draw_panels(&CpuPainter, &mesh, &panels, &params)?)
}
