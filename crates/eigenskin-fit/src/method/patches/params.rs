//! Settings.

use serde::{Deserialize, Serialize};

use crate::method::FitError;

/// How to learn from poses of any joints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PatchesParams {
    /// patches of the skin, default 24
    pub patches: usize,
    /// components of each, default 5; a vertex has those of two patches
    pub per_patch: usize,
    /// whether normals are corrected too, default yes
    pub normals: bool,
}

impl Default for PatchesParams {
    fn default() -> Self {
        Self { patches: 24, per_patch: 5, normals: true }
    }
}

impl PatchesParams {
    /// The same with fewer patches, so that there are no more components than that.
    pub(super) fn within(&self, most_components: Option<usize>) -> Self {
        let Some(most) = most_components else { return self.clone() };
        let per_patch = self.per_patch.min(most).max(1);
        Self { patches: self.patches.min(most / per_patch).max(1), per_patch, ..self.clone() }
    }

    /// Refuses settings that make no sense.
    pub(in crate::method) fn check(&self) -> Result<(), FitError> {
        for (what, value) in
            [("the number of patches", self.patches), ("the components of a patch", self.per_patch)]
        {
            if value == 0 {
                return Err(FitError::Parameter { what, bound: "at least 1", value: 0.0 });
            }
        }
        Ok(())
    }
}
