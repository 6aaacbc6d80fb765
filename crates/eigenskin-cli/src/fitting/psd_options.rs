//! Options of pose space deformation.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use clap::ValueEnum;
use eigenskin::driver::{FeatureScale, RbfParams, Representation, Width};
use eigenskin::examples::ExampleSet;
use eigenskin::fit::PsdParams;
use eigenskin::fit::psd::{DeltaSpace, PoseFeature, PrototypeParams, PsdInterpolation, SpaceOrder};
use eigenskin::glam::DVec3;
use eigenskin::model::Frame;
use eigenskin::supports::Mover;

use super::options::{Belonging, Method, check_belongings};

/// Options of pose space deformation, weighted or not.
#[derive(clap::Args)]
#[command(next_help_heading = "Options of --method psd and weighted-psd")]
pub struct PsdArgs {
    /// Where sculpts are added: at rest, so that they turn with the skin, or after skinning
    /// [default: inverse]
    #[arg(long, value_enum)]
    deltas: Option<DeltasArg>,
    /// With --deltas forward: the axes in which sculpts are added [default: root]
    #[arg(long, value_enum)]
    frame: Option<FrameArg>,
    /// How weights are found between examples [default: rbf]
    #[arg(long, value_enum)]
    interpolation: Option<InterpolationArg>,
    /// How far one example reaches, instead of --width; may be given again for others
    #[arg(long, value_name = "EXAMPLE=R", value_parser = parse_radius)]
    radius: Vec<(String, f64)>,
    /// How far examples reach along a joint's three axes, in radians (joint=0.5,1,1), or along a
    /// control (control=0.4); --width, then 1 unless given, is for the others
    #[arg(long, value_name = "NAME=A,B,C", value_parser = parse_axis_radii)]
    axis_radii: Vec<(String, AxisRadii)>,
    /// Which pose spaces come first: narrow-first, as-given, or a list such as
    /// "elbow, elbow + wrist" [default: narrow-first]
    #[arg(long, value_name = "ORDER", value_parser = parse_order)]
    order: Option<SpaceOrder>,
    /// With --method weighted-psd: parts of the skin that measure poses in their own way
    /// [default: 8]
    #[arg(long, value_name = "N")]
    prototypes: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DeltasArg {
    /// before skinning; plays everywhere
    Inverse,
    /// after skinning; only eigenskin's own runtimes show it
    Forward,
}

#[derive(Clone, Copy, ValueEnum)]
enum FrameArg {
    /// directions stay fixed in the character
    Root,
    /// directions turn with the joint a vertex follows most
    HeaviestJoint,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum InterpolationArg {
    /// radial functions
    Rbf,
    /// Shepard's weighted mean, for comparison
    Shepard,
    /// shape interpolation, for comparison: weights linear in the pose
    Linear,
}

impl InterpolationArg {
    fn option(self) -> &'static str {
        match self {
            Self::Rbf => "--interpolation rbf",
            Self::Shepard => "--interpolation shepard",
            Self::Linear => "--interpolation linear",
        }
    }
}

#[derive(Clone, Copy)]
enum AxisRadii {
    Control(f64),
    Joint(DVec3),
}

/// Shepard's power: the least whole number with a flat, rounded top at every example.
const SHEPARD_POWER: f64 = 2.0;

impl PsdArgs {
    /// Refuses options that another method does not have.
    pub fn check_method(&self, method: Method) -> Result<()> {
        let instead = || format!("--method {}", method.name());
        let of_psd = |option, given| Belonging {
            option,
            given,
            to: "--method psd",
            chosen: method != Method::Eigenskin,
            instead: instead(),
        };
        check_belongings(&[
            of_psd("--deltas", self.deltas.is_some()),
            of_psd("--frame", self.frame.is_some()),
            of_psd("--interpolation", self.interpolation.is_some()),
            of_psd("--radius", !self.radius.is_empty()),
            of_psd("--axis-radii", !self.axis_radii.is_empty()),
            of_psd("--order", self.order.is_some()),
            Belonging {
                option: "--prototypes",
                given: self.prototypes.is_some(),
                to: "--method weighted-psd",
                chosen: method == Method::WeightedPsd,
                instead: instead(),
            },
            Belonging {
                option: "--frame",
                given: self.frame.is_some(),
                to: "--deltas forward",
                chosen: self.deltas == Some(DeltasArg::Forward),
                instead: "--deltas inverse".to_string(),
            },
        ])
    }

    /// Refuses options that another interpolation does not have; `kernels` are those of radial
    /// functions, with whether they are given.
    pub fn check_interpolation(&self, kernels: &[(&'static str, bool)]) -> Result<()> {
        let chosen = self.interpolation.unwrap_or(InterpolationArg::Rbf);
        let of_rbf = |&(option, given): &(&'static str, bool)| Belonging {
            option,
            given,
            to: "--interpolation rbf",
            chosen: chosen == InterpolationArg::Rbf,
            instead: chosen.option().to_string(),
        };
        let mut belongings: Vec<Belonging> = kernels.iter().map(of_rbf).collect();
        belongings.push(of_rbf(&("--radius", !self.radius.is_empty())));
        let axis_radii = of_rbf(&("--axis-radii", !self.axis_radii.is_empty()));
        belongings.push(Belonging { chosen: chosen != InterpolationArg::Linear, ..axis_radii });
        check_belongings(&belongings)
    }

    /// `params` with these options; `width_given` tells whether the width of `rbf` was asked for.
    pub fn params(
        &self,
        params: &PsdParams,
        mut rbf: RbfParams,
        width_given: bool,
        method: Method,
    ) -> Result<PsdParams> {
        let mut radii = BTreeMap::new();
        for (example, radius) in &self.radius {
            if radii.insert(example.clone(), *radius).is_some() {
                bail!("--radius names example {example:?} twice; keep one of them");
            }
        }
        if !self.axis_radii.is_empty() && rbf.width == Width::LeaveOneOut {
            if width_given {
                bail!("--axis-radii needs a fixed --width for the other joints, not auto; give a number");
            }
            rbf.width = Width::Fixed(1.0);
        }
        let width = match rbf.width {
            Width::Fixed(width) => width,
            _ => 1.0,
        };
        let interpolation = match self.interpolation.unwrap_or(InterpolationArg::Rbf) {
            InterpolationArg::Rbf => PsdInterpolation::Rbf(rbf),
            InterpolationArg::Shepard => PsdInterpolation::Shepard { power: SHEPARD_POWER, epsilon: 0.0 },
            InterpolationArg::Linear => PsdInterpolation::Linear,
        };
        let mut prototypes = PrototypeParams::default();
        if let Some(count) = self.prototypes {
            prototypes.count = count;
        }
        Ok(PsdParams {
            deltas: self.delta_space(),
            interpolation,
            radii,
            features: self.axis_radii.iter().map(|(name, radii)| feature(name, *radii, width)).collect(),
            order: self.order.clone().unwrap_or(SpaceOrder::NarrowFirst),
            prototypes: (method == Method::WeightedPsd).then_some(prototypes),
            ..*params
        })
    }

    /// Refuses names that the rig or the examples do not have.
    pub fn check_names(&self, set: &ExampleSet) -> Result<()> {
        let examples: Vec<&str> = set.examples().iter().map(|example| example.name.as_str()).collect();
        if let Some((name, _)) = self.radius.iter().find(|(name, _)| !examples.contains(&name.as_str())) {
            bail!("--radius names {name:?}, but there is no such example; known are {}", examples.join(", "));
        }
        let rig = set.rig();
        let movers = Mover::all(rig);
        for (name, radii) in &self.axis_radii {
            let mover = movers.iter().find(|mover| mover.name(rig) == name);
            match (mover, radii) {
                (None, _) => {
                    let known: Vec<&str> = movers.iter().map(|mover| mover.name(rig)).collect();
                    bail!(
                        "--axis-radii names {name:?}, but the rig has no such control, and no such joint besides its root; known are {}",
                        known.join(", ")
                    )
                }
                (Some(Mover::Joint(_)), AxisRadii::Control(_)) => {
                    bail!("--axis-radii gives joint {name:?} one radius; give three, one per axis")
                }
                (Some(Mover::Control(_)), AxisRadii::Joint(_)) => {
                    bail!("--axis-radii gives control {name:?} three radii; give one")
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn delta_space(&self) -> DeltaSpace {
        match (self.deltas, self.frame) {
            (None | Some(DeltasArg::Inverse), _) => DeltaSpace::Inverse,
            (_, None | Some(FrameArg::Root)) => DeltaSpace::Forward { frame: Frame::Root },
            (_, Some(FrameArg::HeaviestJoint)) => DeltaSpace::Forward { frame: Frame::HeaviestJoint },
        }
    }
}

/// Distances are divided by the kernels' width, which the scale takes back.
fn feature(name: &str, radii: AxisRadii, width: f64) -> PoseFeature {
    let (representation, scale) = match radii {
        AxisRadii::Control(radius) => (Representation::Scalar, FeatureScale::One(width / radius)),
        AxisRadii::Joint(radii) => {
            (Representation::RotationVector, FeatureScale::PerAxis(width * radii.recip()))
        }
    };
    PoseFeature { name: name.to_string(), representation, scale }
}

/// NAME=VALUE; names may have an equals sign of their own.
fn named_value(text: &str) -> Option<(String, &str)> {
    let (name, value) = text.rsplit_once('=')?;
    (!name.is_empty()).then(|| (name.to_string(), value))
}

fn radius(text: &str) -> Option<f64> {
    text.trim().parse::<f64>().ok().filter(|radius| radius.is_finite() && *radius > 0.0)
}

fn parse_radius(text: &str) -> Result<(String, f64), String> {
    named_value(text)
        .and_then(|(name, value)| Some((name, radius(value)?)))
        .ok_or_else(|| "give the name of an example and a number above zero, such as fist=0.4".to_string())
}

fn parse_axis_radii(text: &str) -> Result<(String, AxisRadii), String> {
    let parsed = named_value(text).and_then(|(name, values)| {
        let radii: Vec<f64> = values.split(',').map(radius).collect::<Option<_>>()?;
        match radii[..] {
            [one] => Some((name, AxisRadii::Control(one))),
            [a, b, c] => Some((name, AxisRadii::Joint(DVec3::new(a, b, c)))),
            _ => None,
        }
    });
    parsed.ok_or_else(|| {
        "give a joint and three numbers above zero, such as elbow=0.5,1,1, or a control and one".to_string()
    })
}

fn parse_order(text: &str) -> Result<SpaceOrder, String> {
    match text {
        "narrow-first" => Ok(SpaceOrder::NarrowFirst),
        "as-given" => Ok(SpaceOrder::AsGiven),
        list => {
            let spaces: Vec<Vec<String>> = list
                .split(',')
                .map(|space| space.split('+').map(|name| name.trim().to_string()).collect())
                .collect();
            if spaces.iter().flatten().any(String::is_empty) {
                return Err("give narrow-first, as-given, or a list such as elbow,elbow+wrist".to_string());
            }
            Ok(SpaceOrder::Listed(spaces))
        }
    }
}
