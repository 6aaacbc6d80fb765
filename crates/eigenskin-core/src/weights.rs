//! Skin weights with any number of influences per vertex.

/// One joint's pull on a vertex.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Influence {
    /// index of the joint
    pub joint: u32,
    /// its weight (w_ib in the papers)
    pub weight: f32,
}

/// Checked skin weights: not negative, sum to one per vertex, heaviest joint first.
#[derive(Debug, Clone, PartialEq)]
pub struct SkinWeights {
    /// `vertex + 1`: where each vertex's influences start
    starts: Vec<u32>,
    influences: Vec<Influence>,
}

/// What was mended while the weights were checked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WeightsReport {
    /// vertices whose weights did not sum to one within 1e-7 and were scaled
    pub normalised_vertices: usize,
    /// largest deviation of a sum from one
    pub largest_deviation: f64,
    /// the vertex with that deviation
    pub worst_vertex: Option<usize>,
}

/// What can be wrong with skin weights.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum WeightsError {
    /// An influence names a joint that does not exist.
    #[error("vertex {vertex} is weighted to joint {joint}, but there are only {joints} joints")]
    NoSuchJoint {
        /// the vertex at fault
        vertex: usize,
        /// the joint it names
        joint: u32,
        /// joints in the skeleton
        joints: usize,
    },
    /// NaN, infinity or a negative weight.
    #[error(
        "vertex {vertex} has the weight {weight} for joint {joint}; weights must be finite and not negative"
    )]
    BadWeight {
        /// the vertex at fault
        vertex: usize,
        /// the joint
        joint: u32,
        /// the weight
        weight: f32,
    },
    /// All weights are zero, so there is nothing to normalise.
    #[error("vertex {vertex} has no skin weight; bind it to at least one joint")]
    Unbound {
        /// the vertex at fault
        vertex: usize,
    },
}

/// Sums this close to one are left as they are: about what `f32` can do, and what the glTF
/// validator wants.
const SUM_TOLERANCE: f64 = 1e-7;

impl SkinWeights {
    /// Checks, sorts and normalises influences, `vertex` → its influences in any order.
    /// Without joints every list must be empty.
    pub fn new(
        joint_count: usize,
        per_vertex: impl IntoIterator<Item = Vec<Influence>>,
    ) -> Result<(Self, WeightsReport), WeightsError> {
        let mut starts = vec![0];
        let mut influences = Vec::new();
        let mut report = WeightsReport::default();
        for (vertex, mut list) in per_vertex.into_iter().enumerate() {
            check(vertex, &list, joint_count)?;
            merge_by_joint(&mut list);
            if joint_count > 0 {
                let sum: f64 = list.iter().map(|i| f64::from(i.weight)).sum();
                if sum <= 0.0 {
                    return Err(WeightsError::Unbound { vertex });
                }
                let deviation = (sum - 1.0).abs();
                if deviation > report.largest_deviation {
                    report.largest_deviation = deviation;
                    report.worst_vertex = Some(vertex);
                }
                if deviation > SUM_TOLERANCE {
                    report.normalised_vertices += 1;
                    normalise(&mut list, sum);
                }
            }
            influences.extend(list);
            starts.push(influences.len() as u32);
        }
        Ok((Self { starts, influences }, report))
    }

    /// Weights of a rig without joints.
    pub fn none(vertex_count: usize) -> Self {
        Self { starts: vec![0; vertex_count + 1], influences: Vec::new() }
    }

    /// Number of vertices.
    pub fn vertex_count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Influences of a vertex, heaviest first; empty without joints.
    pub fn of(&self, vertex: usize) -> &[Influence] {
        &self.influences[self.starts[vertex] as usize..self.starts[vertex + 1] as usize]
    }

    /// The largest number of influences of any vertex.
    pub fn most_influences(&self) -> usize {
        self.starts.windows(2).map(|w| (w[1] - w[0]) as usize).max().unwrap_or(0)
    }
}

fn check(vertex: usize, list: &[Influence], joint_count: usize) -> Result<(), WeightsError> {
    for &Influence { joint, weight } in list {
        if !weight.is_finite() || weight < 0.0 {
            return Err(WeightsError::BadWeight { vertex, joint, weight });
        }
        if weight > 0.0 && joint as usize >= joint_count {
            return Err(WeightsError::NoSuchJoint { vertex, joint, joints: joint_count });
        }
    }
    Ok(())
}

/// Drops zeros, adds up a joint that is listed twice, heaviest first (ties by joint).
fn merge_by_joint(list: &mut Vec<Influence>) {
    list.retain(|i| i.weight > 0.0);
    list.sort_by_key(|i| i.joint);
    list.dedup_by(|next, kept| {
        let same = next.joint == kept.joint;
        if same {
            kept.weight += next.weight;
        }
        same
    });
    list.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.joint.cmp(&b.joint)));
}

/// Scales to sum one; what rounding to `f32` leaves goes to the heaviest joint.
fn normalise(list: &mut [Influence], sum: f64) {
    let mut rest = 1.0;
    for influence in &mut *list {
        influence.weight = (f64::from(influence.weight) / sum) as f32;
        rest -= f64::from(influence.weight);
    }
    list[0].weight = (f64::from(list[0].weight) + rest) as f32;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn influence(joint: u32, weight: f32) -> Influence {
        Influence { joint, weight }
    }

    #[test]
    fn weights_are_sorted_merged_and_normalised() {
        let (weights, report) = SkinWeights::new(
            3,
            [
                vec![influence(2, 0.25), influence(0, 0.5), influence(2, 0.25), influence(7, 0.0)],
                vec![influence(1, 2.0), influence(2, 1.0)],
            ],
        )
        .unwrap();
        assert_eq!(weights.of(0), [influence(0, 0.5), influence(2, 0.5)]);
        assert!((weights.of(1)[0].weight - 2.0 / 3.0).abs() < 1e-6);
        assert_eq!(report.normalised_vertices, 1);
        assert_eq!(report.worst_vertex, Some(1));
        assert_eq!(weights.most_influences(), 2);
    }

    #[test]
    fn bad_weights_are_refused_with_the_culprit() {
        let make = |list: Vec<Influence>| SkinWeights::new(2, [vec![influence(0, 1.0)], list]).unwrap_err();
        assert_eq!(
            make(vec![influence(5, 1.0)]),
            WeightsError::NoSuchJoint { vertex: 1, joint: 5, joints: 2 }
        );
        assert!(matches!(
            make(vec![influence(1, f32::NAN)]),
            WeightsError::BadWeight { vertex: 1, joint: 1, .. }
        ));
        assert!(matches!(make(vec![influence(1, -0.1)]), WeightsError::BadWeight { .. }));
        assert_eq!(make(vec![]), WeightsError::Unbound { vertex: 1 });
    }
}
