//! Methods and fits as JSON.

use serde::{Deserialize, Serialize, Serializer};

use super::{EigenSkinParams, Fit, Learnt, Method, ParameterizationParams, PatchesParams, PsdParams};

pub(super) const EIGENSKIN: &str = "eigenskin";
pub(super) const PSD: &str = "psd";
pub(super) const WEIGHTED_PSD: &str = "weighted-psd";
pub(super) const PARAMETERIZATION: &str = "parameterization";
pub(super) const PATCHES: &str = "patches";

/// A method by its name, with its settings beside it: `{ "method": "psd", "clamp_margin": 0.5 }`.
#[derive(Serialize, Deserialize)]
#[serde(tag = "method")]
pub(super) enum MethodSettings {
    #[serde(rename = "eigenskin")]
    EigenSkin(EigenSkinParams),
    #[serde(rename = "psd")]
    Psd(PsdParams),
    #[serde(rename = "weighted-psd")]
    WeightedPsd(PsdParams),
    #[serde(rename = "parameterization")]
    Parameterization(ParameterizationParams),
    #[serde(rename = "patches")]
    Patches(PatchesParams),
}

impl From<Method> for MethodSettings {
    fn from(method: Method) -> Self {
        match method {
            Method::EigenSkin(params) => Self::EigenSkin(params),
            Method::Psd(params) if params.prototypes.is_some() => Self::WeightedPsd(params),
            Method::Psd(params) => Self::Psd(params),
            Method::Parameterization(params) => Self::Parameterization(params),
            Method::Patches(params) => Self::Patches(params),
        }
    }
}

impl From<MethodSettings> for Method {
    fn from(settings: MethodSettings) -> Self {
        match settings {
            MethodSettings::EigenSkin(params) => Self::EigenSkin(params),
            MethodSettings::Psd(params) => Self::Psd(params),
            MethodSettings::WeightedPsd(params) => {
                let prototypes = Some(params.prototypes.unwrap_or_default());
                Self::Psd(PsdParams { prototypes, ..params })
            }
            MethodSettings::Parameterization(params) => Self::Parameterization(params),
            MethodSettings::Patches(params) => Self::Patches(params),
        }
    }
}

impl Serialize for Fit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Told<'a> {
            method: &'static str,
            examples: usize,
            #[serde(flatten)]
            learnt: &'a Learnt,
            merged: Vec<&'a str>,
            components: usize,
            most_components_per_vertex: usize,
        }
        let told = Told {
            method: self.learnt.method(),
            examples: self.example_count,
            learnt: &self.learnt,
            merged: self.merged.iter().map(|merged| merged.name.as_str()).collect(),
            components: self.model.component_count(),
            most_components_per_vertex: self.model.most_components_per_vertex(),
        };
        told.serialize(serializer)
    }
}
