//! Ops run by their references on a few numbers.

use std::sync::Arc;

use tileops_ops::generated::REGISTRY;
use tileops_ops::{Arguments, DType, Op, Outputs, Params, Tensor, construct};
use tileops_reference::{Cpu, Host, get, of, put};

/// A tensor with these elements.
pub(crate) fn tensor(shape: &[i128], dtype: DType, values: &[f64]) -> Tensor {
    assert_eq!(shape.iter().product::<i128>(), values.len() as i128, "{shape:?}");
    let mut bytes = vec![0; values.len() * dtype.bits() as usize / 8];
    for (at, value) in values.iter().enumerate() {
        put(dtype, &mut bytes, at, *value);
    }
    let tensor = Tensor::new(shape, dtype).with_storage(Host::new(bytes));
    // What the checks of a call read of an index, they read as values.
    match dtype {
        DType::Int64 | DType::Int32 => tensor.with_values(values.iter().map(|value| *value as i64).collect::<Vec<_>>()),
        _ => tensor,
    }
}

/// A row of single-precision numbers.
pub(crate) fn row(values: &[f64]) -> Tensor {
    tensor(&[values.len() as i128], DType::Float32, values)
}

/// The elements.
pub(crate) fn elements(tensor: &Tensor) -> Vec<f64> {
    let host: &Host = tensor.storage.as_ref().unwrap().as_any().downcast_ref().unwrap();
    let bytes = host.read();
    let count = usize::try_from(tensor.numel().get().unwrap()).unwrap();
    (0..count).map(|at| get(tensor.dtype, &bytes, at)).collect()
}

/// Calls an op that runs by its reference.
pub(crate) fn call(op: &str, params: Params, arguments: Arguments) -> Outputs {
    let mut op: Box<dyn Op> = construct(REGISTRY, op, &params).unwrap();
    let reference = of(op.name()).unwrap();
    op.state_mut().implement(Arc::new(Cpu(reference)));
    op.call(&arguments).unwrap_or_else(|error| panic!("{}: {error}", op.name()))
}

/// The elements of the first output of such a call.
pub(crate) fn run(op: &str, params: Params, inputs: &[(&str, Tensor)]) -> Vec<f64> {
    elements(call(op, params, arguments(inputs))[0].1.as_ref().unwrap())
}

/// The inputs, by name.
pub(crate) fn arguments(inputs: &[(&str, Tensor)]) -> Arguments {
    inputs.iter().fold(Arguments::new(), |arguments, (name, tensor)| arguments.with(*name, tensor.clone()))
}

/// Fails where two numbers are further apart than single precision explains.
#[track_caller]
pub(crate) fn near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        let same = found == expected || (found.is_nan() && expected.is_nan());
        assert!(same || (found - expected).abs() <= 1e-6 * expected.abs().max(1.0), "{at}: {found}, not {expected}");
    }
}
