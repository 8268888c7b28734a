//! A manifest's rows as calls, and as checked calls.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use tileops_analyzer::lang::Value;
use tileops_analyzer::model::TensorRole;
use tileops_analyzer::roofline::RooflineBody;
use tileops_analyzer::workload::Call;
use tileops_analyzer::workspace::{Report, SourceFile, Workspace};
use tileops_ops::{CheckedCall, DType, Tensor, Variant};

/// A manifest, analyzed.
pub(crate) struct Manifest {
    pub(crate) workspace: Workspace,
    pub(crate) report: Report,
}

/// Our own manifest.
pub(crate) static OURS: LazyLock<Manifest> = LazyLock::new(|| read(&tileops_tests::root().join("manifest")));

/// Reads the manifest in `folder`.
pub(crate) fn read(folder: &Path) -> Manifest {
    let mut texts = Vec::new();
    for item in std::fs::read_dir(folder).expect("the folder can be listed").flatten() {
        let path = item.path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            let text = std::fs::read_to_string(&path).expect("a manifest can be read");
            texts.push((path.display().to_string(), text));
        }
    }
    of(texts)
}

/// The manifest of files with these paths and texts.
pub(crate) fn of(texts: Vec<(String, String)>) -> Manifest {
    let file = |(path, text): (String, String)| SourceFile {
        path: path.into(),
        text: text.into(),
        configured: true,
        judged: true,
    };
    let files = texts.into_iter().map(file).collect();
    let workspace = Workspace::new(files);
    let analyses = workspace.entries().iter().map(|entry| workspace.analyze(entry)).collect();
    let report = workspace.finish(analyses);
    Manifest { workspace, report }
}

/// One call of a row of an entry.
#[derive(Clone, Copy)]
pub(crate) struct Row<'m> {
    pub(crate) op: &'m str,
    pub(crate) call: &'m Call,
    /// The formula that prices it, where it has one.
    pub(crate) func: Option<&'m str>,
    /// Whether the entry derives its bytes.
    pub(crate) derived: bool,
}

impl Row<'_> {
    /// `MatmulFwdOp square-4k-float16`.
    pub(crate) fn id(&self) -> String {
        format!("{} {}", self.op, self.call.case_id)
    }
}

impl Manifest {
    /// Every call of every row.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        let priced = self.report.analyses.iter().filter_map(|analysis| Some((analysis, analysis.plan.as_ref()?)));
        priced.flat_map(|(analysis, plan)| {
            let entry = &analysis.entry;
            let func = plan.arms.iter().find_map(|(_, body)| match body {
                RooflineBody::Func(path) => path.rsplit('.').next(),
                RooflineBody::Inline { .. } => None,
            });
            let roofline = entry.roofline.valid().expect("a clean entry has a roofline");
            let derived = func.is_none() && roofline.bytes.valid().is_none();
            analysis.calls.iter().map(move |call| Row { op: &entry.name.value, call, func, derived })
        })
    }
}

/// A name that lives as long as the test.
fn leaked(name: &str) -> &'static str {
    Box::leak(name.to_owned().into_boxed_str())
}

fn value(value: &Value) -> tileops_ops::Value {
    use tileops_ops::Value as Checked;
    match value {
        Value::Int(value) => Checked::Int(*value),
        Value::Bool(value) => Checked::Bool(*value),
        Value::Float(value) => Checked::Float(*value),
        Value::None => Checked::None,
        Value::Str(text) | Value::Opaque(text) => Checked::Str(text.clone()),
        Value::DType(dtype) => Checked::DType(self::dtype(dtype.name())),
        Value::Seq(items) => items.iter().map(self::value).collect(),
        Value::Adt(adt) => {
            let fields = adt.fields.iter().map(|(name, field)| (name.clone(), self::value(field)));
            Checked::Variant(Arc::new(Variant::new(adt.constructor.clone(), fields)))
        }
    }
}

fn dtype(name: &str) -> DType {
    DType::ALL.iter().copied().find(|dtype| dtype.name() == name).expect("both know the same dtypes")
}

/// The call as its op's checks would leave it.
pub(crate) fn checked(row: &Row<'_>) -> CheckedCall {
    let values = |items: &[(Arc<str>, Value)]| items.iter().map(|(name, v)| (leaked(name), value(v))).collect();
    let tensors = |output: bool| {
        let chosen = row.call.tensors.iter().filter(move |(name, tensor)| match tensor {
            Some(tensor) => (tensor.role == TensorRole::Output) == output,
            None => is_output(row, name) == output,
        });
        let described = |(name, tensor): &(Arc<str>, Option<tileops_analyzer::workload::CallTensor>)| {
            let tensor = tensor.as_ref().map(|tensor| {
                let described = Tensor::new(tensor.shape.clone(), dtype(tensor.dtype.name()));
                match &tensor.values {
                    Some(recipe) => described.with_values(recipe.generate().expect("a clean row has its values")),
                    None => described,
                }
            });
            (leaked(name), tensor)
        };
        chosen.map(described).collect()
    };
    CheckedCall::new(leaked(row.op), values(&row.call.params), values(&row.call.indices), tensors(false), tensors(true))
}

fn is_output(row: &Row<'_>, name: &str) -> bool {
    let entry = OURS.report.analyses.iter().map(|analysis| &analysis.entry).find(|entry| &*entry.name.value == row.op);
    entry
        .and_then(|entry| entry.signature.valid())
        .is_some_and(|signature| signature.outputs.items().iter().any(|output| &*output.name.value == name))
}
