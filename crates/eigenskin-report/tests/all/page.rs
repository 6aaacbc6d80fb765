//! The HTML report of a small bent bar: its numbers are the evaluation's, and it stands alone.

use std::sync::Arc;

use eigenskin_core::deformers::Base;
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::glam::{DAffine3, DQuat, DVec3, Vec3};
use eigenskin_core::mesh::Mesh;
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::Unwatched;
use eigenskin_core::rig::Rig;
use eigenskin_core::skeleton::{Joint, Skeleton};
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_core::weights::{Influence, SkinWeights};
use eigenskin_fit::baselines::{
    Baseline, UnmeasuredMethod, learnt_baselines, psd_baselines, skinning_baselines,
};
use eigenskin_fit::method::{EigenSkinParams, Fit, ParameterizationParams, PsdParams, fit_examples};
use eigenskin_fit::metrics::{Evaluation, GroupErrors, PoseErrors, PoseGroups, evaluate_against};
use eigenskin_gltf::{DroppedPose, PoseRecord, SimulationRecord};
use eigenskin_report::page::{
    FramesTrial, LengthUnit, MeasuredSet, PictureLegend, Report, SetKind, Shot, SignalsSummary, SignalsTrial,
    SimulatedSet, SimulationSummary, WrittenFile, eigendisplacement_pictures, figure, html, part_colours,
    partition_pictures, worst_pose_pictures,
};
use eigenskin_report::picture::View;
use eigenskin_report::picture::painter::CpuPainter;

const SHOT: Shot =
    Shot { painter: &CpuPainter, view: View { from_direction: Vec3::Z, up: Vec3::Y, perspective: 0.2 } };
const NASTY: &str = "<script>alert('x')</script> & \"co\"";

/// A strip along x with a joint in its middle that has a nasty name.
fn strip() -> Arc<Rig> {
    let mut positions = Vec::new();
    let mut weights = Vec::new();
    for step in 0..11 {
        let x = step as f32 / 5.0 - 1.0;
        let far = (0.5 + 2.0 * x).clamp(0.0, 1.0);
        for y in [-0.2, 0.2] {
            positions.push(Vec3::new(x, y, 0.0));
            weights
                .push(vec![Influence { joint: 0, weight: 1.0 - far }, Influence { joint: 1, weight: far }]);
        }
    }
    let triangles = (0..10).flat_map(|s| [[2 * s, 2 * s + 2, 2 * s + 1], [2 * s + 1, 2 * s + 2, 2 * s + 3]]);
    let mesh = Mesh::new(positions, triangles.collect(), None).unwrap();
    let joint = |name: &str, parent| Joint {
        name: name.into(),
        parent,
        reference: None,
        joint_from_rest: DAffine3::IDENTITY,
    };
    let skeleton = Skeleton::new(vec![joint("root", None), joint(NASTY, Some(0))]).unwrap();
    let (weights, _) = SkinWeights::new(2, weights).unwrap();
    Arc::new(Rig::new(mesh, skeleton, weights, vec![]).unwrap())
}

/// Shapes bent by some angles about z, with a bulge that no skinning makes.
fn bent(rig: &Arc<Rig>, angles: &[f64]) -> ExampleSet {
    let examples = angles.iter().map(|&angle| {
        let turn = DAffine3::from_quat(DQuat::from_rotation_z(angle));
        let positions = rig.mesh().positions().iter().enumerate().map(|(vertex, rest)| {
            let far =
                rig.weights().of(vertex).iter().find(|i| i.joint == 1).map_or(0.0, |i| f64::from(i.weight));
            let rest = rest.as_dvec3();
            let moved = rest + DVec3::new(0.0, 0.0, 0.2 * angle.sin() * (-9.0 * rest.x * rest.x).exp());
            ((1.0 - far) * moved + far * turn.transform_point3(moved)).as_vec3()
        });
        Example {
            name: format!("{NASTY} {angle}"),
            pose: Pose { world_from_joint: vec![DAffine3::IDENTITY, turn], controls: vec![] },
            positions: positions.collect(),
            normals: None,
            inverted: None,
        }
    });
    ExampleSet::new(rig.clone(), examples.collect()).unwrap()
}

const LINEAR: BaseSkinning = BaseSkinning::LinearBlend;

struct Data {
    training: ExampleSet,
    held_out: ExampleSet,
    fit: Fit,
    on_training: Evaluation,
    on_held_out: Evaluation,
}

impl Data {
    fn new() -> Self {
        let rig = strip();
        let (training, held_out) = (bent(&rig, &[0.4, 0.8, 1.2]), bent(&rig, &[0.6, 1.0]));
        let fit = fit_examples(&training, &Base::default(), &EigenSkinParams::default().into(), &Unwatched)
            .unwrap();
        let model = Arc::new(fit.model.clone());
        let (on_training, on_held_out) = (
            evaluate_against(&model, &training, &Unwatched).unwrap(),
            evaluate_against(&model, &held_out, &Unwatched).unwrap(),
        );
        Self { training, held_out, fit, on_training, on_held_out }
    }

    fn page(&self) -> String {
        self.page_with(None)
    }

    /// The page of a pose space deformation of the same examples.
    fn psd_page(&self, unmeasured: Vec<UnmeasuredMethod>) -> (Fit, String) {
        let fit =
            fit_examples(&self.training, &Base::default(), &PsdParams::default().into(), &Unwatched).unwrap();
        let on_training = evaluate_against(&Arc::new(fit.model.clone()), &self.training, &Unwatched).unwrap();
        let set = MeasuredSet {
            name: "training".into(),
            kind: SetKind::Training,
            when: String::new(),
            evaluation: &on_training,
            truth: Some(&self.training),
        };
        let page = html(&Report {
            title: NASTY.into(),
            notes: Vec::new(),
            unit: LengthUnit { name: "mm".into(), per_model_unit: 1000.0 },
            model: &fit.model,
            fit: Some(&fit),
            signals: None,
            sets: vec![set],
            methods: psd_baselines(
                &self.training,
                LINEAR,
                &PsdParams::default(),
                &[&self.training],
                &Unwatched,
            )
            .unwrap()
            .0,
            unmeasured,
            written: None,
            simulation: None,
            pictures: Vec::new(),
        });
        (fit, page)
    }

    fn page_with(&self, simulation: Option<SimulationSummary>) -> String {
        let unit = LengthUnit { name: "mm".into(), per_model_unit: 1000.0 };
        let set = |name: &str, kind, evaluation, truth| MeasuredSet {
            name: name.into(),
            kind,
            when: "when <b>it</b> moves".into(),
            evaluation,
            truth: Some(truth),
        };
        let model = Arc::new(self.fit.model.clone());
        let sets = [&self.training, &self.held_out];
        let mut methods = skinning_baselines(&sets, &Unwatched).unwrap();
        methods.extend(
            learnt_baselines(&self.training, LINEAR, &EigenSkinParams::default(), 1, &sets, &Unwatched)
                .unwrap(),
        );
        let mut pictures =
            worst_pose_pictures(&model, &self.held_out, &self.on_held_out, NASTY, 1, SHOT, &unit).unwrap();
        pictures.extend(
            eigendisplacement_pictures(&model, &self.fit.learnt.eigenskin().unwrap().joints, SHOT, &unit)
                .unwrap(),
        );
        html(&Report {
            title: NASTY.into(),
            notes: vec![NASTY.into()],
            unit,
            model: &self.fit.model,
            fit: Some(&self.fit),
            signals: None,
            sets: vec![
                set("training", SetKind::Training, &self.on_training, &self.training),
                set("held out", SetKind::HeldOut, &self.on_held_out, &self.held_out),
            ],
            methods,
            unmeasured: Vec::new(),
            written: Some(WrittenFile {
                name: NASTY.into(),
                targets: 3,
                bytes: 123_456,
                warnings: vec![NASTY.into()],
            }),
            simulation,
            pictures,
        })
    }
}

/// The cells of the first table row whose heading is `name`.
fn cells(page: &str, name: &str) -> Vec<String> {
    let row = page.split("<tr").find(|row| row.contains(&format!(">{name}</th>"))).unwrap();
    let cells = row.split("<td").skip(1);
    cells.map(|cell| cell.split_once('>').unwrap().1.split('<').next().unwrap().to_string()).collect()
}

#[test]
fn numbers_are_those_of_the_evaluation() {
    let data = Data::new();
    let page = data.page();
    let close = |cell: &str, value: f64| {
        let shown: f64 = cell.parse().unwrap();
        assert!((shown - value).abs() <= 0.006 * value.abs(), "{shown} is shown for {value}");
    };
    let ours = cells(&page, "this model");
    let linear = cells(&page, "linear blend skinning");
    for (column, evaluation) in [(0, &data.on_training), (2, &data.on_held_out)] {
        close(&ours[column], 1000.0 * evaluation.model.rmse);
        close(&linear[column], 1000.0 * evaluation.skinning.rmse);
        assert_eq!(ours[column + 1], format!("{:.3}", evaluation.relative_error.unwrap()));
        assert_eq!(linear[column + 1], "1.000");
    }
    assert_eq!(ours[4], data.fit.model.component_count().to_string());
    assert_eq!(ours[5], data.fit.model.most_components_per_vertex().to_string());
    let angles = data.on_held_out.normal_angles;
    let shown = &page[page.find("id=\"normals\"").unwrap()..];
    assert_eq!(
        cells(shown, "held out"),
        [
            angles.skinning_mean,
            angles.model_mean,
            angles.skinning_mean_inverse_transpose,
            angles.model_mean_inverse_transpose
        ]
        .map(|angle| format!("{angle:.2}°"))
    );
    for pose in &data.on_held_out.per_pose {
        assert!(page.contains(&format!("<td>{}</td>", figure(1000.0 * pose.model_max))));
    }
    // The sentence speaks of the poses that were not seen first.
    let unseen = data.on_held_out.relative_error.unwrap();
    let lead = page.split_once("class=\"lead\">").unwrap().1;
    let words = "In poses it has never seen, the model leaves ";
    assert!(lead.starts_with(words), "{}", &lead[..80]);
    let share: f64 = lead[words.len()..].split(" %").next().unwrap().trim().parse().unwrap();
    assert!((share / 100.0 - unseen).abs() < 0.06 * unseen, "{share} % for {unseen}");
}

/// Pooled, median, 90th percentile and worst stand side by side, and poses with contact apart.
#[test]
fn errors_spread_over_poses() {
    let mut data = Data::new();
    let of_poses = |page: &str| {
        let section = &page[page.find("id=\"poses\"").unwrap()..];
        section[..section.find("</table>").unwrap()].to_string()
    };
    assert!(!of_poses(&data.page()).contains("with contact"), "no pose has any");

    // Plain skinning is off by 1 and 3; the model leaves a fifth of the first and a half of the second.
    let evaluation = &mut data.on_held_out;
    for (pose, (skinning, model)) in evaluation.per_pose.iter_mut().zip([(1.0, 0.2), (3.0, 1.5)]) {
        (pose.skinning_rmse, pose.model_rmse) = (skinning, model);
        (pose.relative_error, pose.contact) = (Some(model / skinning), skinning > 2.0);
    }
    let group = |poses: &[PoseErrors]| GroupErrors::of(poses, evaluation.size);
    evaluation.groups = PoseGroups {
        all: group(&evaluation.per_pose),
        with_contact: group(&evaluation.per_pose[1..]),
        without_contact: group(&evaluation.per_pose[..1]),
    };
    let page = data.page();
    let table = of_poses(&page);
    // Pooled √((0.04 + 2.25) / 10); between 0.2 and 0.5 half of the way and nine tenths of it.
    assert_eq!(cells(&table, "held out")[..5], ["2", "0.479", "0.350", "0.470", "0.500"]);
    assert_eq!(cells(&table, "with contact")[..5], ["1", "0.500", "0.500", "0.500", "0.500"]);
    assert_eq!(cells(&table, "without contact")[..5], ["1", "0.200", "0.200", "0.200", "0.200"]);
    assert_eq!(table.matches(">with contact</th>").count(), 1, "the training poses have no contact");
    assert_eq!(cells(&table, "training")[0], "3");
    assert_eq!(page.matches("<td>yes</td>").count(), 1, "the pose is marked among all poses");
    // The first screen has the median and the worst pose beside what is pooled.
    assert!(page.contains("<small>median pose 35 %, worst 50 %</small>"));
}

/// The pose with the largest share of skinning's error is drawn too, where its error is small.
#[test]
fn the_pose_with_the_largest_share_is_drawn() {
    let data = Data::new();
    let mut evaluation = data.on_training.clone();
    let largest = |evaluation: &Evaluation| {
        let poses = evaluation.per_pose.iter().enumerate();
        poses.max_by(|a, b| a.1.model_rmse.total_cmp(&b.1.model_rmse)).unwrap().0
    };
    let (worst, other) = (largest(&evaluation), (largest(&evaluation) + 1) % 3);
    for (index, pose) in evaluation.per_pose.iter_mut().enumerate() {
        pose.relative_error = Some(if index == other { 0.9 } else { 0.1 });
    }
    let model = Arc::new(data.fit.model.clone());
    let titles = |evaluation: &Evaluation| -> Vec<String> {
        let unit = LengthUnit::of_the_model();
        let rows =
            worst_pose_pictures(&model, &data.training, evaluation, "training", 1, SHOT, &unit).unwrap();
        rows.into_iter().map(|row| row.title).collect()
    };
    let name = |index: usize| &data.training.examples()[index].name;
    assert_eq!(
        titles(&evaluation),
        [
            format!("Largest error, training: {}", name(worst)),
            format!("Largest share of skinning’s error left, training: {}", name(other)),
        ]
    );
    evaluation.per_pose[worst].relative_error = Some(1.0);
    assert_eq!(titles(&evaluation).len(), 1, "once is enough");
}

/// Whole example targets stand in the table with their price, and hit what they store.
#[test]
fn raw_targets_have_a_row() {
    let data = Data::new();
    let page = data.page();
    let vertices = data.training.rig().vertex_count();
    for name in ["shape interpolation", "raw example targets"] {
        let row = cells(&page, name);
        assert_eq!((row[0].as_str(), row[1].as_str()), ("0", "0.000"), "{name}");
        assert!(row[2].parse::<f64>().unwrap() > 0.0);
        assert_eq!((row[4].as_str(), row[5].as_str()), ("3", "3"), "{name}: one field per example");
        assert_eq!(row[6], format!("{} B", 3 * 12 * vertices));
    }
}

/// The pictures of components look at the part of the skin that the joint moves.
#[test]
fn pose_spaces_are_listed_in_their_order() {
    let data = Data::new();
    let reason = || format!("too large {NASTY}");
    let unmeasured = [Baseline::ForwardPsd, Baseline::WeightedPsd]
        .map(|method| UnmeasuredMethod { method, reason: reason() });
    let (fit, page) = data.psd_page(unmeasured.to_vec());
    assert!(!page.contains(NASTY));
    let escaped =
        NASTY.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    // One space, its joint's name, all three examples, and what the fit says of it.
    let row = cells(&page, &format!("1. {escaped}"));
    assert_eq!(row[0].matches("&lt;script&gt;").count(), 3, "{row:?}");
    let told = fit.learnt.psd().unwrap();
    let driver = told.spaces[0].drivers[0];
    assert_eq!(row[1..3], [told.spaces[0].vertex_count.to_string(), figure(driver.width)]);
    let worst = told.examples.iter().map(|e| e.largest_delta).fold(0.0, f64::max);
    assert!(page.contains(&format!("<td>{}</td>", figure(1000.0 * worst))));
    // A reason that two methods share is told once.
    assert_eq!(page.matches("Not measured: forward PSD, weighted PSD. Why: too large").count(), 1);
    assert_eq!(cells(&page, "inverse PSD")[..2], cells(&page, "this model")[..2]);
    assert!(page.contains("3 fields in all") && !page.contains("Singular values"));
}

#[test]
fn components_are_seen_from_near() {
    let data = Data::new();
    let unit = LengthUnit::of_the_model();
    let pictures = eigendisplacement_pictures(
        &data.fit.model,
        &data.fit.learnt.eigenskin().unwrap().joints,
        SHOT,
        &unit,
    );
    let row = pictures.unwrap().unwrap();
    assert_eq!(row.legend, PictureLegend::Displacement);
    let first = &row.panels[0];
    assert!(first.caption.contains(NASTY) && first.caption.contains("component 1"), "{}", first.caption);
    let value = figure(data.fit.learnt.eigenskin().unwrap().joints[0].singular_values[0]);
    assert_eq!(first.detail, format!("singular value {value} model units"));
    let mut reader = png::Decoder::new(std::io::Cursor::new(&first.png)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut pixels).unwrap();
    // The whole strip would end at both sides of the picture; its bent middle goes beyond them.
    let opaque = |x: usize| pixels[4 * (first.height / 2 * first.width + x) + 3] == 255;
    assert!(opaque(0) && opaque(first.width - 1));
}

/// Names from files are text, whatever is in them.
#[test]
fn text_is_escaped() {
    let page = Data::new().page();
    assert!(!page.contains("<script") && !page.contains("<b>it"));
    assert!(page.contains("&lt;script&gt;") && page.contains("&lt;b&gt;it"));
    // Every attribute is closed: a quote from a name would leave an odd tag behind.
    let mut rest = page.as_str();
    while let Some(start) = rest.find('<') {
        let end = start + rest[start..].find('>').unwrap();
        let tag = &rest[start..end];
        assert!(tag.matches('"').count().is_multiple_of(2), "{tag}");
        rest = &rest[end..];
    }
}

/// Nothing is fetched, nothing depends on the run, everything can be found by a screen reader.
#[test]
fn page_stands_alone() {
    let data = Data::new();
    let page = data.page();
    assert_eq!(page, data.page());
    for foreign in ["http://", "https://", "@import", "url(", "<link", "src=\"/", "href=\"/"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    assert!(page.starts_with("<!DOCTYPE html><html lang=\"en\">"));
    assert_eq!(page.matches("<h1").count(), 1);
    assert_eq!(page.matches("<img").count(), page.matches(" alt=\"").count());
    assert!(!page.contains("alt=\"\""));
    assert_eq!(
        page.matches("<svg").count(),
        page.matches("role=\"img\"").count() + page.matches("aria-hidden").count()
    );
    let headers = page.matches("<th").count() - page.matches("<thead").count();
    assert_eq!(headers, page.matches(" scope=\"").count(), "a table header without scope");
    assert!(page.contains("prefers-color-scheme: dark") && page.contains("@media print"));
    // Headings never skip a level.
    let mut level = 0;
    for part in page.split("<h").skip(1) {
        let Some(found) = part.chars().next().and_then(|c| c.to_digit(10)) else { continue };
        assert!(found <= level + 1, "h{found} after h{level}");
        level = found;
    }
}

#[test]
fn simulations_are_told_with_every_pose() {
    let pose = |name: &str, volume, smallest_j, penetration| PoseRecord {
        name: name.into(),
        volume,
        smallest_j,
        penetration: Some(penetration),
        jump: 0.0012,
        stable: true,
    };
    let record = |poses, dropped| SimulationRecord {
        cubes: 951,
        edge: 0.00885,
        unknowns: 4761,
        bones: 16,
        material: "neo-Hookean".into(),
        poisson: 0.45,
        contact: true,
        poses,
        dropped,
        settings: None,
    };
    let training = record(vec![pose("a", 0.98, 0.25, 0.0), pose("b", 1.004, 0.75, 0.011)], vec![]);
    let dropped = vec![DroppedPose { name: NASTY.into(), reason: "its volume is 90.0 % of rest".into() }];
    let held_out = record(vec![pose(NASTY, 0.99, 0.5, 0.0)], dropped);
    let sets = [("training", &training), ("held out", &held_out)]
        .map(|(name, record)| SimulatedSet { name: name.into(), record });
    let bar = Data::new();
    let page = bar.page_with(Some(SimulationSummary { seconds: Some(61.6), sets: sets.to_vec() }));
    assert!(page.contains("951 cells of edge 8.85 mm, 4761 unknowns"));
    assert!(page.contains("neo-Hookean, Poisson’s ratio 0.45") && page.contains("62 seconds"));
    assert!(page.contains("3 converged and good enough: 2 training; 1 held out. Dropped: 1"));
    assert_eq!(cells(&page, "b"), ["100.4 %", "0.75", "1.1 %", "0.12 %"]);
    // The worst pose is told to those who do not see the charts.
    assert!(page.contains("Volume gained or lost. Largest: 2.00 in a."));
    assert!(page.contains("Smallest: 0.250 in a.") && page.contains("Deepest: 1.10 in b."));
    assert!(page.contains("its volume is 90.0 % of rest") && !page.contains(NASTY));

    let without = SimulationRecord { contact: false, ..training.clone() };
    let sets = vec![SimulatedSet { name: "training".into(), record: &without }];
    let page = bar.page_with(Some(SimulationSummary { seconds: None, sets }));
    assert!(page.contains("parts may pass through each other") && !page.contains("Skin pushes"));
    assert!(
        !page.contains("Deepest") && !page.contains("<dt>Time</dt>") && page.contains("None: every pose")
    );
    assert!(!bar.page().contains("How the poses were made"));
}

/// The strip as two parts with signals, learnt from eight poses.
fn two_parts() -> (ExampleSet, Fit) {
    let angles: Vec<f64> = (1..=8).map(|step| 0.15 * f64::from(step)).collect();
    let rig = strip();
    let mut examples = bent(&rig, &angles).examples().to_vec();
    for (example, angle) in examples.iter_mut().zip(&angles) {
        // A second pattern beside the bulge.
        let twist = 0.05 * (3.0 * angle).sin() as f32;
        for (position, rest) in example.positions.iter_mut().zip(rig.mesh().positions()) {
            position.z += twist * rest.y;
        }
    }
    let set = ExampleSet::new(rig, examples).unwrap();
    let params = ParameterizationParams { parts: Some(2), ..ParameterizationParams::default() };
    let fit = fit_examples(&set, &Base::default(), &params.clone().into(), &Unwatched).unwrap();
    assert_eq!(fit.learnt.parameterization().unwrap().parts.len(), 2);
    (set, fit)
}

fn signals_page(set: &ExampleSet, fit: &Fit, signals: SignalsSummary) -> String {
    let evaluation = evaluate_against(&Arc::new(fit.model.clone()), set, &Unwatched).unwrap();
    html(&Report {
        title: NASTY.into(),
        notes: Vec::new(),
        unit: LengthUnit::of_the_model(),
        model: &fit.model,
        fit: Some(fit),
        sets: vec![MeasuredSet {
            name: "training".into(),
            kind: SetKind::Training,
            when: String::new(),
            evaluation: &evaluation,
            truth: Some(set),
        }],
        methods: Vec::new(),
        unmeasured: Vec::new(),
        written: None,
        simulation: None,
        pictures: partition_pictures(fit, SHOT).unwrap().into_iter().collect(),
        signals: Some(signals),
    })
}

#[test]
fn signals_are_told_part_by_part() {
    let (set, fit) = two_parts();
    let trial = |signals, is_this_model, training, unseen| SignalsTrial {
        signals,
        is_this_model,
        training: Some(training),
        unseen: Some(unseen),
    };
    let signals = SignalsSummary {
        by_signals: vec![trial(1, false, 0.5, 0.625), trial(2, true, 0.25, 0.375)],
        by_frames: vec![FramesTrial { every: 4, frames: 2, training: Some(0.125), unseen: Some(0.75) }],
        without_trials: String::new(),
    };
    let page = signals_page(&set, &fit, signals.clone());
    assert!(!page.contains(NASTY));
    assert!(
        page.contains(&format!("<small>{} signals in all", fit.model.component_count())),
        "{}",
        fit.model.component_count()
    );
    let section = page.split_once("id=\"signals\"").unwrap().1.split_once("</section>").unwrap().0;
    let escaped =
        NASTY.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    for part in &fit.learnt.parameterization().unwrap().parts {
        let name = if part.name == NASTY { escaped.as_str() } else { part.name.as_str() };
        let row = cells(section, name);
        assert_eq!(row[0], escaped, "the only joint that moves drives {name}");
        let unseen = format!("{:.3}", part.cross_validation.unwrap());
        let energy = format!("{:.2} %", 100.0 * part.energy_kept);
        assert_eq!(row[1..], [part.vertex_count.to_string(), part.signal_count.to_string(), energy, unseen]);
        // What one component leaves of the energy.
        let total: f64 = part.energies.iter().sum();
        let left = figure(100.0 * (total - part.energies[0]) / total);
        assert!(section.contains(&format!("{left} % left after 1 component<")), "{name}: {left}");
    }
    assert!(section.contains("2 (this model)") && section.contains("2 (every 4th)"));
    assert!(section.contains("Smallest on frames left out: 0.375 with 2 signals."));
    assert!(
        section.contains("0.750 on frames left out") && section.contains("0.125 on frames it learnt from")
    );

    let without_trials = format!("not tried {NASTY}");
    let page = signals_page(&set, &fit, SignalsSummary { without_trials, ..signals });
    assert!(page.contains("not tried &lt;script") && !page.contains("Error by number of signals"));
}

/// Far from the border a part has its own colour, whatever the light; the legend names both.
#[test]
fn parts_have_colours_of_their_own() {
    let (set, fit) = two_parts();
    let row = partition_pictures(&fit, SHOT).unwrap().unwrap();
    let palette = part_colours(2);
    let names: Vec<String> =
        fit.learnt.parameterization().unwrap().parts.iter().map(|part| part.name.clone()).collect();
    let keys = palette.iter().copied().zip(names).collect();
    assert_eq!(row.legend, PictureLegend::Parts { keys });
    let picture = &row.panels[0];
    let mut reader = png::Decoder::new(std::io::Cursor::new(&picture.png)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut pixels).unwrap();
    let pixel = |x: usize| {
        let at = 4 * (picture.height / 2 * picture.width + x);
        [0, 1, 2, 3].map(|channel| f32::from(pixels[at + channel]))
    };
    // Light scales linear colours, so it leaves the order and about the ratio of bytes.
    let same_hue = |pixel: [f32; 4], [red, green, blue]: [u8; 3]| {
        let colour = [red, green, blue].map(f32::from);
        let (light, brightest) = (pixel[..3].iter().sum::<f32>(), colour.iter().sum::<f32>());
        (0..3).all(|c| (pixel[c] / light - colour[c] / brightest).abs() < 0.04)
    };
    let root =
        fit.learnt.parameterization().unwrap().parts.iter().position(|part| part.name == "root").unwrap();
    let (left, right) = (pixel(picture.width / 10), pixel(picture.width * 9 / 10));
    assert_eq!((left[3], right[3]), (255.0, 255.0));
    assert!(same_hue(left, palette[root]) && !same_hue(left, palette[1 - root]), "{left:?} {palette:?}");
    assert!(same_hue(right, palette[1 - root]) && !same_hue(right, palette[root]), "{right:?} {palette:?}");

    let whole = ParameterizationParams { parts: Some(1), ..ParameterizationParams::default() };
    let whole = fit_examples(&set, &Base::default(), &whole.clone().into(), &Unwatched).unwrap();
    assert!(partition_pictures(&whole, SHOT).unwrap().is_none(), "one part needs no picture");
    let many = part_colours(21);
    let distinct: std::collections::BTreeSet<_> = many.iter().collect();
    assert_eq!(distinct.len(), 21);
}
