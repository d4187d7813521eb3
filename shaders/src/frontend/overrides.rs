//! The values of WGSL's `override` constants.

use naga::back::PipelineConstants;
use naga::back::pipeline_constants::{PipelineConstantError, process_overrides};
use naga::valid::ModuleInfo;
use naga::{Module, Override};

use super::{FrontendError, messages};

/// The values that the caller gave, by the [`key`] of the constant.
#[derive(Debug)]
pub(super) struct Overrides(PipelineConstants);

/// The key of a constant: its `@id`, or its name if it has none.
fn key(constant: &Override) -> Option<String> {
    constant.id.map(|id| id.to_string()).or_else(|| constant.name.clone())
}

fn keys(module: &Module) -> impl Iterator<Item = String> {
    module.overrides.iter().filter_map(|(_, constant)| key(constant))
}

impl Overrides {
    /// Stores the values that the caller gave, by `@id` or name of the constant.
    ///
    /// # Errors
    /// [`FrontendError::NoOverride`] if the module has no such constant.
    pub(super) fn new(module: &Module, values: &[(&str, f64)]) -> Result<Self, FrontendError> {
        for (key, _) in values {
            if !keys(module).any(|found| found == *key) {
                let found: Vec<String> = keys(module).collect();
                let found = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
                return Err(FrontendError::NoOverride { key: (*key).to_owned(), found });
            }
        }
        Ok(Self(values.iter().map(|(key, value)| ((*key).to_owned(), *value)).collect()))
    }

    /// Removes the values of constants that the module no longer has, because the shader does not
    /// use them.
    pub(super) fn keep_those_of(&mut self, module: &Module) {
        let keys: Vec<String> = keys(module).collect();
        self.0.retain(|key, _| keys.contains(key));
    }

    pub(super) const fn values(&self) -> &PipelineConstants {
        &self.0
    }

    /// Converts an error of `process_overrides`. Such an error does not name the constant with the wrong value. To
    /// find it, each constant is processed while all other constants have a value that is valid for every type.
    pub(super) fn explain(
        &self,
        module: &Module,
        info: &ModuleInfo,
        error: &PipelineConstantError,
    ) -> FrontendError {
        if let PipelineConstantError::MissingValue(key) = error {
            return FrontendError::NoValue { key: key.clone() };
        }
        let fails = |(key, value): &(&String, &f64)| {
            let mut others: PipelineConstants = keys(module).map(|key| (key, 0.0)).collect();
            others.insert((*key).clone(), **value);
            let is_of_values = |error| {
                use PipelineConstantError::{DstRangeTooSmall, SrcNeedsToBeFinite};
                matches!(error, SrcNeedsToBeFinite | DstRangeTooSmall)
            };
            process_overrides(module, info, None, &others).is_err_and(is_of_values)
        };
        match self.0.iter().find(fails) {
            Some((key, value)) => {
                FrontendError::OverrideValue { key: key.clone(), value: value.to_string() }
            }
            None => FrontendError::Write(messages(error)),
        }
    }
}
