//! Options of all methods, and which go together.

use anyhow::Result;
use clap::ValueEnum;
use eigenskin::base::BaseChoice;
use eigenskin::driver::Kernel;
use eigenskin::drivers::{KernelChoice, RbfParams, Smoothing, TailChoice, Width};
use eigenskin::examples::ExampleSet;
use eigenskin::jobs::fit::Wanted;
use eigenskin::method::{self, Budget, ChoiceParams, EigenSkinParams, ParameterizationParams, PsdParams};
use eigenskin::supports::{Border, SupportParams};

use super::parameterization_options::ParameterizationArgs;
use super::patches_options::PatchesArgs;
use super::psd_options::PsdArgs;
use super::works_with::{Method, OfMethods, WorksWith, check_method, check_options, listed};

/// How to learn.
#[derive(clap::Args)]
pub struct MethodArgs {
    /// How to learn
    #[arg(long, value_enum, default_value = "auto", help_heading = "Learning")]
    method: Method,
    /// Radial function between poses: gaussian, exponential (the EigenSkin paper's), linear, cubic,
    /// quintic, thin-plate, multiquadric, inverse-multiquadric or wendland-c2. For eigenskin, psd, weighted-psd and
    /// parameterization [default: by the number of examples; thin-plate for parameterization]
    #[arg(long, value_parser = parse_kernel, hide_short_help = true, help_heading = "Learning")]
    kernel: Option<Kernel>,
    /// Width of the kernels in radians (of a control: in the range that the examples give it), or auto (by rules for
    /// fewer than six examples, by leave-one-out for more). For methods with --kernel, and kernels that have a width:
    /// not linear, cubic, quintic and thin-plate [default: auto]
    #[arg(long, value_parser = parse_width, hide_short_help = true, help_heading = "Learning")]
    width: Option<Width>,
    /// Smoothing of the drivers; 0 passes exactly through every example. A number, or auto (0 unless
    /// examples are many and contradict each other; for parameterization: by cross-validation). For methods
    /// with --kernel [default: auto, 0 for pose space deformation]
    #[arg(long, value_parser = parse_smoothing, hide_short_help = true, help_heading = "Learning")]
    smoothing: Option<Smoothing>,
    /// How far component weights may go beyond the examples' range, as a share of it, or none. For methods
    /// with --kernel [default: 0.5, none for pose space deformation]
    #[arg(long, value_parser = parse_clamp, hide_short_help = true, help_heading = "Learning")]
    clamp: Option<ClampArg>,
    /// The base, which corrections are added to: rigid, linear, dual-quaternion, or a deformer-stack file
    /// (.toml). For all methods [default: what the examples were pulled back through, else linear]
    #[arg(long, value_name = "BASE", value_parser = clap::value_parser!(BaseChoice), help_heading = "Learning")]
    base: Option<BaseChoice>,
    /// Leave normals to plain skinning, with any method
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

/// Options of the EigenSkin method.
#[derive(clap::Args)]
#[command(next_help_heading = "Options of --method eigenskin")]
pub struct EigenSkinArgs {
    /// Most components that may move one vertex, also for --method patches and auto [default: 10, unless
    /// --per-joint is given]
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

impl MethodArgs {
    /// The base, if that was said.
    pub fn base(&self) -> Option<&BaseChoice> {
        self.base.as_ref()
    }

    /// EigenSkin, or not settled yet.
    fn is_eigenskin(&self) -> bool {
        matches!(self.method, Method::Eigenskin | Method::Auto)
    }

    /// What to learn by: the method that was chosen, or with `--method auto` the best one.
    pub fn wanted(&self) -> Result<Wanted> {
        let method = self.params()?;
        if self.method != Method::Auto {
            return Ok(Wanted::This(method));
        }
        let default = ChoiceParams::default();
        let per_vertex = self.eigenskin.per_vertex.unwrap_or(default.per_vertex);
        Ok(Wanted::Best(ChoiceParams { per_vertex, normals: !self.no_normals }))
    }

    /// Refuses names that the rig or the examples do not have.
    pub fn check_names(&self, set: &ExampleSet) -> Result<()> {
        self.psd.check_names(set)
    }

    /// What was asked for, on linear blending; an option that makes no sense for the method is refused.
    fn params(&self) -> Result<method::Method> {
        check_method(self.of_methods(), self.method)?;
        check_options(&self.kernel_options())?;
        self.psd.check_deltas()?;
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
        self.psd.check_interpolation(&self.kernels_given())?;
        let params = PsdParams {
            clamp_margin: self.clamp.and_then(|clamp| clamp.0),
            normals: !self.no_normals,
            ..PsdParams::default()
        };
        let rbf = self.interpolation(Smoothing::Fixed(0.0));
        Ok(method::Method::Psd(self.psd.params(&params, rbf, self.width.is_some(), self.method)?))
    }

    /// Every option that not all methods honour.
    fn of_methods(&self) -> Vec<OfMethods> {
        let kernels = self.kernels_given().into_iter().chain([("--clamp", self.clamp.is_some())]);
        kernels
            .map(|(option, given)| OfMethods { option, given, methods: Method::WITH_KERNELS })
            .chain(self.eigenskin.of_methods())
            .chain(self.psd.of_methods())
            .chain(self.parameterization.of_methods())
            .chain(self.patches.of_methods())
            .collect()
    }

    /// The options of kernels, and whether they were typed.
    fn kernels_given(&self) -> [(&'static str, bool); 3] {
        [
            ("--kernel", self.kernel.is_some()),
            ("--width", self.width.is_some()),
            ("--smoothing", self.smoothing.is_some()),
        ]
    }

    /// What is asked of kernels, and only some kernels have.
    fn kernel_options(&self) -> [WorksWith; 2] {
        let kernel = self.kernel();
        let with_width = Kernel::ALL.into_iter().filter(|kernel| kernel.has_width());
        let with = format!("--kernel {}", listed(with_width.map(Kernel::name)));
        [("--width", self.width.is_some()), ("--radius", self.psd.gives_radius())].map(|(option, given)| {
            WorksWith {
                option,
                given,
                with: with.clone(),
                chosen: kernel.has_width(),
                instead: format!("--kernel {}", kernel.name()),
            }
        })
    }

    /// The kernel that was chosen, or the one that a width without a kernel means.
    fn kernel(&self) -> Kernel {
        let default = match self.method {
            Method::Parameterization => Kernel::ThinPlate,
            _ => Kernel::Gaussian,
        };
        self.kernel.unwrap_or(default)
    }

    fn interpolation(&self, smoothing: Smoothing) -> RbfParams {
        RbfParams {
            kernel: match self.method {
                Method::Parameterization => self.kernel().into(),
                _ => self.kernel.map_or(KernelChoice::Automatic, KernelChoice::Fixed),
            },
            width: self.width.clone().unwrap_or(Width::LeaveOneOut),
            smoothing: self.smoothing.unwrap_or(smoothing),
            tail: TailChoice::Automatic,
        }
    }

    fn parameterization_params(&self) -> ParameterizationParams {
        self.parameterization.params(ParameterizationParams {
            interpolation: self.interpolation(Smoothing::Automatic),
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

    /// Its options, and who honours them.
    fn of_methods(&self) -> [OfMethods; 4] {
        let own = |option, given| OfMethods { option, given, methods: &[Method::Eigenskin] };
        [
            OfMethods {
                option: "--per-vertex",
                given: self.per_vertex.is_some(),
                methods: &[Method::Patches, Method::Eigenskin, Method::Auto],
            },
            own("--per-joint", self.per_joint.is_some()),
            own("--support-border", self.support_border.is_some()),
            own("--support-threshold", self.support_threshold.is_some()),
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
