//! Options of all methods, and which go together.

use anyhow::{Result, bail};
use clap::ValueEnum;
use eigenskin::base::BaseChoice;
use eigenskin::driver::Kernel;
use eigenskin::drivers::{KernelChoice, RbfParams, Smoothing, TailChoice, Width};
use eigenskin::examples::ExampleSet;
use eigenskin::jobs::fit::Wanted;
use eigenskin::method::{self, Budget, EigenSkinParams, ParameterizationParams, PsdParams};
use eigenskin::supports::{Border, SupportParams};

use super::parameterization_options::ParameterizationArgs;
use super::patches_options::PatchesArgs;
use super::psd_options::PsdArgs;

/// How to learn.
#[derive(clap::Args)]
pub struct MethodArgs {
    /// How to learn
    #[arg(long, value_enum, default_value = "patches", help_heading = "Learning")]
    method: Method,
    /// Radial function between poses: gaussian, exponential (the EigenSkin paper's), linear, cubic,
    /// quintic, thin-plate, multiquadric, inverse-multiquadric or wendland-c2 [default: by the number of examples;
    /// thin-plate for parameterization]
    #[arg(long, value_parser = parse_kernel, hide_short_help = true, help_heading = "Learning")]
    kernel: Option<Kernel>,
    /// Width of the kernels in radians (of a control: its values), or auto (by rules for fewer than six
    /// examples, by leave-one-out for more) [default: auto]
    #[arg(long, value_parser = parse_width, hide_short_help = true, help_heading = "Learning")]
    width: Option<Width>,
    /// Smoothing of the drivers; 0 passes exactly through every example. A number, or auto (0 unless
    /// examples are many and contradict each other; for parameterization: by cross-validation) [default:
    /// auto, 0 for pose space deformation]
    #[arg(long, value_parser = parse_smoothing, hide_short_help = true, help_heading = "Learning")]
    smoothing: Option<Smoothing>,
    /// How far component weights may go beyond the examples' range, as a share of it, or none
    /// [default: 0.5, none for pose space deformation]
    #[arg(long, value_parser = parse_clamp, hide_short_help = true, help_heading = "Learning")]
    clamp: Option<ClampArg>,
    /// The base, which corrections are added to: rigid, linear, dual-quaternion, or a deformer-stack file
    /// (.toml) [default: what the examples were pulled back through, else linear]
    #[arg(long, value_name = "BASE", value_parser = clap::value_parser!(BaseChoice), help_heading = "Learning")]
    base: Option<BaseChoice>,
    /// Leave normals to plain skinning
    #[arg(long, hide_short_help = true, help_heading = "Learning")]
    no_normals: bool,
    #[command(flatten)]
    eigenskin: EigenSkinArgs,
    #[command(flatten)]
    psd: PsdArgs,
    #[command(flatten)]
    parameterization: ParameterizationArgs,
    #[command(flatten)]
    patches: PatchesArgs,
}

/// Fitting methods.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Method {
    /// components per patch of the skin, over all joints that move it, alone and together, and over contact
    Patches,
    /// the paper's: principal components per joint support, interpolated over the joint's rotation
    Eigenskin,
    /// pose space deformation: every example as it was sculpted, fading out around its pose
    Psd,
    /// the same, with distances of poses measured as each part of the skin feels them
    WeightedPsd,
    /// few signals per part of the skin, interpolated over the joints that drive it
    Parameterization,
    /// tries all methods, then kernels, smoothing and budgets, and takes what predicts left-out examples best
    Auto,
}

impl Method {
    /// Its name as it is typed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Eigenskin => "eigenskin",
            Self::Psd => "psd",
            Self::WeightedPsd => "weighted-psd",
            Self::Parameterization => "parameterization",
            Self::Patches => "patches",
            Self::Auto => "auto",
        }
    }
}

/// Options of the EigenSkin method.
#[derive(clap::Args)]
#[command(next_help_heading = "Options of --method eigenskin")]
pub struct EigenSkinArgs {
    /// Most components that may move one vertex, also of --method patches [default: 10, unless --per-joint is
    /// given]
    #[arg(long, value_name = "N")]
    per_vertex: Option<usize>,
    /// Components of every joint: the paper's equal split
    #[arg(long, value_name = "K", hide_short_help = true)]
    per_joint: Option<usize>,
    /// How a joint's region ends [default: smooth]
    #[arg(long, value_enum, hide_short_help = true)]
    support_border: Option<BorderArg>,
    /// Where it ends: share of the joint's largest displacement [default: the paper's 0.04, or more
    /// where that makes better use of the limit per vertex]
    #[arg(long, value_name = "SHARE", hide_short_help = true)]
    support_threshold: Option<f64>,
}

#[derive(Clone, Copy, ValueEnum)]
enum BorderArg {
    /// fades out, no step in the skin
    Smooth,
    /// all or nothing, as in the paper
    Hard,
}

#[derive(Clone, Copy)]
struct ClampArg(Option<f64>);

/// An option, whether it is given, and the choice it works with.
pub struct WorksWith {
    /// such as `--per-joint`
    pub option: &'static str,
    /// whether it was typed
    pub given: bool,
    /// such as `--method eigenskin`
    pub with: &'static str,
    /// whether that was chosen
    pub chosen: bool,
    /// what was chosen instead, such as `--method psd`
    pub instead: String,
}

/// Refuses the first option that only works with what was not chosen.
pub fn check_options(options: &[WorksWith]) -> Result<()> {
    match options.iter().find(|option| option.given && !option.chosen) {
        Some(WorksWith { option, with, instead, .. }) => {
            bail!("{option} only works with {with}, not with {instead}")
        }
        None => Ok(()),
    }
}

impl MethodArgs {
    /// The base, if that was said.
    pub fn base(&self) -> Option<&BaseChoice> {
        self.base.as_ref()
    }

    /// Whether the method is still to be found.
    fn is_auto(&self) -> bool {
        self.method == Method::Auto
    }

    /// EigenSkin, or not settled yet.
    fn is_eigenskin(&self) -> bool {
        matches!(self.method, Method::Eigenskin | Method::Auto)
    }

    /// What to learn by: the method that was chosen, or with `--method auto` the best one.
    pub fn wanted(&self) -> Result<Wanted> {
        let method = self.params()?;
        if !self.is_auto() {
            return Ok(Wanted::This(method));
        }
        let budget_is_given = self.eigenskin.per_vertex.is_some() || self.eigenskin.per_joint.is_some();
        Ok(Wanted::Best { start: self.eigenskin_params(), budget_is_given })
    }

    /// Refuses names that the rig or the examples do not have.
    pub fn check_names(&self, set: &ExampleSet) -> Result<()> {
        self.psd.check_names(set)
    }

    /// What was asked for, on linear blending; an option that makes no sense for the method is refused.
    fn params(&self) -> Result<method::Method> {
        let of_eigenskin = |(option, given)| WorksWith {
            option,
            given,
            with: "--method eigenskin",
            chosen: self.is_eigenskin(),
            instead: format!("--method {}", self.method.name()),
        };
        let of_both = WorksWith {
            option: "--per-vertex",
            given: self.eigenskin.per_vertex.is_some(),
            with: "--method patches and eigenskin",
            chosen: self.is_eigenskin() || self.method == Method::Patches,
            instead: format!("--method {}", self.method.name()),
        };
        check_options(&[of_both])?;
        check_options(&self.eigenskin.given().map(of_eigenskin))?;
        self.psd.check_method(self.method)?;
        self.parameterization.check_method(self.method)?;
        let kernels = [
            ("--kernel", self.kernel.is_some()),
            ("--width", self.width.is_some()),
            ("--smoothing", self.smoothing.is_some()),
        ];
        let others: Vec<(&str, bool)> =
            kernels.into_iter().chain([("--clamp", self.clamp.is_some())]).collect();
        self.patches.check_method(self.method, &others)?;
        if self.is_eigenskin() {
            return Ok(method::Method::EigenSkin(self.eigenskin_params()));
        }
        if self.method == Method::Parameterization {
            return Ok(method::Method::Parameterization(self.parameterization_params()));
        }
        if self.method == Method::Patches {
            return Ok(method::Method::Patches(
                self.patches.params(self.eigenskin.per_vertex, !self.no_normals),
            ));
        }
        self.psd.check_interpolation(&kernels)?;
        let params = PsdParams {
            clamp_margin: self.clamp.and_then(|clamp| clamp.0),
            normals: !self.no_normals,
            ..PsdParams::default()
        };
        let rbf = self.interpolation(Smoothing::Fixed(0.0));
        Ok(method::Method::Psd(self.psd.params(&params, rbf, self.width.is_some(), self.method)?))
    }

    fn interpolation(&self, smoothing: Smoothing) -> RbfParams {
        RbfParams {
            kernel: self.kernel.map_or(KernelChoice::Automatic, KernelChoice::Fixed),
            width: self.width.clone().unwrap_or(Width::LeaveOneOut),
            smoothing: self.smoothing.unwrap_or(smoothing),
            tail: TailChoice::Automatic,
        }
    }

    fn parameterization_params(&self) -> ParameterizationParams {
        let interpolation = self.interpolation(Smoothing::Automatic);
        let kernel = self.kernel.unwrap_or(Kernel::ThinPlate);
        self.parameterization.params(ParameterizationParams {
            interpolation: RbfParams { kernel: kernel.into(), ..interpolation },
            normals: !self.no_normals,
            clamp_margin: self.clamp.map_or(Some(0.5), |clamp| clamp.0),
            ..ParameterizationParams::default()
        })
    }

    fn eigenskin_params(&self) -> EigenSkinParams {
        self.eigenskin.params(EigenSkinParams {
            interpolation: self.interpolation(Smoothing::Automatic),
            normals: !self.no_normals,
            clamp_margin: self.clamp.map_or(Some(0.5), |clamp| clamp.0),
            ..EigenSkinParams::default()
        })
    }
}

impl EigenSkinArgs {
    /// What was asked for; `others` says the rest.
    pub fn params(&self, others: EigenSkinParams) -> EigenSkinParams {
        let per_vertex = match (self.per_vertex, self.per_joint) {
            (None, None) => Budget::default().per_vertex,
            (given, _) => given,
        };
        EigenSkinParams {
            support: SupportParams {
                threshold: self.support_threshold,
                border: match self.support_border {
                    None | Some(BorderArg::Smooth) => Border::Smooth,
                    Some(BorderArg::Hard) => Border::Hard,
                },
            },
            budget: Budget { per_vertex, per_joint: self.per_joint, total: None },
            ..others
        }
    }

    /// Its options, and whether they were typed.
    pub fn given(&self) -> [(&'static str, bool); 3] {
        [
            ("--per-joint", self.per_joint.is_some()),
            ("--support-border", self.support_border.is_some()),
            ("--support-threshold", self.support_threshold.is_some()),
        ]
    }
}

fn parse_kernel(name: &str) -> Result<Kernel, String> {
    let names: Vec<&str> = Kernel::ALL.iter().map(|kernel| kernel.name()).collect();
    Kernel::named(name).ok_or_else(|| format!("choose one of {}", names.join(", ")))
}

fn parse_width(text: &str) -> Result<Width, String> {
    match text {
        "auto" => Ok(Width::LeaveOneOut),
        number => {
            number.parse().map(Width::Fixed).map_err(|_| "give a number of radians, or auto".to_string())
        }
    }
}

fn parse_smoothing(text: &str) -> Result<Smoothing, String> {
    match text {
        "auto" => Ok(Smoothing::Automatic),
        number => number
            .parse()
            .map(Smoothing::Fixed)
            .map_err(|_| "give a number such as 0.01, or auto".to_string()),
    }
}

fn parse_clamp(text: &str) -> Result<ClampArg, String> {
    match text {
        "none" => Ok(ClampArg(None)),
        number => number
            .parse()
            .map(|m| ClampArg(Some(m)))
            .map_err(|_| "give a share such as 0.5, or none".to_string()),
    }
}
