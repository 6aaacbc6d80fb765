//! The experiments of Lewis, Cordner, Fong 2000: three sculpts end the collapse of an arm, radial
//! functions against Shepard's interpolant, expressions on one axis.

use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use eigenskin::characters::mouth_expressions;
use eigenskin::deformers::Base;
use eigenskin::driver::Kernel;
use eigenskin::drivers::{RbfParams, Smoothing};
use eigenskin::evaluate::Evaluator;
use eigenskin::examples::ExampleSet;
use eigenskin::glam::Vec3;
use eigenskin::gltf::RigFile;
use eigenskin::jobs::render::{ComparisonLook, ShownModel, comparison_picture};
use eigenskin::method::PsdInterpolation;
use eigenskin::method::{PsdParams, fit_examples};
use eigenskin::metrics::evaluate_against;
use eigenskin::model::Model;
use eigenskin::pose::Pose;
use eigenskin::progress::Unwatched;
use eigenskin::report::page::Shot;
use eigenskin::report::picture::View;
use eigenskin::report::picture::painter::CpuPainter;
use eigenskin::skinning::BaseSkinning;
use serde_json::{Value, json};

use super::arm::{Arm, HALF_WAY, Sculpt, THREE};
use super::expressions::{OneAxis, Path, one_axis, path};
use super::rig_summary;
use crate::output::{Output, figure, write, write_figures};

/// Lewis, Cordner, Fong 2000: an arm with three sculpts, Shepard's interpolant, expressions on one axis
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  eigenskin-lab reproduce lewis\n  eigenskin-lab reproduce lewis --out lewis\n  eigenskin fit lewis/arm.glb --examples lewis/arm-sculpts.glb -o arm-model.glb --method psd"
)]
pub struct Args {
    /// Triangles of the arm, an even number
    #[arg(long, value_name = "N", default_value_t = 4000)]
    triangles: usize,
    /// The folder to write reproduction.json, pictures, and the rigs with their sculpts into
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Shares of the way to a sculpt.
const SHARES: [f64; 4] = [1.0, 0.75, 0.5, 0.25];

/// Runs the experiments.
pub fn run(args: &Args, output: &Output) -> Result<()> {
    if let Some(folder) = &args.out {
        std::fs::create_dir_all(folder).with_context(|| format!("{} could not be made", folder.display()))?;
    }
    output.doing("building an arm");
    let arm = Arm::new(args.triangles)?;
    output.item("arm", rig_summary(&arm.character.rig));
    output.doing("fitting");
    let measured = Measured::of(arm)?;
    measured.print(output);
    let figures = measured.json();
    if let Some(folder) = &args.out {
        measured.write_files(folder, &figures, output)?;
    }
    output.figures(&figures)
}

struct Measured {
    arm: Arm,
    sculpts: ExampleSet,
    truth: ExampleSet,
    models: [(&'static str, Arc<Model>); 3],
    sections: Vec<Section>,
    interpolants: Vec<InterpolantRow>,
    mouth: ExampleSet,
    path: Path,
}

/// How much of the true section a joint keeps.
struct Section {
    pose: String,
    /// plain skinning, three sculpts, six
    kept: [f64; 3],
}

/// One way to interpolate.
struct InterpolantRow {
    name: &'static str,
    /// rmse on the way to the sculpts of the arm, with three sculpts and six
    between: [f64; 2],
    axis: OneAxis,
}

impl Measured {
    fn of(arm: Arm) -> Result<Self> {
        let six: Vec<Sculpt> = THREE.into_iter().chain(HALF_WAY).collect();
        let sculpts = arm.examples(&THREE, &[1.0])?;
        let more = arm.examples(&six, &[1.0])?;
        let truth = arm.examples(&THREE, &SHARES[1..])?;
        let psd = |set: &ExampleSet, interpolation: PsdInterpolation| -> Result<Arc<Model>> {
            Ok(Arc::new(
                fit_examples(
                    set,
                    &Base::default(),
                    &PsdParams { interpolation, ..PsdParams::default() }.into(),
                    &Unwatched,
                )?
                .model,
            ))
        };
        let plain = Model::without_corrections(arm.character.rig.clone(), BaseSkinning::LinearBlend);
        let models = [
            ("linear blending (SSD)", Arc::new(plain)),
            ("PSD, 3 sculpts", psd(&sculpts, PsdInterpolation::default())?),
            ("PSD, 6 sculpts", psd(&more, PsdInterpolation::default())?),
        ];
        let mut sections = Vec::new();
        for sculpt in THREE {
            let true_shapes = arm.examples(&[sculpt], &SHARES)?;
            for example in true_shapes.examples() {
                let area = |positions: &[Vec3]| arm.section(sculpt.joint, &example.pose, positions);
                let whole = area(&example.positions);
                let kept = [0, 1, 2].map(|model| area(&shape(&models[model].1, &example.pose)) / whole);
                sections.push(Section { pose: example.name.clone(), kept });
            }
        }
        let named = |kernel: Kernel| {
            let smoothing = Smoothing::Fixed(0.0);
            PsdInterpolation::Rbf(RbfParams { kernel: kernel.into(), smoothing, ..RbfParams::default() })
        };
        let ways = [
            ("from rest (default)", PsdInterpolation::default()),
            ("Gaussians", named(Kernel::Gaussian)),
            ("thin plates", named(Kernel::ThinPlate)),
            ("Shepard", PsdInterpolation::Shepard { power: 2.0, epsilon: 0.0 }),
        ];
        let mut interpolants = Vec::new();
        for (name, way) in ways {
            let off = |set| -> Result<f64> {
                Ok(evaluate_against(&psd(set, way.clone())?, &truth, &Unwatched)?.model.rmse)
            };
            interpolants.push(InterpolantRow {
                name,
                between: [off(&sculpts)?, off(&more)?],
                axis: one_axis(way.clone())?,
            });
        }
        let mouth = mouth_expressions()?;
        let path = path(&mouth)?;
        Ok(Self { arm, sculpts, truth, models, sections, interpolants, mouth, path })
    }

    fn print(&self, output: &Output) {
        output.line("");
        self.print_sections(output);
        self.print_interpolants(output);
        self.print_path(output);
    }

    fn print_sections(&self, output: &Output) {
        output.line("Figures 8 and 9: area of the joint's section, in % of the true one");
        let rows: Vec<Vec<String>> = self
            .sections
            .iter()
            .map(|section| {
                let kept = section.kept.iter().map(|kept| format!("{:.1}", 100.0 * kept));
                std::iter::once(section.pose.clone()).chain(kept).collect()
            })
            .collect();
        let names = self.models.each_ref().map(|model| model.0);
        print_table(output, &[&["this run"], &names[..]].concat(), &rows);
        output
            .line("the paper: elbow and shoulder collapse under SSD; two sculpts mend the shoulder (by eye)");
        output.line("");
    }

    fn print_interpolants(&self, output: &Output) {
        output.line("§3.1, Figure 4: Shepard's interpolant beside radial functions");
        let rows: Vec<Vec<String>> = self
            .interpolants
            .iter()
            .map(|row| {
                let [at_rest, at_half] = row.axis.slopes.map(|slope| format!("{:.2}", slope.abs()));
                let [three, six] = row.between.map(|rmse| figure(1000.0 * rmse));
                vec![row.name.to_string(), three, six, at_rest, at_half, figure(row.axis.far)]
            })
            .collect();
        let head = ["this run", "arm, 3 sculpts, mm", "6 sculpts, mm", "slope at rest", "at ½", "far away"];
        print_table(output, &head, &rows);
        output.line("Arm: rmse at poses between the sculpts. Slopes, and far away: a control with sculpts 0, ½ and 1 at 0, ½ and 1.");
        output.line("the paper: Shepard is flat at the data and ends in their mean; Gaussians are neither, and fall off");
        output.line("");
    }

    fn print_path(&self, output: &Output) {
        output.line("§5.2, Figures 7 and 10: neutral, smirk and smile on one axis, without joints");
        // No minus before a zero.
        let plain = |weight: f64| if weight.abs() < 0.005 { 0.0 } else { weight };
        let pair = |weights: [f64; 2]| {
            let [smirk, smile] = weights.map(plain);
            format!("{smirk:.2}, {smile:.2}")
        };
        let path = &self.path;
        let rows: Vec<Vec<String>> = (0..path.at.len())
            .map(|index| {
                let [interpolated, psd] = [&path.interpolated_weights, &path.psd_weights];
                vec![format!("{}", path.at[index]), pair(interpolated[index]), pair(psd[index])]
            })
            .collect();
        print_table(
            output,
            &["happiness", "shape interpolation is given: smirk, smile", "PSD finds: smirk, smile"],
            &rows,
        );
        output.line(format!(
            "sharpest turn of the mouth's corner within 1 % of the way: {:.1}° by shape interpolation, {:.1}° by PSD",
            path.interpolated_turn, path.psd_turn
        ));
        output.line("the paper: shape interpolation is given weights that zig-zag and moves in straight pieces; PSD is given one control that rises, and is smooth");
        output.line("");
    }

    fn json(&self) -> Value {
        let sections: Vec<Value> = self
            .sections
            .iter()
            .map(|section| {
                let [skinning, three, six] = section.kept;
                json!({ "pose": section.pose, "skinning": skinning, "three_sculpts": three, "six_sculpts": six })
            })
            .collect();
        let interpolants: Vec<Value> = self
            .interpolants
            .iter()
            .map(|row| {
                json!({
                    "name": row.name,
                    "rmse_between": { "three_sculpts": row.between[0], "six_sculpts": row.between[1] },
                    "slope_at_rest": row.axis.slopes[0],
                    "slope_at_half": row.axis.slopes[1],
                    "far_away": row.axis.far,
                })
            })
            .collect();
        json!({
            "experiment": "lewis",
            "vertices": self.arm.character.rig.vertex_count(),
            "sections": sections,
            "interpolants": interpolants,
            "expressions": {
                "at": self.path.at,
                "psd_weights": self.path.psd_weights,
                "shape_interpolation_weights": self.path.interpolated_weights,
                "psd_turn": self.path.psd_turn,
                "shape_interpolation_turn": self.path.interpolated_turn,
                "miss": self.path.miss,
            },
        })
    }

    fn write_files(&self, folder: &FilePath, figures: &Value, output: &Output) -> Result<()> {
        write_figures(&folder.join("reproduction.json"), figures)?;
        let models =
            self.models.each_ref().map(|(name, model)| ShownModel { caption: (*name).to_string(), model });
        let mut written = vec!["reproduction.json"];
        for (name, set, index) in [
            ("elbow.png", &self.sculpts, 0),
            ("shoulder.png", &self.sculpts, 1),
            ("elbow-between.png", &self.truth, 1),
        ] {
            let view = arm_view();
            let png = comparison_picture(
                set,
                index,
                "",
                &models,
                ComparisonLook::ErrorsNear,
                Shot { painter: &CpuPainter, view },
            )?;
            let path = folder.join(name);
            write(&path, &png)?;
            written.push(name);
        }
        for (rig, examples, name, set) in [
            ("arm.glb", "arm-sculpts.glb", "arm", &self.sculpts),
            ("mouth.glb", "mouth-expressions.glb", "mouth", &self.mouth),
        ] {
            let file = RigFile::from_rig(set.rig().clone(), name)?;
            eigenskin::io::write_rig(folder.join(rig), &file)?;
            eigenskin::io::write_examples(folder.join(examples), &file, set)?;
            written.extend([rig, examples]);
        }
        output.item("wrote", format!("{}: {}", folder.display(), written.join(", ")));
        Ok(())
    }
}

fn print_table(output: &Output, head: &[&str], rows: &[Vec<String>]) {
    output.line("");
    output.table(head, rows);
    output.line("");
}

/// From the side that shows how the elbow bends.
fn arm_view() -> View {
    View { from_direction: Vec3::new(0.15, 1.0, 0.25), up: Vec3::Z, ..View::default() }
}

fn shape(model: &Arc<Model>, pose: &Pose) -> Vec<Vec3> {
    let mut positions = vec![Vec3::ZERO; model.rig().vertex_count()];
    Evaluator::new(model.clone()).evaluate(pose, &mut positions, None);
    positions
}
