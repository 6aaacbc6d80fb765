//! `eigenskin examples mirror`: examples of one side, made for the other.

use eigenskin::progress::Unwatched;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use eigenskin::examples::{Example, ExampleSet, ExamplesError};
use eigenskin::gltf::{EditError, ExampleList};
use eigenskin::mirror::{Mirror, MirrorParams, MirrorPlane, mirrored_name};
use eigenskin::rig::Rig;

use crate::output::{Output, counted, figure};

/// How the two sides are found.
#[derive(clap::Args)]
#[command(next_help_heading = "Mirror")]
pub struct MirrorArgs {
    /// The mirror plane: the axis it stands across, and where on it, such as x or x=0.5 [default:
    /// found from the joints]
    #[arg(long, value_name = "AXIS[=PLACE]")]
    plane: Option<String>,
    /// Joints that belong together, beyond what their names tell; a joint of the middle with itself.
    /// May be repeated
    #[arg(long = "pair", value_name = "LEFT=RIGHT")]
    pairs: Vec<String>,
    /// Rest positions agree within this share of the size
    #[arg(long, value_name = "SHARE", default_value_t = 1e-3)]
    tolerance: f64,
    /// Replace examples of the other side; needs the names of those to mirror
    #[arg(long)]
    replace: bool,
}

/// Adds the other side of the named examples; what was done, if anything.
pub fn run(
    list: &mut ExampleList,
    names: &[String],
    args: &MirrorArgs,
    output: &Output,
) -> Result<Option<String>> {
    if args.replace && names.is_empty() {
        bail!("--replace needs the names of the examples to mirror, else both sides would change places");
    }
    let places = if names.is_empty() {
        let examples = list.set.examples().iter().enumerate();
        examples.filter(|(_, example)| !list.is_muted(&example.name)).map(|(place, _)| place).collect()
    } else {
        names.iter().map(|name| list.find(name)).collect::<Result<Vec<usize>, _>>()?
    };
    let rig = list.set.rig().clone();
    let mirror = Mirror::new(rig.clone(), &params(args)?, &Unwatched).map_err(|error| with_options(&error))?;
    tell(&mirror, &rig, output);
    let originals: Vec<Example> = places.iter().map(|&place| list.set.examples()[place].clone()).collect();
    let mut done = Vec::new();
    for original in &originals {
        let mirrored = mirror
            .example(original, mirrored_name(&original.name))
            .map_err(|error| with_options(&error))
            .with_context(|| format!("example {:?}", original.name))?;
        if likeness(original, &mirrored, &rig)? != Likeness::OtherPose {
            output.item("skipped", format!("{}: its pose is its own mirror image", original.name));
            continue;
        }
        let (name, from) = (mirrored.name.clone(), original.name.as_str());
        if let Ok(place) = list.find(&name) {
            let like = likeness(&list.set.examples()[place], &mirrored, &rig)?;
            if like == Likeness::Same {
                output.item("skipped", format!("{from}: its other side is there as {name}"));
                continue;
            }
            if !args.replace {
                let differs = if like == Likeness::OtherPose { "pose" } else { "shape" };
                bail!(
                    "the other side of {from:?} is there already: {name:?}, with another {differs}; rename it, or add --replace to make it anew"
                );
            }
            list.replace(&name, mirrored)?;
        } else {
            match list.check_news(&mirrored) {
                Err(EditError::Repeats { twin, .. }) => {
                    output.item("skipped", format!("{from}: its other side is there as {twin}"));
                    continue;
                }
                other => other.with_context(|| format!("the other side of {from:?} is there already"))?,
            }
            list.add(mirrored)?;
        }
        done.push(format!("{name} from {from}"));
    }
    Ok((!done.is_empty()).then(|| format!("mirrored {}", done.join(", "))))
}

/// The library speaks of saying; here that is an option.
fn with_options(error: &eigenskin::mirror::MirrorError) -> anyhow::Error {
    use eigenskin::mirror::MirrorError::{NoPairs, NoPlane, Unpaired};
    let option = match error {
        NoPairs => " (--pair LEFT=RIGHT, --plane x)",
        NoPlane => " (--plane x=0)",
        Unpaired { .. } => " (--pair)",
        _ => "",
    };
    anyhow::anyhow!("{error}{option}")
}

/// How two examples compare.
#[derive(PartialEq)]
enum Likeness {
    Same,
    OtherShape,
    OtherPose,
}

fn likeness(a: &Example, b: &Example, rig: &Arc<Rig>) -> Result<Likeness> {
    let [a, b] = [("a", a), ("b", b)].map(|(name, e)| Example { name: name.to_string(), ..e.clone() });
    Ok(match ExampleSet::new(rig.clone(), vec![a, b])?.for_training(false) {
        Ok((_, merged)) if merged.iter().any(|merged| merged.same_as.is_some()) => Likeness::Same,
        Ok(_) => Likeness::OtherPose,
        Err(ExamplesError::SamePose { .. }) => Likeness::OtherShape,
        Err(error) => return Err(error.into()),
    })
}

fn params(args: &MirrorArgs) -> Result<MirrorParams> {
    let mut params = MirrorParams { tolerance: args.tolerance, ..MirrorParams::default() };
    if let Some(text) = &args.plane {
        let wrong = || format!("--plane {text:?} is not of the form x, y, z or x=0.5");
        let (axis, centre) = text.split_once('=').unwrap_or((text, "0"));
        let axis = ["x", "y", "z"].iter().position(|name| *name == axis.trim()).with_context(wrong)?;
        params.plane = Some(MirrorPlane { axis, centre: centre.trim().parse().with_context(wrong)? });
    }
    for pair in &args.pairs {
        let (left, right) =
            pair.split_once('=').with_context(|| format!("--pair {pair:?} is not of the form LEFT=RIGHT"))?;
        params.joint_pairs.push((left.to_string(), right.to_string()));
    }
    Ok(params)
}

fn tell(mirror: &Mirror, rig: &Rig, output: &Output) {
    let plane = mirror.plane();
    let joints = mirror.joints();
    let pairs = joints.iter().enumerate().filter(|(joint, other)| other.is_some_and(|o| o > *joint)).count();
    let middle = joints.iter().enumerate().filter(|(joint, other)| **other == Some(*joint)).count();
    output.item(
        "mirror",
        format!(
            "across {} at {}: {} of joints, {middle} in the middle",
            plane.axis_name(),
            figure(plane.centre),
            counted(pairs, "pair", "pairs")
        ),
    );
    let alone: Vec<&str> = (0..joints.len())
        .filter(|&joint| joints[joint].is_none())
        .map(|joint| rig.skeleton().joints()[joint].name.as_str())
        .collect();
    if !alone.is_empty() {
        output.warning(format!("joints without another side: {} (--pair)", alone.join(", ")));
    }
    let asymmetric = mirror.asymmetric_vertices();
    if !asymmetric.is_empty() {
        let first: Vec<String> = asymmetric.iter().take(8).map(ToString::to_string).collect();
        let more = if asymmetric.len() > first.len() { ", …" } else { "" };
        output.warning(format!(
            "{} of {} have no vertex at their mirror image ({}{more}): they get the displacement of their neighbours",
            asymmetric.len(),
            counted(rig.vertex_count(), "vertex", "vertices"),
            first.join(", ")
        ));
    }
}
