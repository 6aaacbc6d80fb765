//! Radial functions. Files carry their exact names: a kernel that silently changes breaks rigs.

/// A radial function φ(r) of width w.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// exp(−r²/2w²) (Lewis 2000 §3.2)
    Gaussian,
    /// exp(−r/w): what EigenSkin §2.4 calls Gaussian; has a cusp at the centre
    Exponential,
    /// −r/w
    Linear,
    /// (r/w)³
    Cubic,
    /// −(r/w)⁵
    Quintic,
    /// (r/w)² ln(r/w) (Kim 2011 §3); always with a linear tail
    ThinPlate,
    /// −√(1 + (r/w)²)
    Multiquadric,
    /// 1/√(1 + (r/w)²)
    InverseMultiquadric,
    /// (1 − r/w)⁴(4r/w + 1) inside the radius w, zero outside (Wendland 1995, C²)
    WendlandC2,
}

impl Kernel {
    /// All kernels, in the order of the documentation.
    pub const ALL: [Self; 9] = [
        Self::Gaussian,
        Self::Exponential,
        Self::Linear,
        Self::Cubic,
        Self::Quintic,
        Self::ThinPlate,
        Self::Multiquadric,
        Self::InverseMultiquadric,
        Self::WendlandC2,
    ];

    /// The name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gaussian => "gaussian",
            Self::Exponential => "exponential",
            Self::Linear => "linear",
            Self::Cubic => "cubic",
            Self::Quintic => "quintic",
            Self::ThinPlate => "thin-plate",
            Self::Multiquadric => "multiquadric",
            Self::InverseMultiquadric => "inverse-multiquadric",
            Self::WendlandC2 => "wendland-c2",
        }
    }

    /// The kernel of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kernel| kernel.name() == name)
    }

    /// φ(distance) for a width.
    pub fn value(self, distance: f64, width: f64) -> f64 {
        let r = distance / width;
        match self {
            Self::Gaussian => (-0.5 * r * r).exp(),
            Self::Exponential => (-r).exp(),
            Self::Linear => -r,
            Self::Cubic => r * r * r,
            Self::Quintic => -r.powi(5),
            Self::ThinPlate => {
                if r == 0.0 {
                    0.0
                } else {
                    r * r * r.ln()
                }
            }
            Self::Multiquadric => -(1.0 + r * r).sqrt(),
            Self::InverseMultiquadric => 1.0 / (1.0 + r * r).sqrt(),
            Self::WendlandC2 => {
                let inside = (1.0 - r).max(0.0);
                inside.powi(4) * (4.0 * r + 1.0)
            }
        }
    }

    /// Whether the width changes what is interpolated (it only rescales linear, cubic, quintic and
    /// thin plates).
    pub fn has_width(self) -> bool {
        !matches!(self, Self::Linear | Self::Cubic | Self::Quintic | Self::ThinPlate)
    }

    /// Whether the kernel needs at least a constant (0) or linear (1) tail for its interpolation
    /// matrix to be regular on every set of distinct poses; −1 for none. (Quintics would want a
    /// quadratic one on sets with many symmetries; the pivoted solver covers the rest.)
    pub fn least_tail_degree(self) -> i32 {
        match self {
            Self::Gaussian | Self::Exponential | Self::InverseMultiquadric | Self::WendlandC2 => -1,
            Self::Linear | Self::Multiquadric => 0,
            Self::Cubic | Self::Quintic | Self::ThinPlate => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values by hand at r = 1, w = 2.
    #[test]
    fn values_by_hand() {
        let expected = [
            (Kernel::Gaussian, 0.882_496_902_584_595_5),
            (Kernel::Exponential, 0.606_530_659_712_633_4),
            (Kernel::Linear, -0.5),
            (Kernel::Cubic, 0.125),
            (Kernel::Quintic, -0.031_25),
            (Kernel::ThinPlate, -0.173_286_795_139_986_3),
            (Kernel::Multiquadric, -1.118_033_988_749_895),
            (Kernel::InverseMultiquadric, 0.894_427_190_999_915_9),
            (Kernel::WendlandC2, 0.1875),
        ];
        for (kernel, value) in expected {
            assert!((kernel.value(1.0, 2.0) - value).abs() < 1e-15, "{kernel:?}");
            assert_eq!(Kernel::named(kernel.name()), Some(kernel));
        }
        assert_eq!(Kernel::ThinPlate.value(0.0, 1.0), 0.0);
        assert_eq!(Kernel::WendlandC2.value(3.0, 2.0), 0.0);
    }
}
