//! A manifest's rows, as what an op is constructed and called with.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use tileops_analyzer::analysis::EntryAnalysis;
use tileops_analyzer::check::SymbolRole;
use tileops_analyzer::defect::Severity;
use tileops_analyzer::fingerprint;
use tileops_analyzer::lang::Value;
use tileops_analyzer::model::TensorRole;
use tileops_analyzer::workload::{Call, CallTensor};
use tileops_analyzer::workspace::{SourceFile, Workspace};
use tileops_ops::{Arguments, DType, Op, OpError, Params, Registry, Tensor, Variant, construct};

/// A manifest, read and judged.
#[derive(Debug)]
pub struct Manifest {
    workspace: Workspace,
    /// Which of the workspace's entries, and the analysis of each.
    known: Vec<usize>,
    analyses: Vec<EntryAnalysis>,
}

/// An entry of a manifest without errors.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'m> {
    /// What is known of it, its calls among it.
    pub analysis: &'m EntryAnalysis,
    /// Its text.
    pub text: &'m str,
}

impl Manifest {
    /// Reads the YAML files of `folder`. A manifest with errors is refused, with all of them.
    pub fn read(folder: &Path) -> Result<Self> {
        let workspace = workspace(folder)?;
        let analyses = workspace.entries().iter().map(|entry| workspace.analyze(entry)).collect();
        let report = workspace.finish(analyses);
        let errors: Vec<String> = report
            .files
            .iter()
            .flat_map(|file| file.defects.iter().map(move |located| (file, located)))
            .filter(|(_, located)| located.defect.code.severity == Severity::Error)
            .map(|(file, located)| {
                let entry = located.entry.as_deref().unwrap_or_default();
                format!("{}: {entry}: {}: {}", file.path, located.defect.path, located.defect.message)
            })
            .collect();
        if !errors.is_empty() {
            let folder = folder.display();
            let errors = errors.join("\n");
            bail!("the manifest has errors, which `tileops-lsp --check {folder}` shows where they are:\n{errors}");
        }
        let known = (0..workspace.entries().len()).collect();
        Ok(Manifest { workspace, known, analyses: report.analyses })
    }

    /// Reads the entries of some ops alone, of a manifest that [`Manifest::read`] took: nothing is judged again.
    pub fn read_some(folder: &Path, is_read: impl Fn(&str) -> bool) -> Result<Self> {
        let workspace = workspace(folder)?;
        let entries = workspace.entries();
        let known: Vec<usize> =
            (0..entries.len()).filter(|&at| entries[at].name.as_deref().is_some_and(&is_read)).collect();
        let analyses = known.iter().map(|&at| workspace.analyze(&entries[at])).collect();
        Ok(Manifest { workspace, known, analyses })
    }

    /// The entries, in their order.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        let refs = self.known.iter().map(|&at| &self.workspace.entries()[at]);
        refs.zip(&self.analyses).map(|(entry, analysis)| Entry { analysis, text: self.workspace.entry_text(entry) })
    }
}

/// The YAML files of `folder`, cut into entries.
fn workspace(folder: &Path) -> Result<Workspace> {
    let mut files = Vec::new();
    let listed = std::fs::read_dir(folder).with_context(|| format!("cannot list `{}`", folder.display()))?;
    for item in listed {
        let path = item.with_context(|| format!("cannot list `{}`", folder.display()))?.path();
        if path.extension().is_none_or(|extension| extension != "yaml" && extension != "yml") || !path.is_file() {
            continue;
        }
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
        let path = path.display().to_string().into();
        files.push(SourceFile { path, text: text.into(), configured: true, judged: true });
    }
    if files.is_empty() {
        bail!("`{}` holds no YAML file", folder.display());
    }
    Ok(Workspace::new(files))
}

impl<'m> Entry<'m> {
    /// Its op.
    pub fn op(&self) -> &'m str {
        &self.analysis.entry.name.value
    }

    /// Its family.
    pub fn family(&self) -> Option<&'m str> {
        self.analysis.entry.family.valid().map(|family| &*family.value)
    }

    /// Identifies its text.
    pub fn hash(&self) -> String {
        fingerprint(self.text)
    }

    /// The calls that its rows determine.
    pub fn calls(&self) -> &'m [Call] {
        &self.analysis.calls
    }

    /// The call of its rows whose case is `case`.
    pub fn call(&self, case: &str) -> Option<&'m Call> {
        self.calls().iter().find(|call| call.case_id == case)
    }

    /// Constructs its op from `registry` as a call does, and makes that call without data.
    pub fn called(&self, registry: &Registry, call: &Call) -> Result<Box<dyn Op>, OpError> {
        let (params, arguments) = self.passed(call, &mut described)?;
        let mut op = construct(registry, self.op(), &params)?;
        op.call(&arguments)?;
        Ok(op)
    }

    /// What the op of a call is constructed with, and what it is called with: values, and the tensors that `make` makes.
    pub fn passed<E>(
        &self,
        call: &Call,
        make: &mut dyn FnMut(&str, &CallTensor) -> Result<Tensor, E>,
    ) -> Result<(Params, Arguments), E> {
        let mut params = Params::new();
        for (name, value) in &call.params {
            params = params.with(&**name, value_of(value));
        }
        let mut arguments = Arguments::new();
        for (name, tensor) in &call.tensors {
            let Some(tensor) = tensor else { continue };
            match self.analysis.scope.get(name).map(|symbol| symbol.role) {
                Some(SymbolRole::Tensor(TensorRole::Construction)) => {
                    params = params.with_tensor(&**name, make(name, tensor)?);
                }
                Some(SymbolRole::Tensor(TensorRole::Input)) => arguments = arguments.with(&**name, make(name, tensor)?),
                _ => {}
            }
        }
        Ok((params, arguments))
    }
}

/// The description of a tensor, with its values where it has some.
pub fn described(name: &str, tensor: &CallTensor) -> Result<Tensor, OpError> {
    let described = Tensor::new(tensor.shape.clone(), dtype_of(tensor.dtype));
    match &tensor.values {
        None => Ok(described),
        Some(recipe) => match recipe.generate() {
            Ok(values) => Ok(described.with_values(values)),
            Err(why) => Err(OpError::OpNotAvailable { op: "", message: format!("the values of `{name}`: {why}") }),
        },
    }
}

/// A dtype of the manifest as one of the ops: both have the same table, which a test holds.
pub fn dtype_of(dtype: tileops_analyzer::lang::DType) -> DType {
    let position = tileops_analyzer::lang::DType::ALL.iter().position(|&known| known == dtype);
    position.and_then(|position| DType::ALL.get(position)).copied().unwrap_or(DType::Float32)
}

/// A value of the manifest as one of the ops.
pub fn value_of(value: &Value) -> tileops_ops::Value {
    use tileops_ops::Value as Own;
    match value {
        Value::Int(value) => Own::Int(*value),
        Value::Bool(value) => Own::Bool(*value),
        Value::Float(value) => Own::Float(*value),
        Value::None => Own::None,
        Value::Str(text) | Value::Opaque(text) => Own::Str(text.clone()),
        Value::DType(dtype) => Own::DType(dtype_of(*dtype)),
        Value::Seq(items) => items.iter().map(value_of).collect(),
        Value::Adt(adt) => {
            let fields = adt.fields.iter().map(|(name, field)| (name.clone(), value_of(field)));
            Own::Variant(Arc::new(Variant::new(adt.constructor.clone(), fields)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_and_the_ops_have_the_same_dtypes() {
        let theirs = tileops_analyzer::lang::DType::ALL;
        assert_eq!(theirs.len(), DType::ALL.len());
        for &dtype in theirs {
            let own = dtype_of(dtype);
            assert_eq!((own.name(), own.bits()), (dtype.name(), dtype.bits()));
            assert_eq!(own.category().name(), dtype.category().name());
            assert_eq!(format!("{own:?}"), format!("{dtype:?}"), "emitted code says it by this name");
        }
    }
}
