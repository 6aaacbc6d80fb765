//! Ranges of motion as people give them: `--range 'JOINT:x=-30..45'`, or a TOML file with a table
//! per joint.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use eigenskin::glam::DVec3;
use eigenskin::sim::ranges::{GivenAxis, GivenRange, GivenRanges, Turn};

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
    still: Vec<String>,
}

impl RangeArgs {
    /// All ranges that were given.
    pub fn given(&self) -> Result<GivenRanges> {
        given(self.ranges.as_deref(), &self.range, &self.still)
    }
}

/// `[joints."forearm.L"]` with lines `flex = [0, 110]`.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct RangesFile {
    joints: BTreeMap<String, BTreeMap<String, [f64; 2]>>,
}

/// All ranges that were given; the command line comes after the file and replaces what it says of
/// a joint.
fn given(file: Option<&Path>, ranges: &[String], still: &[String]) -> Result<GivenRanges> {
    let mut given = file.map_or_else(|| Ok(GivenRanges::new()), read)?;
    let mut by_option = GivenRanges::new();
    for text in ranges {
        let (joint, range) = parse(text)?;
        by_option.entry(joint).or_default().push(range);
    }
    given.extend(by_option);
    for joint in still {
        if given.insert(joint.clone(), Vec::new()).is_some_and(|ranges| !ranges.is_empty()) {
            bail!("joint {joint:?} has a range and is to stay still; give one of the two");
        }
    }
    Ok(given)
}

fn read(path: &Path) -> Result<GivenRanges> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("{} could not be read", path.display()))?;
    let file: RangesFile = toml::from_str(&text).with_context(|| {
        format!(
            "{} is not of the form [joints.\"NAME\"] with lines such as flex = [0, 110] or x = [-30, 45]",
            path.display()
        )
    })?;
    let mut given = GivenRanges::new();
    for (joint, ranges) in file.joints {
        let ranges: Result<Vec<GivenRange>> = ranges
            .iter()
            .map(|(axis, &[lowest, highest])| Ok(GivenRange { axis: axis_named(axis)?, lowest, highest }))
            .collect();
        given.insert(joint.clone(), ranges.with_context(|| format!("{}: joint {joint:?}", path.display()))?);
    }
    Ok(given)
}

/// `JOINT:AXIS=LOWEST..HIGHEST`; joints of some programs have colons in their names.
fn parse(text: &str) -> Result<(String, GivenRange)> {
    let wrong = || {
        format!(
            "--range {text:?} is not of the form JOINT:x=-30..45 (degrees; axes x, y, z, flex, side, twist)"
        )
    };
    let (joint, rest) = text.rsplit_once(':').with_context(wrong)?;
    let (axis, range) = rest.split_once('=').with_context(wrong)?;
    let (lowest, highest) = range.split_once("..").with_context(wrong)?;
    let number = |text: &str| text.trim().parse::<f64>().with_context(wrong);
    let range =
        GivenRange { axis: axis_named(axis.trim())?, lowest: number(lowest)?, highest: number(highest)? };
    Ok((joint.to_string(), range))
}

fn axis_named(name: &str) -> Result<GivenAxis> {
    Ok(match name {
        "x" => GivenAxis::Own(DVec3::X),
        "y" => GivenAxis::Own(DVec3::Y),
        "z" => GivenAxis::Own(DVec3::Z),
        "flex" => GivenAxis::Turn(Turn::Flex),
        "side" => GivenAxis::Turn(Turn::Side),
        "twist" => GivenAxis::Turn(Turn::Twist),
        other => bail!("{other:?} is no axis; use the joint's own x, y or z, or flex, side or twist"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let ranges = ["mixamorig:LeftArm:x=-30..45".to_string(), "mixamorig:LeftArm:twist=-5..5".to_string()];
        let found = given(None, &ranges, &["tail".to_string()]).unwrap();
        let arm = &found["mixamorig:LeftArm"];
        assert_eq!((arm[0].axis, arm[0].lowest, arm[0].highest), (GivenAxis::Own(DVec3::X), -30.0, 45.0));
        assert_eq!(arm[1].axis, GivenAxis::Turn(Turn::Twist));
        assert_eq!(found["tail"], []);
        for bad in ["arm", "arm:x", "arm:x=1", "arm:x=a..b", "arm:w=0..1"] {
            assert!(given(None, &[bad.to_string()], &[]).is_err(), "{bad}");
        }
        assert!(given(None, &["tail:x=0..1".to_string()], &["tail".to_string()]).is_err());
    }

    #[test]
    fn files_are_read_and_options_come_after_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ranges.toml");
        std::fs::write(&path, "[joints.\"forearm.L\"]\nflex = [0, 110]\ntwist = [-40, 40]\n[joints.hand]\n")
            .unwrap();
        let found = given(Some(&path), &["hand:z=-9..9".to_string()], &[]).unwrap();
        assert_eq!(found["forearm.L"].len(), 2);
        assert_eq!(found["hand"][0].highest, 9.0);
        std::fs::write(&path, "[joints.a]\nbend = [0, 1]\n").unwrap();
        let error = format!("{:#}", given(Some(&path), &[], &[]).unwrap_err());
        assert!(error.contains("joint \"a\"") && error.contains("\"bend\" is no axis"), "{error}");
    }
}
