//! Options of pose space deformation.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use clap::ValueEnum;
use eigenskin::driver::{FeatureScale, Representation};
use eigenskin::drivers::{RbfParams, Width};
use eigenskin::examples::ExampleSet;
use eigenskin::glam::{DMat3, DVec3};
use eigenskin::method::PsdParams;
use eigenskin::method::{DeltaSpace, PoseFeature, PrototypeParams, PsdInterpolation, SpaceOrder};
use eigenskin::model::Frame;
use eigenskin::mover::Mover;

use super::works_with::{Method, OfMethods, WorksWith, check_options};

/// Options of pose space deformation, weighted or not.
#[derive(clap::Args)]
#[command(next_help_heading = "Options of --method psd and weighted-psd")]
pub struct PsdArgs {
    /// Where sculpts are added: at rest, so that they turn with the skin, or after skinning
    /// [default: auto]
    #[arg(long, value_enum, hide_short_help = true)]
    deltas: Option<DeltasArg>,
    /// With --deltas forward: the axes in which sculpts are added [default: root]
    #[arg(long, value_enum, hide_short_help = true)]
    axes: Option<AxesArg>,
    /// How weights are found between examples [default: rbf]
    #[arg(long, value_enum, hide_short_help = true)]
    interpolation: Option<InterpolationArg>,
    /// How far one example reaches, instead of --width, with a kernel that has one; may be given again for
    /// others
    #[arg(long, value_name = "EXAMPLE=R", value_parser = parse_radius, hide_short_help = true)]
    radius: Vec<(String, f64)>,
    /// How far examples reach along a joint's three axes, in radians (joint=0.5,1,1), or along a
    /// control (control=0.4), not with --interpolation linear; --width, then 1 unless given, is for the others. Three numbers more
    /// are how axes 1 and 2, 1 and 3, 2 and 3 go together, from -1 to 1 (a Mahalanobis distance)
    #[arg(long, value_name = "NAME=A,B,C", value_parser = parse_axis_radii, hide_short_help = true)]
    axis_radii: Vec<(String, AxisRadii)>,
    /// Which pose spaces come first: narrow-first, as-given, or a list such as
    /// "elbow, elbow + wrist" [default: narrow-first]
    #[arg(long, value_name = "ORDER", value_parser = parse_order, hide_short_help = true)]
    order: Option<SpaceOrder>,
    /// With --method weighted-psd: parts of the skin that measure poses in their own way
    /// [default: 8]
    #[arg(long, value_name = "N", hide_short_help = true)]
    prototypes: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DeltasArg {
    /// as inverse; where linear skinning collapses, shapes on the way there are filled in
    Auto,
    /// before skinning; plays everywhere
    Inverse,
    /// after skinning; only eigenskin's own runtimes show it
    Forward,
}

#[derive(Clone, Copy, ValueEnum)]
enum AxesArg {
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
    /// what takes a difference to one in radii, axes seen together
    Correlated(DMat3),
}

/// Shepard's power: the least whole number with a flat, rounded top at every example.
const SHEPARD_POWER: f64 = 2.0;

impl PsdArgs {
    /// These options, and who honours them.
    pub fn of_methods(&self) -> [OfMethods; 7] {
        let own = |option, given| OfMethods { option, given, methods: Method::PSD };
        [
            own("--deltas", self.deltas.is_some()),
            own("--axes", self.axes.is_some()),
            own("--interpolation", self.interpolation.is_some()),
            own("--radius", self.gives_radius()),
            own("--axis-radii", !self.axis_radii.is_empty()),
            own("--order", self.order.is_some()),
            OfMethods {
                option: "--prototypes",
                given: self.prototypes.is_some(),
                methods: &[Method::WeightedPsd],
            },
        ]
    }

    /// Whether some example has a radius of its own.
    pub fn gives_radius(&self) -> bool {
        !self.radius.is_empty()
    }

    /// Refuses axes of deltas that turn with the skin.
    pub fn check_deltas(&self) -> Result<()> {
        check_options(&[WorksWith {
            option: "--axes",
            given: self.axes.is_some(),
            with: "--deltas forward".to_string(),
            chosen: self.deltas == Some(DeltasArg::Forward),
            instead: self.deltas_option().to_string(),
        }])
    }

    /// Refuses options that another interpolation does not have; `kernels` are those of radial
    /// functions, with whether they are given.
    pub fn check_interpolation(&self, kernels: &[(&'static str, bool)]) -> Result<()> {
        let chosen = self.interpolation.unwrap_or(InterpolationArg::Rbf);
        let of_rbf = |&(option, given): &(&'static str, bool)| WorksWith {
            option,
            given,
            with: "--interpolation rbf".to_string(),
            chosen: chosen == InterpolationArg::Rbf,
            instead: chosen.option().to_string(),
        };
        let mut options: Vec<WorksWith> = kernels.iter().map(of_rbf).collect();
        options.push(of_rbf(&("--radius", self.gives_radius())));
        let axis_radii = of_rbf(&("--axis-radii", !self.axis_radii.is_empty()));
        options.push(WorksWith {
            with: "--interpolation rbf and shepard".to_string(),
            chosen: chosen != InterpolationArg::Linear,
            ..axis_radii
        });
        check_options(&options)
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
            ..params.clone()
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
                (Some(Mover::Control(_)), AxisRadii::Joint(_) | AxisRadii::Correlated(_)) => {
                    bail!("--axis-radii gives control {name:?} three radii or more; give one")
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn deltas_option(&self) -> &'static str {
        match self.deltas {
            None | Some(DeltasArg::Auto) => "--deltas auto",
            Some(DeltasArg::Inverse) => "--deltas inverse",
            Some(DeltasArg::Forward) => "--deltas forward",
        }
    }

    fn delta_space(&self) -> DeltaSpace {
        match (self.deltas, self.axes) {
            (None | Some(DeltasArg::Auto), _) => DeltaSpace::Auto,
            (Some(DeltasArg::Inverse), _) => DeltaSpace::Inverse,
            (_, None | Some(AxesArg::Root)) => DeltaSpace::Forward { frame: Frame::Root },
            (_, Some(AxesArg::HeaviestJoint)) => DeltaSpace::Forward { frame: Frame::HeaviestJoint },
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
        AxisRadii::Correlated(in_radii) => {
            (Representation::RotationVector, FeatureScale::Matrix(width * in_radii))
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
        let values: Vec<f64> =
            values.split(',').map(|value| value.trim().parse::<f64>().ok()).collect::<Option<_>>()?;
        let is_radius = |value: &f64| value.is_finite() && *value > 0.0;
        if !values.iter().take(3).all(is_radius) {
            return None;
        }
        let radii = match values[..] {
            [one] => AxisRadii::Control(one),
            [a, b, c] => AxisRadii::Joint(DVec3::new(a, b, c)),
            [a, b, c, ab, ac, bc] => AxisRadii::Correlated(correlated(DVec3::new(a, b, c), [ab, ac, bc])?),
            _ => return None,
        };
        Some((name, radii))
    });
    parsed.ok_or_else(|| {
        "give a joint and three numbers above zero, such as elbow=0.5,1,1, then maybe three between -1 and 1 that no three axes contradict; or a control and one"
            .to_string()
    })
}

/// L⁻¹ of the covariance C = L Lᵀ with C_ij = correlation_ij · radius_i · radius_j, so that |L⁻¹ d| is
/// the Mahalanobis length of d; none unless C is positive definite.
fn correlated(radii: DVec3, [ab, ac, bc]: [f64; 3]) -> Option<DMat3> {
    let under_root = |value: f64| (value > 1e-6).then(|| value.sqrt());
    // Cholesky factor of the correlations, row by row.
    let second = under_root(1.0 - ab * ab)?;
    let third = (bc - ab * ac) / second;
    let last = under_root(1.0 - ac * ac - third * third)?;
    let factor =
        DMat3::from_cols(DVec3::new(1.0, ab, ac), DVec3::new(0.0, second, third), DVec3::new(0.0, 0.0, last));
    Some(factor.inverse() * DMat3::from_diagonal(radii.recip()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_numbers_are_a_mahalanobis_distance() {
        let parse = |text: &str| parse_axis_radii(text).ok();
        let Some((_, AxisRadii::Correlated(in_radii))) = parse("elbow=0.5,1,2,0.3,-0.4,0.6") else {
            unreachable!("six numbers that fit together")
        };
        let covariance = DMat3::from_cols(
            DVec3::new(0.25, 0.3 * 0.5, -0.4),
            DVec3::new(0.3 * 0.5, 1.0, 0.6 * 2.0),
            DVec3::new(-0.4, 0.6 * 2.0, 4.0),
        );
        for by in [DVec3::X, DVec3::new(0.2, -0.7, 0.1), DVec3::new(-1.0, 0.4, 2.0)] {
            let expected = by.dot(covariance.inverse() * by);
            assert!(((in_radii * by).length_squared() - expected).abs() < 1e-9);
        }
        // Without correlations it is the radii alone.
        let Some((_, AxisRadii::Correlated(plain))) = parse("elbow=0.5,1,2,0,0,0") else {
            unreachable!("zeros fit together")
        };
        assert!(
            (plain - DMat3::from_diagonal(DVec3::new(2.0, 1.0, 0.5)))
                .to_cols_array()
                .iter()
                .all(|x| x.abs() < 1e-12)
        );
        for bad in [
            "elbow=0.5,1,2,0.9,0.9,-0.9",
            "elbow=0.5,1,2,1,0,0",
            "elbow=0.5,1",
            "elbow=0,1,1",
            "elbow=1,1,1,0,NaN,0",
        ] {
            assert!(parse(bad).is_none(), "{bad}");
        }
    }
}
