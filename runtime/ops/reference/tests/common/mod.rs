//! Calls of ops with small inputs, run by their references.

use std::sync::Arc;

use tileops_ops::generated::REGISTRY;
use tileops_ops::{Arguments, DType, Params, Tensor, construct};
use tileops_reference::{Cpu, Host, get, of, put};

/// A tensor with these elements.
pub(crate) fn tensor(dtype: DType, shape: &[i128], elements: &[f64]) -> Tensor {
    let mut bytes = vec![0; elements.len() * dtype.bits() as usize / 8];
    for (at, &element) in elements.iter().enumerate() {
        put(dtype, &mut bytes, at, element);
    }
    assert_eq!(shape.iter().product::<i128>(), elements.len() as i128, "{shape:?}");
    Tensor::new(shape, dtype).with_storage(Host::new(bytes))
}

/// Single precision.
pub(crate) fn floats(shape: &[i128], elements: &[f64]) -> Tensor {
    tensor(DType::Float32, shape, elements)
}

/// What a tensor's elements are.
pub(crate) fn elements(tensor: &Tensor) -> Vec<f64> {
    let host: &Host = tensor.storage.as_ref().unwrap().as_any().downcast_ref().unwrap();
    let bytes = host.read();
    (0..bytes.len() * 8 / tensor.dtype.bits() as usize).map(|at| get(tensor.dtype, &bytes, at)).collect()
}

/// Calls `op`; gives its outputs' elements, one after the other.
pub(crate) fn call(op: &str, params: Params, inputs: &[(&str, &Tensor)]) -> Vec<Vec<f64>> {
    let mut op = construct(REGISTRY, op, &params).unwrap();
    let reference = of(op.name()).unwrap();
    op.state_mut().implement(Arc::new(Cpu(reference)));
    let mut arguments = Arguments::new();
    for (name, input) in inputs {
        arguments = arguments.with(*name, (*input).clone());
    }
    let outputs = op.call(&arguments).unwrap();
    outputs.iter().filter_map(|(_, tensor)| tensor.as_ref()).map(elements).collect()
}

/// Whether the values are these, up to single precision.
#[track_caller]
pub(crate) fn near(values: &[f64], expected: &[f64]) {
    assert_eq!(values.len(), expected.len(), "{values:?} {expected:?}");
    for (value, expected) in values.iter().zip(expected) {
        let close = (value - expected).abs() <= 1e-6 * expected.abs().max(1.0);
        let same = value == expected || (value.is_nan() && expected.is_nan());
        assert!(close || same, "{value} {expected}");
    }
}
