//! Ops of the manifest, run by their references on a few numbers.

use std::sync::Arc;

use tileops_ops::generated::REGISTRY;
use tileops_ops::{Arguments, DType, Outputs, Params, Tensor, construct};
use tileops_reference::{Cpu, Host, get, of, put};

/// A tensor with these elements.
pub(crate) fn tensor(dtype: DType, shape: &[i128], elements: &[f64]) -> Tensor {
    assert_eq!(shape.iter().product::<i128>(), elements.len() as i128, "{shape:?}");
    let mut bytes = vec![0; elements.len() * dtype.bits() as usize / 8];
    for (at, &element) in elements.iter().enumerate() {
        put(dtype, &mut bytes, at, element);
    }
    let tensor = Tensor::new(shape, dtype).with_storage(Host::new(bytes));
    // What the checks of a call read of an index, they read as values.
    match dtype {
        DType::Int32 | DType::Int64 => {
            tensor.with_values(elements.iter().map(|&element| element as i64).collect::<Vec<_>>())
        }
        _ => tensor,
    }
}

/// The same, of elements that the dtype holds as they are.
pub(crate) fn exact(dtype: DType, shape: &[i128], given: &[f64]) -> Tensor {
    let tensor = tensor(dtype, shape, given);
    assert_eq!(elements(&tensor), given, "{dtype}");
    tensor
}

/// A tensor of zeros.
pub(crate) fn zeros(dtype: DType, shape: &[i128]) -> Tensor {
    tensor(dtype, shape, &vec![0.0; shape.iter().product::<i128>() as usize])
}

/// Single precision.
pub(crate) fn floats(shape: &[i128], elements: &[f64]) -> Tensor {
    tensor(DType::Float32, shape, elements)
}

/// A row of single-precision numbers.
pub(crate) fn row(elements: &[f64]) -> Tensor {
    floats(&[elements.len() as i128], elements)
}

/// A tensor's elements.
pub(crate) fn elements(tensor: &Tensor) -> Vec<f64> {
    let host: &Host = tensor.storage.as_ref().unwrap().as_any().downcast_ref().unwrap();
    let bytes = host.read();
    (0..bytes.len() * 8 / tensor.dtype.bits() as usize).map(|at| get(tensor.dtype, &bytes, at)).collect()
}

/// The inputs, by name.
pub(crate) fn arguments(inputs: &[(&str, Tensor)]) -> Arguments {
    inputs.iter().fold(Arguments::new(), |arguments, (name, tensor)| arguments.with(*name, tensor.clone()))
}

/// Calls an op that runs by its reference.
pub(crate) fn outputs(op: &str, params: Params, arguments: Arguments) -> Outputs {
    let reference = of(op).unwrap_or_else(|| panic!("{op} has no reference"));
    let mut op = construct(REGISTRY, op, &params).unwrap();
    op.state_mut().implement(Arc::new(Cpu(reference)));
    op.call(&arguments).unwrap_or_else(|error| panic!("{}: {error}", op.name()))
}

/// The elements of each output that such a call emits.
pub(crate) fn run(op: &str, params: Params, arguments: Arguments) -> Vec<Vec<f64>> {
    outputs(op, params, arguments).iter().filter_map(|(_, tensor)| tensor.as_ref()).map(elements).collect()
}

/// The same of inputs that are used again.
pub(crate) fn call(op: &str, params: Params, inputs: &[(&str, &Tensor)]) -> Vec<Vec<f64>> {
    let inputs: Vec<_> = inputs.iter().map(|&(name, tensor)| (name, tensor.clone())).collect();
    run(op, params, arguments(&inputs))
}

/// The elements of the first output.
pub(crate) fn first(op: &str, params: Params, inputs: &[(&str, Tensor)]) -> Vec<f64> {
    run(op, params, arguments(inputs)).swap_remove(0)
}

/// Whether the numbers are these, up to single precision.
#[track_caller]
pub(crate) fn near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        let same = found == expected || (found.is_nan() && expected.is_nan());
        assert!(same || (found - expected).abs() <= 1e-6 * expected.abs().max(1.0), "{at}: {found}, not {expected}");
    }
}
