//! How errors spread over poses: a few bad ones decide what is pooled, the median pose tells of the others.

use serde::Serialize;

use super::EXACT;

/// Errors in one pose.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PoseErrors {
    /// name of the true shape
    pub name: String,
    /// of plain skinning
    pub skinning_rmse: f64,
    /// of the model
    pub model_rmse: f64,
    /// of the model, largest
    pub model_max: f64,
    /// `model_rmse / skinning_rmse`; `None` where plain skinning has no error in this pose
    pub relative_error: Option<f64>,
    /// whether parts of the character that are not neighbours press against each other
    pub contact: bool,
}

/// What a model leaves of plain skinning's error in some poses: of all of them together, and of each by
/// itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupErrors {
    /// all poses of the group
    pub poses: usize,
    /// of these, the poses in which plain skinning has an error; `median`, `p90` and `worst` are of them
    pub compared: usize,
    /// √(Σ model² / Σ skinning²) over all poses: the poses with the largest errors decide. `None` when
    /// skinning is exact
    pub pooled: Option<f64>,
    /// median of [`PoseErrors::relative_error`]: half of the poses have less
    pub median: Option<f64>,
    /// 90th percentile of the same
    pub p90: Option<f64>,
    /// largest of the same
    pub worst: Option<f64>,
    /// name of the pose that has it
    pub worst_pose: Option<String>,
}

/// Poses in groups, which may be empty.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PoseGroups {
    /// every pose
    pub all: GroupErrors,
    /// poses in which parts of the character touch
    pub with_contact: GroupErrors,
    /// the others
    pub without_contact: GroupErrors,
}

/// Plain skinning's errors below this share of the size are what rounding to `f32` leaves: a ratio to them
/// means nothing.
const ROUNDING: f64 = 1e-6;

impl PoseErrors {
    pub(super) fn relative(skinning_rmse: f64, model_rmse: f64, size: f64) -> Option<f64> {
        (skinning_rmse > ROUNDING * size).then(|| model_rmse / skinning_rmse)
    }
}

impl GroupErrors {
    /// Of some poses of one rig; `size` is the rest shape's.
    pub fn of<'a>(poses: impl IntoIterator<Item = &'a PoseErrors>, size: f64) -> Self {
        let poses: Vec<&PoseErrors> = poses.into_iter().collect();
        let squares = |of: fn(&PoseErrors) -> f64| poses.iter().map(|pose| of(pose).powi(2)).sum::<f64>();
        let skinning = squares(|pose| pose.skinning_rmse);
        let model = squares(|pose| pose.model_rmse);
        let exact = skinning <= poses.len() as f64 * (EXACT * size).powi(2);
        let mut own: Vec<(f64, &str)> =
            poses.iter().filter_map(|pose| Some((pose.relative_error?, pose.name.as_str()))).collect();
        own.sort_by(|a, b| a.0.total_cmp(&b.0));
        let sorted: Vec<f64> = own.iter().map(|&(error, _)| error).collect();
        Self {
            poses: poses.len(),
            compared: sorted.len(),
            pooled: (!exact).then(|| (model / skinning).sqrt()),
            median: quantile(&sorted, 0.5),
            p90: quantile(&sorted, 0.9),
            worst: sorted.last().copied(),
            worst_pose: own.last().map(|&(_, name)| name.to_string()),
        }
    }
}

impl PoseGroups {
    pub(super) fn of(poses: &[PoseErrors], size: f64) -> Self {
        let touching =
            |contact: bool| GroupErrors::of(poses.iter().filter(move |pose| pose.contact == contact), size);
        Self {
            all: GroupErrors::of(poses, size),
            with_contact: touching(true),
            without_contact: touching(false),
        }
    }
}

/// The number below which this share of `sorted` lies, linear between neighbours (as numpy does it).
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let place = share * sorted.len().checked_sub(1)? as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    Some(below + (above - below) * place.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pose(name: &str, skinning_rmse: f64, model_rmse: f64, contact: bool) -> PoseErrors {
        let relative_error = PoseErrors::relative(skinning_rmse, model_rmse, 1.0);
        PoseErrors { name: name.into(), skinning_rmse, model_rmse, model_max: 0.0, relative_error, contact }
    }

    #[test]
    fn quantiles_lie_between_neighbours() {
        let sorted = [1.0, 2.0, 4.0, 8.0];
        assert_eq!(quantile(&sorted, 0.5), Some(3.0));
        // 0.9 · 3 = 2.7: seven tenths of the way from 4 to 8.
        assert!((quantile(&sorted, 0.9).unwrap() - 6.8).abs() < 1e-12);
        assert_eq!((quantile(&sorted, 0.0), quantile(&sorted, 1.0)), (Some(1.0), Some(8.0)));
        assert_eq!(quantile(&[5.0], 0.9), Some(5.0));
        assert_eq!(quantile(&[], 0.5), None);
    }

    /// Nine poses at a tenth, and one with ten times the error of which four fifths are left.
    #[test]
    fn one_bad_pose_decides_what_is_pooled_and_not_the_median() {
        let mut poses: Vec<PoseErrors> =
            (0..9).map(|index| pose(&format!("good {index}"), 1.0, 0.1, false)).collect();
        poses.insert(4, pose("bad", 10.0, 8.0, true));
        let groups = PoseGroups::of(&poses, 1.0);
        let all = &groups.all;
        // √((64 + 9 · 0.01) / (100 + 9))
        assert!((all.pooled.unwrap() - (64.09f64 / 109.0).sqrt()).abs() < 1e-12, "{all:?}");
        assert!((all.median.unwrap() - 0.1).abs() < 1e-12, "{all:?}");
        // 0.9 · 9 = 8.1: a tenth of the way from 0.1 to 0.8.
        assert!((all.p90.unwrap() - 0.17).abs() < 1e-12, "{all:?}");
        assert_eq!((all.worst, all.worst_pose.as_deref()), (Some(0.8), Some("bad")));
        assert_eq!((all.poses, all.compared), (10, 10));
        // Apart, each group is what its poses are.
        assert_eq!((groups.with_contact.poses, groups.without_contact.poses), (1, 9));
        assert_eq!((groups.with_contact.pooled, groups.with_contact.median), (Some(0.8), Some(0.8)));
        assert!((groups.without_contact.pooled.unwrap() - 0.1).abs() < 1e-12);
    }

    /// The worst pose is the one with the largest share left, not the one with the largest error.
    #[test]
    fn poses_are_ranked_by_their_own_share() {
        let poses = [pose("large", 10.0, 3.0, false), pose("small", 1.0, 0.9, false)];
        assert_eq!(PoseGroups::of(&poses, 1.0).all.worst_pose.as_deref(), Some("small"));
    }

    #[test]
    fn poses_without_an_error_of_skinning_have_no_share() {
        let poses = [pose("rest", 1e-8, 3e-8, false), pose("bent", 1.0, 0.5, false)];
        assert_eq!(poses[0].relative_error, None);
        let all = GroupErrors::of(&poses, 1.0);
        assert_eq!((all.poses, all.compared), (2, 1));
        assert_eq!((all.median, all.worst), (Some(0.5), Some(0.5)));
        let none = GroupErrors::of(&poses[..0], 1.0);
        assert_eq!((none.poses, none.pooled, none.median, none.worst_pose), (0, None, None, None));
    }
}
