//! The experiment of the EigenSkin paper (Kry, James, Pai 2002 §3): a hand of soft tissue bent one
//! joint at a time, learnt with 0 to 5 eigendisplacements per joint, and tested on poses of all
//! joints.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use eigenskin::characters::hand;
use eigenskin::deformers::Base;
use eigenskin::driver::Kernel;
use eigenskin::drivers::{RbfParams, Width};
use eigenskin::examples::ExampleSet;
use eigenskin::gltf::RigFile;
use eigenskin::jobs::demo::HandSettings;
use eigenskin::jobs::render::{ComparisonLook, ShownModel, comparison_picture, palm_view};
use eigenskin::method::{Budget, EigenSkinParams, fit_examples};
use eigenskin::metrics::{Evaluation, GroupErrors, PoseErrors, evaluate_against};
use eigenskin::model::Model;
use eigenskin::progress::Unwatched;
use eigenskin::report::page::Shot;
use eigenskin::report::picture::painter::CpuPainter;
use eigenskin::rig::Rig;
use eigenskin::sim::jobs::Purpose;
use eigenskin::supports::{Border, SupportParams};
use serde_json::{Map, Value, json};

use super::reference::{self, COMPONENTS, OTHER_HAND, PAPER};
use super::{print_plan, print_simulated, rig_summary};
use crate::output::{Output, counted, figure, write, write_figures};

/// Kry, James, Pai 2002: a simulated hand, learnt with 0 to 5 eigendisplacements per joint
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  eigenskin-lab reproduce eigenskin --out reproduction\n  eigenskin-lab reproduce eigenskin --per-degree 2 --validation-poses 4 --max-cells 1000   (shorter)"
)]
pub struct Args {
    /// Poses per degree of freedom to learn from, one joint at a time
    #[arg(long, value_name = "N", default_value_t = 6)]
    per_degree: usize,
    /// Random poses of all joints to validate with, besides the hand's named ones
    #[arg(long, value_name = "N", default_value_t = 25)]
    validation_poses: usize,
    /// Leave out the hand's named poses (fist, pinch…), where skin touches skin
    #[arg(long)]
    no_named_poses: bool,
    /// The most cells of the lattice that is the tissue
    #[arg(long, value_name = "N", default_value_t = 3000)]
    max_cells: usize,
    /// Triangles of the hand, an even number
    #[arg(long, value_name = "N", default_value_t = 13_976)]
    triangles: usize,
    /// Seed of the random poses
    #[arg(long, value_name = "N", default_value_t = 2002)]
    seed: u64,
    /// The folder to write reproduction.json and pictures into
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// The joint of the paper's Figure 7: the thumb's carpal-metacarpal.
const THUMB_BASE: &str = "thumb-metacarpal";
/// Turns below this are rest, radians.
const TURNED: f64 = 1e-6;

/// Runs the experiment.
pub fn run(args: &Args, output: &Output) -> Result<()> {
    let settings = HandSettings {
        per_degree: args.per_degree,
        between: false,
        multi_joint_poses: 0,
        validation_poses: args.validation_poses,
        named_poses: !args.no_named_poses,
        seed: args.seed,
        max_cells: args.max_cells,
        contact: true,
    };
    settings.check()?;
    if let Some(folder) = &args.out {
        std::fs::create_dir_all(folder).with_context(|| format!("{} could not be made", folder.display()))?;
    }
    output.doing("building a hand");
    let character = hand(args.triangles)?;
    output.item("hand", rig_summary(&character.rig));
    let file = RigFile::from_rig(character.rig.clone(), "hand")?;
    let planned = settings.plan(&character, file, output)?;
    print_plan(output, &planned);
    let simulated = planned.run(None, output)?;
    print_simulated(output, &simulated);
    let of = |wanted| simulated.examples(|purpose, _| purpose == wanted);
    let training = of(Purpose::Training)?;
    let validation = match simulated.count(Purpose::Validation) {
        0 => None,
        _ => Some(of(Purpose::Validation)?),
    };

    output.doing("fitting");
    let measured = Measured::of(training, validation)?;
    measured.print(output);
    let mut figures = measured.json();
    figures["seconds_of_simulation"] = json!(simulated.seconds);
    figures["cubes"] = json!(simulated.plan.cells);
    figures["dropped"] = json!(simulated.dropped);
    if let Some(folder) = &args.out {
        write_files(folder, &measured, &figures, output)?;
    }
    output.figures(&figures)
}

/// The paper's recipe: as many eigendisplacements for every joint, supports cut at 4 % without a
/// soft border, exponential kernels.
fn paper_params(components: usize) -> EigenSkinParams {
    EigenSkinParams {
        support: SupportParams { threshold: Some(0.04), border: Border::Hard },
        budget: Budget { per_vertex: None, per_joint: Some(components), total: None },
        interpolation: RbfParams {
            kernel: Kernel::Exponential.into(),
            width: Width::Fixed(1.0),
            ..RbfParams::default()
        },
        ..EigenSkinParams::default()
    }
}

/// The fits and their errors, one per number of eigendisplacements.
struct Measured {
    training: ExampleSet,
    validation: Option<ExampleSet>,
    /// `training pose` → the joint it turns
    joint_of: Vec<usize>,
    /// `eigendisplacements`
    fits: Vec<Fitted>,
}

struct Fitted {
    components: usize,
    model: Arc<Model>,
    training: Evaluation,
    validation: Option<Evaluation>,
}

impl Measured {
    fn of(training: ExampleSet, validation: Option<ExampleSet>) -> Result<Self> {
        let fit = |components: usize| -> Result<Fitted> {
            let model = Arc::new(
                fit_examples(&training, &Base::default(), &paper_params(components).into(), &Unwatched)?
                    .model,
            );
            Ok(Fitted {
                components,
                training: evaluate_against(&model, &training, &Unwatched)?,
                validation: validation
                    .as_ref()
                    .map(|truth| evaluate_against(&model, truth, &Unwatched))
                    .transpose()?,
                model,
            })
        };
        let fits = COMPONENTS.map(fit).collect::<Result<_>>()?;
        let joint_of = joints_turned_most(&training);
        Ok(Self { training, validation, joint_of, fits })
    }

    fn rig(&self) -> &Rig {
        self.training.rig()
    }

    /// Relative errors on the training poses of one joint, `eigendisplacements`.
    fn of_joint(&self, joint: usize) -> Vec<Option<f64>> {
        let of_pose = |fit: &Fitted| {
            let poses = fit.training.per_pose.iter().zip(&self.joint_of);
            let of_joint = poses.filter(|&(_, &turned)| turned == joint).map(|(pose, _)| pose);
            GroupErrors::of(of_joint, fit.training.size).pooled
        };
        self.fits.iter().map(of_pose).collect()
    }

    fn on_training(&self) -> Vec<Option<f64>> {
        self.fits.iter().map(|fit| fit.training.relative_error).collect()
    }

    fn on_validation(&self) -> Vec<Option<f64>> {
        self.fits.iter().map(|fit| fit.validation.as_ref()?.relative_error).collect()
    }

    /// Joints that some training pose turns, in the order of the skeleton.
    fn joints(&self) -> Vec<(usize, &str)> {
        let joints = self.rig().skeleton().joints().iter().enumerate();
        joints
            .filter(|(joint, _)| self.joint_of.contains(joint))
            .map(|(joint, of)| (joint, of.name.as_str()))
            .collect()
    }

    fn poses_of(&self, joint: usize) -> usize {
        self.joint_of.iter().filter(|&&turned| turned == joint).count()
    }

    fn thumb_base(&self) -> Option<usize> {
        self.joints().into_iter().find(|(_, name)| *name == THUMB_BASE).map(|(joint, _)| joint)
    }

    fn validation_count(&self) -> usize {
        self.validation.as_ref().map_or(0, ExampleSet::len)
    }
}

impl Measured {
    fn print(&self, output: &Output) {
        let skinning = |evaluation: &Evaluation| format!("{} mm", figure(1000.0 * evaluation.skinning.rmse));
        output.item(
            "skinning",
            format!(
                "off by {} on training poses, {} on validation poses (rmse)",
                skinning(&self.fits[0].training),
                self.fits[0].validation.as_ref().map_or("–".to_string(), skinning)
            ),
        );
        output.line("");
        output.line("‖model − truth‖ / ‖skinning − truth‖ by eigendisplacements per joint");
        output.line("");
        let poses = |count| counted(count, "pose", "poses");
        let mut rows = vec![
            row(format!("training, {}", poses(self.training.len())), &self.on_training()),
            row(format!("validation, {}", poses(self.validation_count())), &self.on_validation()),
        ];
        if let Some(joint) = self.thumb_base() {
            let name = format!("thumb base, {} of training", poses(self.poses_of(joint)));
            rows.push(row(name, &self.of_joint(joint)));
        }
        print_rows(output, "this run", &rows);
        output.line("");
        let other: Vec<Vec<String>> =
            OTHER_HAND.iter().map(|known| row(known.what.to_string(), &known.errors)).collect();
        print_rows(output, "other data: WebXR hand, 10-node elements", &other);
        output.line("");
        output.line("the paper (its own hand)");
        for fact in PAPER {
            output.line(format!("  {fact}"));
        }
        output.line("");
        let joints: Vec<Vec<String>> = self
            .joints()
            .into_iter()
            .map(|(joint, name)| {
                row(format!("{name}, {}", poses(self.poses_of(joint))), &self.of_joint(joint))
            })
            .collect();
        print_rows(output, "this run, training poses by joint", &joints);
        output.line("");
    }

    fn json(&self) -> Value {
        let per_joint: Map<String, Value> = self
            .joints()
            .into_iter()
            .map(|(joint, name)| {
                let errors = json!({ "poses": self.poses_of(joint), "relative_error": self.of_joint(joint) });
                (name.to_string(), errors)
            })
            .collect();
        let thumb = self.thumb_base().map(|joint| self.of_joint(joint));
        let first = &self.fits[0];
        let mut figures = json!({
            "experiment": "eigenskin",
            "vertices": self.rig().vertex_count(),
            "components_per_joint": self.fits.iter().map(|fit| fit.components).collect::<Vec<_>>(),
            "poses": { "training": self.training.len(), "validation": self.validation_count() },
            "skinning_rmse": {
                "training": first.training.skinning.rmse,
                "validation": first.validation.as_ref().map(|e| e.skinning.rmse),
            },
            "relative_error": {
                "training": self.on_training(),
                "validation": self.on_validation(),
                "thumb_base": thumb,
            },
            "joints": per_joint,
        });
        if let (Value::Object(figures), Value::Object(known)) = (&mut figures, reference::json()) {
            figures.extend(known);
        }
        figures
    }

    /// The model with so many eigendisplacements, and its name in pictures.
    fn shown(&self, components: usize) -> Option<ShownModel<'_>> {
        let fit = self.fits.iter().find(|fit| fit.components == components)?;
        let caption = match components {
            0 => "plain skinning".to_string(),
            count => counted(count, "eigendisplacement", "eigendisplacements") + " per joint",
        };
        Some(ShownModel { caption, model: &fit.model })
    }
}

fn write_files(folder: &Path, measured: &Measured, figures: &Value, output: &Output) -> Result<()> {
    write_figures(&folder.join("reproduction.json"), figures)?;
    let mut written = vec!["reproduction.json"];
    let models: Vec<ShownModel> = [0, 1, 3].into_iter().filter_map(|k| measured.shown(k)).collect();
    let most = &measured.fits[3];
    let worst =
        most.validation.as_ref().and_then(|on| index_of_largest(&on.per_pose, |p| p.model_rmse, |_| true));
    let thumb = measured.thumb_base().and_then(|joint| {
        let of_thumb = |index: usize| measured.joint_of[index] == joint;
        index_of_largest(&most.training.per_pose, |p| p.skinning_rmse, of_thumb)
    });
    let pictures = [
        ("validation-worst.png", measured.validation.as_ref().zip(worst), ComparisonLook::Errors),
        ("thumb-base.png", Some(&measured.training).zip(thumb), ComparisonLook::ErrorsNear),
    ];
    for (name, pose, look) in pictures {
        let Some((truth, index)) = pose else { continue };
        let png = comparison_picture(
            truth,
            index,
            "",
            &models,
            look,
            Shot { painter: &CpuPainter, view: palm_view() },
        )?;
        let path = folder.join(name);
        write(&path, &png)?;
        written.push(name);
    }
    output.item("wrote", format!("{}: {}", folder.display(), written.join(", ")));
    Ok(())
}

/// `pose` → the joint it turns furthest.
fn joints_turned_most(set: &ExampleSet) -> Vec<usize> {
    let skeleton = set.rig().skeleton();
    let furthest = |pose: &eigenskin::pose::Pose| {
        let turns = (0..skeleton.joint_count())
            .map(|joint| (joint, pose.motion_of(skeleton, joint).shortest_turn().length()));
        let most = turns.fold((0, TURNED), |most, turn| if turn.1 > most.1 { turn } else { most });
        most.0
    };
    set.examples().iter().map(|example| furthest(&example.pose)).collect()
}

fn index_of_largest(
    poses: &[PoseErrors],
    of: impl Fn(&PoseErrors) -> f64,
    wanted: impl Fn(usize) -> bool,
) -> Option<usize> {
    (0..poses.len()).filter(|&index| wanted(index)).max_by(|&a, &b| of(&poses[a]).total_cmp(&of(&poses[b])))
}

fn row(name: String, errors: &[Option<f64>]) -> Vec<String> {
    let cell = |error: &Option<f64>| error.map_or("–".to_string(), |error| format!("{error:.3}"));
    std::iter::once(name).chain(errors.iter().map(cell)).collect()
}

fn print_rows(output: &Output, title: &str, rows: &[Vec<String>]) {
    let counts: Vec<String> = COMPONENTS.map(|k| k.to_string()).collect();
    let head: Vec<&str> = std::iter::once(title).chain(counts.iter().map(String::as_str)).collect();
    output.table(&head, rows);
}
