//! The job Render: values in, a picture out.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use eigenskin::characters::arm;
use eigenskin::characters::truth::SweptSkin;
use eigenskin::deformers::Base;
use eigenskin::examples::ExampleSet;
use eigenskin::gltf::RigFile;
use eigenskin::jobs::render::{Motif, Render, RenderError, RenderSettings, Show, clip_poses};
use eigenskin::method::{EigenSkinParams, fit_examples};
use eigenskin::pose_source::PoseSourceError;
use eigenskin::progress::{Cancelled, Progress, Step, Unwatched};
use eigenskin::report::picture::painter::CpuPainter;

/// A model of an arm, and what it was learnt from.
pub fn arm_model() -> (Arc<eigenskin::model::Model>, Arc<ExampleSet>) {
    let character = arm(600).unwrap();
    let set = SweptSkin::new(&character).examples(character.single_joint_poses(3)).unwrap();
    let fit = fit_examples(&set, &Base::default(), &EigenSkinParams::default().into(), &Unwatched).unwrap();
    (Arc::new(fit.model), Arc::new(set))
}

fn small() -> RenderSettings {
    RenderSettings { panel_size: [40, 50], rate: 2, ..RenderSettings::default() }
}

/// Ends the work at a step, and counts the steps before.
pub struct EndsAt(pub usize, pub AtomicUsize);

impl Progress for EndsAt {
    fn step(&self, _: Step<'_>) -> Result<(), Cancelled> {
        let steps = self.1.fetch_add(1, Ordering::Relaxed);
        if steps >= self.0 { Err(Cancelled) } else { Ok(()) }
    }
}

#[test]
fn every_motif_is_drawn_from_values_alone() {
    let (model, truth) = arm_model();
    let render = |truth: Option<&Arc<ExampleSet>>, settings: RenderSettings| {
        let job = Render { model: model.clone(), truth: truth.cloned(), poses: Vec::new(), settings };
        job.run(&CpuPainter, &Unwatched)
    };
    let worst = render(Some(&truth), small()).unwrap();
    assert!(worst.example.is_some() && worst.frames == 1 && worst.png.starts_with(b"\x89PNG"));
    let name = truth.examples()[1].name.clone();
    let settings = RenderSettings { example: Some(name.clone()), ..small() };
    assert_eq!(render(Some(&truth), settings.clone()).unwrap().example, Some(name));
    let counts = RenderSettings { motif: Motif::ComponentCounts { most: 2 }, ..settings };
    assert!(render(Some(&truth), counts.clone()).unwrap().png.len() > 1000);
    assert!(matches!(render(None, counts), Err(RenderError::NeedsTruth { .. })));
    let components = RenderSettings { motif: Motif::Components { layer: None }, ..small() };
    assert!(render(None, components).unwrap().png.len() > 1000);
    let around =
        render(None, RenderSettings { turntable: true, show: vec![Show::Model], ..small() }).unwrap();
    assert_eq!(
        serde_json::to_value(&around).unwrap(),
        serde_json::json!({ "example": null, "frames": 8, "rate": 2 })
    );
}

#[test]
fn what_cannot_be_drawn_is_named() {
    let (model, truth) = arm_model();
    let refused = |settings: RenderSettings| {
        let job = Render { model: model.clone(), truth: Some(truth.clone()), poses: Vec::new(), settings };
        job.run(&CpuPainter, &Unwatched).unwrap_err().to_string()
    };
    let layer = Motif::Components { layer: Some("knee".into()) };
    assert!(refused(RenderSettings { motif: layer, ..small() }).contains("\"knee\"; it has "));
    assert!(refused(RenderSettings { rate: 0, ..small() }).contains("1 to 60"));
    assert!(refused(RenderSettings { example: Some("no such".into()), ..small() }).contains("no such"));
    assert!(refused(RenderSettings { panel_size: [0, 10], ..small() }).contains("0 × 10"));
    let other = arm(500).unwrap();
    let other = SweptSkin::new(&other).examples(other.single_joint_poses(2)).unwrap();
    let job = Render { model, truth: Some(Arc::new(other)), poses: Vec::new(), settings: small() };
    assert!(matches!(job.run(&CpuPainter, &Unwatched), Err(RenderError::OtherRig { .. })));
}

#[test]
fn a_clip_is_played_at_its_rate_and_can_be_stopped_between_panels() {
    let (model, truth) = arm_model();
    let poses: Vec<_> = truth.examples().iter().take(3).map(|example| example.pose.clone()).collect();
    let file = RigFile::from_rig(model.rig().clone(), "arm").unwrap();
    let file = file.with_clip("bend", &[0.0, 1.0, 2.0], &poses).unwrap();
    let poses = clip_poses(&file, "bend", 2).unwrap();
    assert_eq!(poses.len(), 4);
    assert!(matches!(clip_poses(&file, "bent", 2), Err(PoseSourceError::NoClip { .. })));
    let settings = RenderSettings { show: vec![Show::Linear, Show::Model], ..small() };
    let job = Render { model, truth: None, poses, settings };
    assert_eq!(job.run(&CpuPainter, &Unwatched).unwrap().frames, 4);
    // Asked at the beginning, for each pose and before each of the eight panels.
    let watcher = EndsAt(usize::MAX, AtomicUsize::new(0));
    job.run(&CpuPainter, &watcher).unwrap();
    assert_eq!(watcher.1.into_inner(), 1 + 4 + 8);
    for step in [0, 3, 9] {
        let ended = job.run(&CpuPainter, &EndsAt(step, AtomicUsize::new(0)));
        assert!(matches!(ended, Err(RenderError::Cancelled(_))), "{step}");
    }
    let turning = RenderSettings { turntable: true, ..job.settings.clone() };
    let job = Render { settings: turning, ..job };
    assert!(matches!(job.run(&CpuPainter, &Unwatched), Err(RenderError::MovingTurntable { poses: 4 })));
}

#[test]
fn settings_go_through_json() {
    let settings = RenderSettings {
        motif: Motif::Components { layer: Some("elbow".into()) },
        show: vec![Show::Truth, Show::LinearError],
        view: Some("0.3,-0.4,1".parse().unwrap()),
        columns: Some(2),
        dark: true,
        ..RenderSettings::default()
    };
    let text = serde_json::to_string(&settings).unwrap();
    assert!(
        text.contains(r#""view":"0.3,-0.4,1""#) && text.contains(r#"["truth","linear-error"]"#),
        "{text}"
    );
    assert_eq!(serde_json::from_str::<RenderSettings>(&text).unwrap(), settings);
    let front: RenderSettings = serde_json::from_str(r#"{ "view": "front", "rate": 24 }"#).unwrap();
    assert_eq!(front, RenderSettings { view: "front".parse().ok(), rate: 24, ..RenderSettings::default() });
    assert!(serde_json::from_str::<RenderSettings>(r#"{ "view": "sideways" }"#).is_err());
    assert!(serde_json::from_str::<RenderSettings>(r#"{ "wire": true }"#).is_err());
    for show in Show::ALL {
        assert_eq!(show.name().parse(), Ok(show));
        assert_eq!(serde_json::to_value(show).unwrap(), show.name());
    }
}
