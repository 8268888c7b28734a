//! GPU profiles: the theoretical values of a device and the calibration factors measured on it.
//!
//! A profile stores the two inputs of `effective = theoretical × calibration` and never the product.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A device's ceilings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The device's name, as the driver gives it; a record's device is matched against it.
    pub gpu: String,
    /// The memory.
    pub hbm: Hbm,
    /// The rates of the CUDA cores, by what they compute: `fp32`.
    #[serde(default)]
    pub cuda_core: BTreeMap<String, Peak>,
    /// The rates of the tensor cores, by operand: `bf16`, `fp8`.
    #[serde(default)]
    pub tensor_core: BTreeMap<String, Peak>,
    /// Below this time a launch dominates, in nanoseconds.
    #[schemars(extend("minimum" = 0))]
    pub latency_floor_ns: f64,
    /// The size of the L2 cache, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1))]
    pub l2_bytes: Option<u64>,
    /// Where the numbers are from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// The memory's ceiling.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hbm {
    /// The theoretical bandwidth, in bytes a second.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub bandwidth: f64,
    /// The envelope over the measured access mixes, as a fraction of `bandwidth`. Absent where nothing was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub calibration: Option<f64>,
    /// Each mix's measured fraction: `copy`, `triad`, `read`, `write`. Kept as data.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("additionalProperties" = serde_json::json!({"type": "number", "exclusiveMinimum": 0, "maximum": 1})))]
    pub mixes: BTreeMap<String, f64>,
}

/// One unit's ceiling.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Peak {
    /// The theoretical rate, in FLOP a second.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub flops: f64,
    /// The measured fraction of it. Absent where nothing was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub calibration: Option<f64>,
}

/// Why a profile cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// It is no profile.
    #[error("not a GPU profile: {0}")]
    Form(#[from] serde_yaml::Error),
    /// A number is not one that the quantity can have.
    #[error("`{key}` is {value}: {expected}")]
    Value {
        /// Which number, by its path.
        key: String,
        /// The number.
        value: f64,
        /// What it must be.
        expected: &'static str,
    },
}

/// A ceiling: what the data sheet says, and what was reached.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ceiling {
    /// The theoretical rate, per second.
    pub theoretical: f64,
    /// The achievable rate, per second: the theoretical one where nothing was measured.
    pub effective: f64,
}

/// The JSON schema of a profile: the keys, and what each number can be.
pub fn schema() -> serde_json::Value {
    SchemaSettings::draft07().into_generator().into_root_schema_for::<Profile>().to_value()
}

impl Profile {
    /// Reads a profile from YAML and checks every number in it.
    pub fn from_yaml(text: &str) -> Result<Profile, ProfileError> {
        let profile: Profile = serde_yaml::from_str(text)?;
        profile.validate()?;
        Ok(profile)
    }

    fn validate(&self) -> Result<(), ProfileError> {
        let rate = |key: String, value: f64| {
            if value.is_finite() && value > 0.0 {
                Ok(())
            } else {
                Err(ProfileError::Value { key, value, expected: "a rate is positive and finite" })
            }
        };
        let fraction = |key: String, value: Option<f64>| match value {
            Some(value) if !(value > 0.0 && value <= 1.0) => Err(ProfileError::Value {
                key,
                value,
                expected: "a calibration is a fraction of the theoretical value, above 0 and at most 1",
            }),
            _ => Ok(()),
        };
        rate("hbm.bandwidth".into(), self.hbm.bandwidth)?;
        fraction("hbm.calibration".into(), self.hbm.calibration)?;
        for (mix, &value) in &self.hbm.mixes {
            let key = format!("hbm.mixes.{mix}");
            fraction(key.clone(), Some(value))?;
            if self.hbm.calibration.is_some_and(|envelope| value > envelope) {
                let expected = "no mix lies above `hbm.calibration`, which is their envelope";
                return Err(ProfileError::Value { key, value, expected });
            }
        }
        for (section, peaks) in [("cuda_core", &self.cuda_core), ("tensor_core", &self.tensor_core)] {
            for (unit, peak) in peaks {
                rate(format!("{section}.{unit}.flops"), peak.flops)?;
                fraction(format!("{section}.{unit}.calibration"), peak.calibration)?;
            }
        }
        if !(self.latency_floor_ns.is_finite() && self.latency_floor_ns >= 0.0) {
            return Err(ProfileError::Value {
                key: "latency_floor_ns".into(),
                value: self.latency_floor_ns,
                expected: "a time is finite and not negative",
            });
        }
        Ok(())
    }

    /// A digest of all numbers and names: records priced under profiles of one digest are priced alike.
    pub fn id(&self) -> String {
        // A struct of names and finite numbers: JSON can state it.
        let text = serde_json::to_string(self).unwrap_or_default();
        Sha256::digest(text.as_bytes()).iter().take(6).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Whether a device of that name is the one described.
    pub fn matches(&self, device: &str) -> bool {
        self.gpu == device
    }

    /// The memory's ceiling, in bytes a second.
    pub fn bandwidth(&self) -> Ceiling {
        Ceiling { theoretical: self.hbm.bandwidth, effective: self.hbm.bandwidth * self.hbm.calibration.unwrap_or(1.0) }
    }

    /// The ceiling that a roof key names (`tensor_core.bf16`), in FLOP a second.
    pub fn peak(&self, roof_key: &str) -> Option<Ceiling> {
        let (section, unit) = roof_key.split_once('.')?;
        let peaks = match section {
            "cuda_core" => &self.cuda_core,
            "tensor_core" => &self.tensor_core,
            _ => return None,
        };
        let peak = peaks.get(unit)?;
        Some(Ceiling { theoretical: peak.flops, effective: peak.flops * peak.calibration.unwrap_or(1.0) })
    }

    /// Every roof key, with its ceiling.
    pub fn peaks(&self) -> impl Iterator<Item = (String, Ceiling)> + '_ {
        let keys = |section: &'static str, peaks: &BTreeMap<String, Peak>| {
            peaks.keys().map(|unit| format!("{section}.{unit}")).collect::<Vec<_>>()
        };
        keys("cuda_core", &self.cuda_core)
            .into_iter()
            .chain(keys("tensor_core", &self.tensor_core))
            .filter_map(|key| self.peak(&key).map(|ceiling| (key, ceiling)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const H200: &str = "
gpu: NVIDIA H200
hbm: {bandwidth: 4.8e+12, calibration: 0.9, mixes: {copy: 0.85}}
cuda_core: {fp32: {flops: 6.7e+13, calibration: 0.95}}
tensor_core: {bf16: {flops: 9.89e+14}}
latency_floor_ns: 3000
";

    #[test]
    fn effective_is_theoretical_times_calibration() {
        let profile = Profile::from_yaml(H200).unwrap();
        assert_eq!(profile.bandwidth(), Ceiling { theoretical: 4.8e12, effective: 4.8e12 * 0.9 });
        assert_eq!(profile.peak("tensor_core.bf16"), Some(Ceiling { theoretical: 9.89e14, effective: 9.89e14 }));
        assert_eq!(profile.peak("tensor_core.fp64"), None);
        assert_eq!(profile.peak("bf16"), None);
    }

    #[test]
    fn a_calibration_over_one_is_refused_and_named() {
        let error = Profile::from_yaml(&H200.replace("calibration: 0.95", "calibration: 1.02")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`cuda_core.fp32.calibration` is 1.02: a calibration is a fraction of the theoretical value, above 0 and at \
             most 1"
        );
    }

    #[test]
    fn an_unknown_key_is_refused() {
        assert!(Profile::from_yaml(&format!("{H200}effective_bandwidth: 1\n")).is_err());
    }
}
