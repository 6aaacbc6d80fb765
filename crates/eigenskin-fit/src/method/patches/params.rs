//! Settings.

use serde::{Deserialize, Serialize};

use crate::method::FitError;

/// How to learn from poses of any joints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PatchesParams {
    /// patches of the skin, default 25
    pub patches: usize,
    /// components that move one vertex at most, default 10: those of the two patches it is in, half each; one
    /// patch where that is 1
    pub per_vertex: usize,
    /// whether normals are corrected too, default yes
    pub normals: bool,
}

impl Default for PatchesParams {
    fn default() -> Self {
        Self { patches: 25, per_vertex: 10, normals: true }
    }
}

impl PatchesParams {
    /// Patches that a vertex is in.
    pub(super) fn overlap(&self) -> usize {
        self.per_vertex.clamp(1, 2)
    }

    /// Components of each patch.
    pub(super) fn per_patch(&self) -> usize {
        self.per_vertex / self.overlap()
    }

    /// The same with fewer patches, where there may be only so many components: no more than are needed for that
    /// many.
    pub(super) fn within(&self, most_components: Option<usize>) -> Self {
        let Some(most) = most_components else { return self.clone() };
        Self { patches: self.patches.min(most.div_ceil(self.per_patch())).max(1), ..self.clone() }
    }

    /// Refuses settings that make no sense.
    pub(in crate::method) fn check(&self) -> Result<(), FitError> {
        for (what, value) in
            [("the number of patches", self.patches), ("the components at a vertex", self.per_vertex)]
        {
            if value == 0 {
                return Err(FitError::Parameter { what, bound: "at least 1", value: 0.0 });
            }
        }
        Ok(())
    }
}
