//! Nothing silent: every option of `fit` under every method is honoured, or refused with the methods that can.

mod cells;
pub mod desk;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use eigenskin::driver::{Interpolant, Kernel};

use crate::support::{eigenskin, options_of};
use cells::{AXES, Cell, Look, cell};
use desk::{Desk, Run};

const METHODS: [&str; 6] = ["patches", "eigenskin", "psd", "weighted-psd", "parameterization", "auto"];
/// Below this two models do the same, in sizes.
const SAME: f64 = 1e-5;

/// What a method makes of an option.
enum Verdict {
    Honoured,
    /// with this sentence
    Refused(String),
    /// nothing shows it
    Ignored(String),
}

/// What `--help` says of every option of `fit`, after the heading it stands below.
fn help_of_fit() -> BTreeMap<String, String> {
    let text = String::from_utf8(eigenskin(&["fit", "--help"]).stdout).unwrap();
    let (mut heading, mut option, mut help) = ("", None, BTreeMap::<String, String>::new());
    for line in text.lines().filter(|line| !line.is_empty()) {
        let words = line.trim();
        if !line.starts_with(' ') {
            (heading, option) = (words, None);
        } else if let Some(at) = words.find("--").filter(|_| words.starts_with('-')) {
            let name = words[at + 2..].split([' ', '<', '[', '.']).next().unwrap();
            option = Some(name.to_string());
            help.insert(name.to_string(), heading.to_string());
        } else if let Some(option) = &option {
            help.get_mut(option).unwrap().extend([" ", words]);
        }
    }
    help
}

/// Calls `work` for all items, on as many threads as there are cores.
fn each<T: Sync>(items: &[T], work: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    work(item);
                }
            });
        }
    });
}

/// Whether two fits differ where they must.
fn differ(desk: &Desk, method: &str, look: Look, [with, without]: [&Run; 2]) -> bool {
    match look {
        Look::Vertices => desk.difference([with, without]) > SAME,
        Look::Bytes => {
            let [a, b] = [with, without].map(|run| std::fs::read(&run.model).unwrap());
            a != b
        }
        Look::Said => with.said != without.said,
        Look::File(name) => desk.path(&format!("{method}-{name}")).exists(),
    }
}

fn verdict(desk: &Desk, option: &str, method: &str) -> Verdict {
    let Cell { with, without, alone, look, otherwise } = cell(option, method, desk);
    let (tried, plain) = (desk.fit(method, &with), desk.fitted(method, &without));
    match (&tried.said, &plain.said) {
        (Ok(_), Ok(_)) => {
            let differ = differ(desk, method, look, [&tried, &plain]);
            if differ { Verdict::Honoured } else { Verdict::Ignored(format!("`{with}` is as `{without}`")) }
        }
        // The option is what makes it possible.
        (Ok(_), Err(_)) => Verdict::Honoured,
        (Err(_), _) => match desk.fit(method, &alone).said {
            Err(sentence) => {
                let is_known = |(of, words): &(&str, &str)| *of == method && sentence.contains(words);
                if otherwise.as_ref().is_some_and(is_known) {
                    Verdict::Honoured
                } else {
                    Verdict::Refused(sentence)
                }
            }
            // What it needs is refused, and that is told.
            Ok(said) if said.contains(option) => Verdict::Honoured,
            Ok(said) => Verdict::Ignored(said),
        },
    }
}

#[test]
fn every_option_is_honoured_by_every_method_or_refused_with_those_that_can() {
    let desk = Desk::new();
    // Otherwise differences would say nothing.
    for method in METHODS {
        let line = "rig.glb --examples set.glb";
        let (a, b) = (desk.fit(method, line), desk.fitted(method, line));
        assert!(a.said.is_ok() && a.said == b.said, "{:?}", a.said);
        assert_eq!(std::fs::read(&a.model).unwrap(), std::fs::read(&b.model).unwrap(), "{method}");
    }
    let options = options_of("fit");
    let options: Vec<&String> = options.iter().filter(|option| !AXES.contains(&option.as_str())).collect();
    assert!(options.len() > 40, "{options:?}");
    let asked: Vec<(&str, &str)> =
        options.iter().flat_map(|option| METHODS.map(|method| (option.as_str(), method))).collect();
    let found: Mutex<BTreeMap<&str, BTreeMap<&str, Verdict>>> = Mutex::default();
    each(&asked, |&(option, method)| {
        let verdict = verdict(&desk, option, method);
        found.lock().unwrap().entry(option).or_default().insert(method, verdict);
    });
    let (mut refusals, mut wrong, help) = (0, Vec::new(), help_of_fit());
    for (option, verdicts) in found.into_inner().unwrap() {
        let honours = |method: &&&str| matches!(verdicts[**method], Verdict::Honoured);
        let can: Vec<&str> = METHODS.iter().filter(honours).copied().collect();
        let listed = match can.split_last() {
            Some((last, [])) => (*last).to_string(),
            Some((last, others)) => format!("{} and {last}", others.join(", ")),
            None => "none".to_string(),
        };
        if can.len() < METHODS.len() {
            let text = &help[option];
            let says = |method: &str| text.contains(method) || text.contains("methods with --kernel");
            if !can.iter().all(|method| says(method)) {
                wrong.push(format!("the help of --{option} does not say that it is for {listed}: {text}"));
            }
        }
        for (method, verdict) in &verdicts {
            match verdict {
                Verdict::Honoured => {}
                Verdict::Refused(sentence) => {
                    let right = format!(
                        "error: --{option} only works with --method {listed}, not with --method {method}\n"
                    );
                    refusals += 1;
                    if *sentence != right {
                        wrong.push(format!(
                            "--{option} under {method} is refused with {sentence}  not {right}"
                        ));
                    }
                }
                Verdict::Ignored(how) => wrong.push(format!("{method} ignores --{option}: {how}")),
            }
        }
    }
    println!("{} cells, {refusals} of them refused", asked.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(refusals > 50, "{refusals}");
}

/// Not the Gaussian, also where examples move several joints.
#[test]
fn every_kernel_is_the_one_that_was_asked_for() {
    let desk = Desk::new();
    for method in ["eigenskin", "psd", "weighted-psd", "parameterization"] {
        let fits = Kernel::ALL.map(|kernel| {
            let run = desk.fit(method, &format!("rig.glb --examples set.glb --kernel {}", kernel.name()));
            assert!(run.said.is_ok(), "{method}, {}: {:?}", kernel.name(), run.said);
            let model = Desk::model(&run);
            let used: BTreeSet<&str> = model
                .layers()
                .iter()
                .map(|layer| match &layer.driver.interpolant {
                    Interpolant::Rbf { kernel, .. } => kernel.name(),
                    other => panic!("{method}: {other:?}"),
                })
                .collect();
            assert_eq!(used, BTreeSet::from([kernel.name()]), "{method}");
            run
        });
        for (place, a) in fits.iter().enumerate() {
            for (other, b) in fits.iter().enumerate().skip(place + 1) {
                let apart = desk.difference([a, b]);
                let names = [place, other].map(|kernel| Kernel::ALL[kernel].name());
                assert!(apart > SAME, "{method}: {names:?} differ by {apart}");
            }
        }
    }
}

/// Linear, cubic, quintic and thin-plate kernels have no width: they only scale.
#[test]
fn widths_are_refused_by_kernels_without_one() {
    let desk = Desk::new();
    for (method, kernel, option) in [
        ("eigenskin", "--kernel cubic", "--width 0.5"),
        ("psd", "--kernel thin-plate", "--width auto"),
        ("weighted-psd", "--kernel linear", "--radius bent=0.5"),
        ("parameterization", "", "--width 0.5"),
        ("parameterization", "--kernel quintic", "--width 0.5"),
    ] {
        let said = desk.fit(method, &format!("rig.glb --examples set.glb {kernel} {option}")).said;
        let name = option.split(' ').next().unwrap();
        let kernel = if kernel.is_empty() { "--kernel thin-plate" } else { kernel };
        let right = format!(
            "error: {name} only works with --kernel gaussian, exponential, multiquadric, inverse-multiquadric and wendland-c2, not with {kernel}\n"
        );
        assert_eq!(said, Err(right));
    }
}

#[test]
fn joints_with_fewer_components_than_asked_are_named() {
    let desk = Desk::new();
    let said = |most: usize| {
        desk.fit("eigenskin", &format!("rig.glb --examples set.glb --per-joint {most}")).said.unwrap()
    };
    let many = said(20);
    let line = many.lines().find(|line| line.starts_with("per joint")).unwrap();
    assert!(line.contains("fewer than 20 for upper-arm (") && line.contains("forearm ("), "{line}");
    assert!(!said(1).contains("per joint"));
}

/// The base is what was asked for, whatever the method.
#[test]
fn every_method_adds_its_corrections_to_the_base() {
    let desk = Desk::new();
    for base in ["linear", "rigid", "dual-quaternion", "chain.toml"] {
        let name = if base == "chain.toml" { "fleshy" } else { base };
        for method in METHODS {
            let run = desk.fit(method, &format!("rig.glb --examples set.glb --base {base}"));
            assert!(run.said.is_ok(), "{method} on {base}: {:?}", run.said);
            assert_eq!(Desk::model(&run).base().name(), name, "{method}");
        }
    }
}

/// Options about solved weights, and about axes of forward deltas, need those.
#[test]
fn options_that_need_another_one_say_which() {
    let desk = Desk::new();
    for (method, options, sentence) in [
        ("patches", "--influences 2", "--influences and --smooth only work with --solve-weights"),
        ("psd", "--smooth 3", "--influences and --smooth only work with --solve-weights"),
        ("psd", "--axes root", "--axes only works with --deltas forward, not with --deltas auto"),
        (
            "psd",
            "--interpolation linear --axis-radii forearm=1,1,1",
            "--axis-radii only works with --interpolation rbf and shepard, not with --interpolation linear",
        ),
        (
            "weighted-psd",
            "--interpolation shepard --kernel cubic",
            "--kernel only works with --interpolation rbf, not with --interpolation shepard",
        ),
        ("psd", "--rest-frame 1", "--rest-frame goes with --obj or --cache"),
        (
            "eigenskin",
            "--solve-weights --base dual-quaternion",
            "skin weights are solved for linear blending, but the model's base is \"dual-quaternion\"",
        ),
    ] {
        let said = desk.fit(method, &format!("rig.glb --examples set.glb {options}")).said;
        let message = said.unwrap_err();
        assert!(message.starts_with(&format!("error: {sentence}")), "{options}: {message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}
