//! Long work stops when it is asked to, and asks often enough.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use eigenskin_characters::truth::SweptSkin;
use eigenskin_characters::tube::{sweeps, tube};
use eigenskin_characters::{arm, hand, square_bar};
use eigenskin_core::deformers::{Base, BlackBoxError};
use eigenskin_core::examples::{Example, ExampleSet, ExamplesError};
use eigenskin_core::glam::{DQuat, DVec3};
use eigenskin_core::model::{Frame, Model};
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::{Cancelled, Progress, Step, Unwatched};
use eigenskin_core::skinning::{BaseSkinning, PosedSkinning};
use eigenskin_fit::baselines::{add_leave_one_out, learnt_baselines, psd_baselines, skinning_baselines};
use eigenskin_fit::displacements::black_box::{InversionParams, invert};
use eigenskin_fit::displacements::{Observations, ObservationsError};
use eigenskin_fit::method::{
    BudgetError, ChoiceParams, DeltaSpace, EigenSkinParams, FitError, IcaParams, Limits, Method,
    ParameterizationParams, PatchesParams, PrototypeParams, PsdParams, SignalBasis, WrittenSize,
    choose_method, components_within, fit, fit_examples,
};
use eigenskin_fit::metrics::{evaluate_against, evaluate_each, leave_one_out};
use eigenskin_fit::mirror::{Mirror, MirrorError, MirrorParams, MirrorPlane};
use eigenskin_fit::solve_weights::{SolveWeightsError, SolveWeightsParams, solve_weights};
use eigenskin_fit::style::{StyleError, StyleMap, StyleParams};
use eigenskin_fit::suggest::{SuggestError, SuggestParams, suggest_poses};
use eigenskin_fit::transfer::{TransferError, TransferParams, transfer_examples, transfer_model};

use crate::support::boxes::{Bar, Smoothed};
use crate::support::psd::layered;

const LINEAR: BaseSkinning = BaseSkinning::LinearBlend;

/// Counts steps, and stops at one of them.
struct StopAt {
    steps: AtomicUsize,
    last: usize,
}

impl StopAt {
    fn new(last: usize) -> Self {
        Self { steps: AtomicUsize::new(0), last }
    }
}

impl Progress for StopAt {
    fn step(&self, _: Step<'_>) -> Result<(), Cancelled> {
        let step = self.steps.fetch_add(1, Ordering::Relaxed) + 1;
        if step >= self.last { Err(Cancelled) } else { Ok(()) }
    }
}

/// How work ended.
#[derive(Debug, PartialEq)]
enum End {
    Done,
    Cancelled,
    Failed(String),
}

trait IsCancelled: std::fmt::Display {
    fn is_cancelled(&self) -> bool;
}

macro_rules! is_cancelled {
    ($($error:ty: $variant:pat),* $(,)?) => {
        $(impl IsCancelled for $error {
            fn is_cancelled(&self) -> bool {
                matches!(self, $variant)
            }
        })*
    };
}

is_cancelled! {
    Cancelled: Cancelled,
    ObservationsError: ObservationsError::Cancelled(_),
    FitError: FitError::Cancelled(_),
    BudgetError<Cancelled>: BudgetError::Fit(FitError::Cancelled(_)),
    SolveWeightsError: SolveWeightsError::Cancelled(_),
    StyleError: StyleError::Cancelled(_),
    SuggestError: SuggestError::Cancelled(_),
    MirrorError: MirrorError::Cancelled(_),
    TransferError: TransferError::Cancelled(_),
    BlackBoxError: BlackBoxError::Cancelled(_),
}

fn end<T, E: IsCancelled>(result: Result<T, E>) -> End {
    match result {
        Ok(_) => End::Done,
        Err(error) if error.is_cancelled() => End::Cancelled,
        Err(error) => End::Failed(error.to_string()),
    }
}

type Work<'a> = Box<dyn Fn(&dyn Progress) -> End + 'a>;

/// Runs work to its end, then again and again, ending it at one of its steps.
fn check(name: &str, work: &Work<'_>) {
    let patient = StopAt::new(usize::MAX);
    assert_eq!(work(&patient), End::Done, "{name}");
    let steps = patient.steps.load(Ordering::Relaxed);
    assert!(steps > 0, "{name} tells nothing");
    for last in [1, 2, steps / 3, steps / 2, steps - 1, steps] {
        let last = last.clamp(1, steps);
        let impatient = StopAt::new(last);
        assert_eq!(work(&impatient), End::Cancelled, "{name} at step {last} of {steps}");
        // Threads that are at work may still look once.
        let after = impatient.steps.load(Ordering::Relaxed) - last;
        assert!(after <= 2 * rayon::current_num_threads(), "{name} took {after} steps more");
    }
}

/// An arm in poses of one joint and of several.
fn arm_set() -> ExampleSet {
    let arm = arm(300).unwrap();
    let poses = arm.single_joint_poses(2).into_iter().chain(arm.multi_joint_poses(6, 3));
    SweptSkin::new(&arm).examples(poses).unwrap()
}

fn methods() -> Vec<(&'static str, Method, Option<usize>)> {
    let psd = PsdParams::default();
    let forward = DeltaSpace::Forward { frame: Frame::Root };
    let ica = ParameterizationParams {
        basis: SignalBasis::Independent(IcaParams::default()),
        ..ParameterizationParams::default()
    };
    vec![
        ("eigenskin", Method::EigenSkin(EigenSkinParams::default()), None),
        ("psd", Method::Psd(psd.clone()), None),
        ("forward psd", Method::Psd(PsdParams { deltas: forward, ..psd.clone() }), None),
        (
            "weighted psd",
            Method::Psd(PsdParams { prototypes: Some(PrototypeParams::default()), ..psd }),
            Some(9),
        ),
        ("parameterization", Method::Parameterization(ParameterizationParams::default()), None),
        ("patches", Method::Patches(PatchesParams::default()), None),
        ("independent signals", Method::Parameterization(ica), None),
    ]
}

#[test]
fn fits_stop_at_any_step() {
    let set = arm_set();
    let base = Base::default();
    check(
        "pulling back",
        &(Box::new(|p: &dyn Progress| end(Observations::of(&set, &base, false, p))) as Work),
    );
    let seen = Observations::of(&set, &base, false, &Unwatched).unwrap();
    for (name, method, most) in methods() {
        let work: Work = Box::new(|progress| end(fit(&seen, &method, most, progress)));
        check(name, &work);
    }
    let work: Work = Box::new(|progress| end(fit_examples(&set, &base, &Method::default(), progress)));
    check("examples", &work);
}

#[test]
fn choices_and_budgets_stop_at_any_step() {
    let set = layered();
    let base = Base::default();
    let wanted = ChoiceParams::default();
    let work: Work = Box::new(|progress| end(choose_method(&set, &base, &wanted, progress)));
    check("choosing a method", &work);
    let seen = Observations::of(&set, &base, false, &Unwatched).unwrap();
    let method = Method::Psd(PsdParams::default());
    let limits = Limits { targets: Some(4), bytes: None, error: Some(0.5) };
    let size =
        |model: &Model| Ok::<_, Cancelled>(WrittenSize { targets: 2 * model.component_count(), bytes: 0 });
    let work: Work =
        Box::new(|progress| end(components_within(&limits, &seen, &method, &set, size, progress)));
    check("a budget", &work);
}

#[test]
fn measures_stop_at_any_step() {
    let set = sweeps(&tube());
    let model = fit_examples(&set, &Base::default(), &Method::default(), &Unwatched).unwrap().model;
    let model = Arc::new(model);
    let work: Work = Box::new(|progress| end(evaluate_against(&model, &set, progress)));
    check("comparing", &work);
    let fetch = |index: usize| Ok::<_, Cancelled>(set.examples()[index].clone());
    let work: Work = Box::new(|progress| end(evaluate_each(&model, set.len(), fetch, progress)));
    check("comparing one by one", &work);
    let refit = |others: &ExampleSet, progress: &dyn Progress| {
        Ok::<_, FitError>(fit_examples(others, &Base::default(), &Method::default(), progress)?.model)
    };
    let work: Work = Box::new(|progress| end(leave_one_out(&set, refit, progress)));
    check("leaving out", &work);
}

#[test]
fn other_methods_stop_at_any_step() {
    let set = layered();
    let (eigenskin, psd) = (EigenSkinParams::default(), PsdParams::default());
    let work: Work = Box::new(|progress| end(skinning_baselines(&[&set], progress)));
    check("skinning", &work);
    let work: Work = Box::new(|p| end(learnt_baselines(&set, LINEAR, &eigenskin, 1, &[&set], p)));
    check("methods that learn", &work);
    let work: Work = Box::new(|progress| end(psd_baselines(&set, LINEAR, &psd, &[&set], progress)));
    check("pose space deformations", &work);
    let (measured, _) = psd_baselines(&set, LINEAR, &psd, &[&set], &Unwatched).unwrap();
    let work: Work = Box::new(|progress| {
        end(add_leave_one_out(&mut measured.clone(), &set, LINEAR, &eigenskin, &psd, progress))
    });
    check("leaving out of other methods", &work);
}

#[test]
fn everything_beside_fits_stops_at_any_step() {
    let set = arm_set();
    let work: Work = Box::new(|p| end(solve_weights(&set, &SolveWeightsParams::default(), p)));
    check("skin weights", &work);

    let poses = arm(300).unwrap().single_joint_poses(4);
    let work: Work =
        Box::new(|p| end(suggest_poses(set.rig(), Some(&set), &poses, &SuggestParams::default(), p)));
    check("suggestions", &work);

    let model = fit_examples(&set, &Base::default(), &Method::default(), &Unwatched).unwrap().model;
    let coarse = arm(500).unwrap().rig;
    let mut params = TransferParams::default();
    params.budget.per_vertex = Some(4);
    let work: Work = Box::new(|p| end(transfer_model(&model, &coarse, &params, &[], p)));
    check("a model to another mesh", &work);
    let transferred = transfer_model(&model, &coarse, &params, &[], &Unwatched).unwrap();
    let work: Work = Box::new(|progress| end(transfer_examples(&set, &transferred, &coarse, progress)));
    check("shapes to another mesh", &work);

    // Half of a hand has no other side, so every plane is tried, and topology too.
    let rig = set.rig();
    let params = MirrorParams {
        plane: Some(MirrorPlane { axis: 0, centre: 0.0 }),
        joint_pairs: vec![(rig.skeleton().joints()[0].name.clone(), rig.skeleton().joints()[1].name.clone())],
        ..MirrorParams::default()
    };
    let work: Work = Box::new(|progress| end(Mirror::new(rig.clone(), &params, progress)));
    check("the other side", &work);
}

#[test]
fn styles_stop_at_any_step() {
    let bar = square_bar().unwrap();
    let at = |degrees: f64| bar.pose(&[degrees.to_radians(), 0.0]);
    let skinned = |degrees: &[f64], base| {
        let example = |&degrees: &f64| {
            let pose = at(degrees);
            let skinning = PosedSkinning::new(base, &bar.rig, &pose);
            let rest = bar.rig.mesh().positions();
            let place = |v: usize| skinning.position(v, rest[v].as_dvec3()).as_vec3();
            let positions = (0..rest.len()).map(place).collect();
            Example { name: format!("{degrees}"), pose, positions, normals: None, inverted: None }
        };
        ExampleSet::new(bar.rig.clone(), degrees.iter().map(example).collect()).unwrap()
    };
    let shown = [10.0, 30.0, 50.0, 70.0, 90.0];
    let (first, second) = (skinned(&shown, LINEAR), skinned(&shown, BaseSkinning::DualQuaternion));
    // Other angles: the deformations have to be interpolated.
    let target = skinned(&[20.0, 40.0, 60.0], LINEAR);
    let params = StyleParams::default();
    let work: Work = Box::new(|p| end(StyleMap::capture(&first, &second, &target, &params, p)));
    check("capturing a style", &work);
    let map = StyleMap::capture(&first, &second, &target, &params, &Unwatched).unwrap();
    let work: Work = Box::new(|progress| end(map.transfer(&target, 1.0, progress)));
    check("adding a style", &work);
}

#[test]
fn inversions_stop_at_any_step() {
    let bar = Bar::new(12, 8, DQuat::from_rotation_z(1.0));
    let target: Vec<DVec3> = bar.rest.iter().map(|p| *p + DVec3::new(0.0, 0.05, 0.02 * p.x.sin())).collect();
    let pose = Pose { world_from_joint: Vec::new(), controls: Vec::new() };
    let work: Work = Box::new(|progress| {
        let mut smoothed = Smoothed::new(&bar, 4);
        end(invert(&mut smoothed, &pose, &bar.rest, &target, 4.0, &InversionParams::default(), progress))
    });
    check("a black box", &work);
}

/// What a refusal is called does not get lost where errors are wrapped.
#[test]
fn other_errors_are_not_taken_for_a_stop() {
    let error = end::<(), FitError>(Err(ExamplesError::Name { index: 0, name: String::new() }.into()));
    assert!(matches!(error, End::Failed(_)));
}

thread_local! {
    /// CPU seconds of this thread at its last step, and the longest way from one to the next.
    static WATCH: Cell<(f64, f64)> = const { Cell::new((0.0, 0.0)) };
}

/// Measures how long a thread computes from step to step.
struct Gaps;

impl Progress for Gaps {
    fn step(&self, _: Step<'_>) -> Result<(), Cancelled> {
        let now = cpu_seconds();
        WATCH.with(|watch| {
            let (last, longest) = watch.get();
            watch.set((now, longest.max(now - last)));
        });
        Ok(())
    }
}

/// Time that this thread has computed, whatever else the machine does.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split_whitespace().next().and_then(|first| first.parse::<u64>().ok());
    nanoseconds.map_or_else(wall_seconds, |nanoseconds| 1e-9 * nanoseconds as f64)
}

/// Where the system does not tell.
fn wall_seconds() -> f64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64()
}

/// All of a fit on one thread, so that what is computed between two steps is what that thread computes.
#[test]
fn a_hand_is_never_silent_for_long() {
    let hand = hand(8000).unwrap();
    let poses = hand.single_joint_poses(2).into_iter().chain(hand.multi_joint_poses(8, 3));
    let set = SweptSkin::new(&hand).examples(poses).unwrap();
    assert!(set.rig().vertex_count() > 3000);
    let limit = if cfg!(debug_assertions) { 4.0 } else { 0.2 };
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    for (name, method, most) in methods() {
        let longest = alone.install(|| {
            WATCH.with(|watch| watch.set((cpu_seconds(), 0.0)));
            let seen = Observations::of(&set, &Base::default(), false, &Gaps).unwrap();
            let fitted = fit(&seen, &method, most, &Gaps).unwrap();
            evaluate_against(&Arc::new(fitted.model), &set, &Gaps).unwrap();
            Gaps.step(Step { doing: "the end", done: 0, count: None }).unwrap();
            WATCH.with(|watch| watch.get().1)
        });
        println!("{name}: silent for {longest:.3} s at most");
        assert!(longest <= limit, "{name}: {longest:.3} s without a step");
    }
}
