//! Ranges of motion as commands take them: `--range 'JOINT:x=-30..45'`, `--lock JOINT`, or a file.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use eigenskin::jobs::simulate::{JointRange, JointRanges, given_ranges, read_joint_ranges};
use eigenskin::sim::ranges::GivenRanges;

/// What joints can do, as commands take it.
#[derive(clap::Args)]
pub struct RangeArgs {
    /// Ranges of motion by joint: a TOML file
    #[arg(long, value_name = "FILE.toml")]
    ranges: Option<PathBuf>,
    /// Range of a joint in degrees, such as 'elbow:flex=0..110' or 'elbow:x=-10..30'; may be repeated
    #[arg(long = "range", value_name = "JOINT:AXIS=A..B", allow_hyphen_values = true)]
    range: Vec<String>,
    /// A joint that is not to move; may be repeated
    #[arg(long, value_name = "JOINT")]
    lock: Vec<String>,
}

impl RangeArgs {
    /// The file of ranges.
    pub fn file(&self) -> Option<&Path> {
        self.ranges.as_deref()
    }

    /// The ranges among the options.
    pub fn ranges(&self) -> Result<JointRanges> {
        let mut ranges = JointRanges::new();
        for text in &self.range {
            let (joint, range) = parse(text)?;
            ranges.entry(joint).or_default().push(range);
        }
        Ok(ranges)
    }

    /// The joints that are not to move.
    pub fn locked(&self) -> &[String] {
        &self.lock
    }

    /// All that was given; options come after the file and replace what it says of a joint.
    pub fn given(&self) -> Result<GivenRanges> {
        let mut ranges = self.file().map(read_joint_ranges).transpose()?.unwrap_or_default();
        ranges.extend(self.ranges()?);
        Ok(given_ranges(&ranges, self.locked())?)
    }
}

/// `JOINT:AXIS=LOWEST..HIGHEST`; joints of some programs have colons in their names.
fn parse(text: &str) -> Result<(String, JointRange)> {
    let wrong = || {
        format!(
            "--range {text:?} is not of the form JOINT:x=-30..45 (degrees; axes x, y, z, flex, side, twist)"
        )
    };
    let (joint, rest) = text.rsplit_once(':').with_context(wrong)?;
    let (axis, range) = rest.split_once('=').with_context(wrong)?;
    let (lowest, highest) = range.split_once("..").with_context(wrong)?;
    let number = |text: &str| text.trim().parse::<f64>().with_context(wrong);
    let axis = axis.trim().parse().with_context(|| format!("--range {text:?}"))?;
    Ok((joint.to_string(), JointRange { axis, lowest: number(lowest)?, highest: number(highest)? }))
}

#[cfg(test)]
mod tests {
    use eigenskin::glam::DVec3;
    use eigenskin::sim::ranges::{GivenAxis, Turn};

    use super::*;

    fn args(ranges: &[&str], lock: &[&str]) -> RangeArgs {
        let [range, lock] = [ranges, lock].map(|texts| texts.iter().map(ToString::to_string).collect());
        RangeArgs { ranges: None, range, lock }
    }

    #[test]
    fn options_are_read() {
        let ranges = ["mixamorig:LeftArm:x=-30..45", "mixamorig:LeftArm:twist=-5..5"];
        let found = args(&ranges, &["tail"]).given().unwrap();
        let arm = &found["mixamorig:LeftArm"];
        assert_eq!((arm[0].axis, arm[0].lowest, arm[0].highest), (GivenAxis::Own(DVec3::X), -30.0, 45.0));
        assert_eq!(arm[1].axis, GivenAxis::Turn(Turn::Twist));
        assert_eq!(found["tail"], []);
        for bad in ["arm", "arm:x", "arm:x=1", "arm:x=a..b", "arm:w=0..1"] {
            assert!(args(&[bad], &[]).given().is_err(), "{bad}");
        }
        assert!(args(&["tail:x=0..1"], &["tail"]).given().is_err());
    }

    #[test]
    fn options_come_after_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ranges.toml");
        std::fs::write(&path, "[joints.\"forearm.L\"]\nflex = [0, 110]\ntwist = [-40, 40]\n[joints.hand]\n")
            .unwrap();
        let args = |range: &str| RangeArgs { ranges: Some(path.clone()), ..args(&[range], &[]) };
        let found = args("hand:z=-9..9").given().unwrap();
        assert_eq!(found["forearm.L"].len(), 2);
        assert_eq!(found["hand"][0].highest, 9.0);
        std::fs::write(&path, "[joints.a]\nbend = [0, 1]\n").unwrap();
        let error = format!("{:#}", args("hand:z=-9..9").given().unwrap_err());
        assert!(error.contains("joint \"a\"") && error.contains("\"bend\" is no axis"), "{error}");
    }
}
