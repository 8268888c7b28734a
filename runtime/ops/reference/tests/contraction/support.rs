//! An op of the manifest, run by its reference on small inputs.

use tileops_ops::generated::REGISTRY;
use tileops_ops::{Arguments, DType, Params, Tensor, construct};
use tileops_reference::{Cpu, Host, get, of, put};

/// A tensor with these elements, each of which its dtype holds.
pub(crate) fn tensor(dtype: DType, shape: &[i128], elements: &[f64]) -> Tensor {
    let mut bytes = vec![0; elements.len() * dtype.bits() as usize / 8];
    for (at, &element) in elements.iter().enumerate() {
        put(dtype, &mut bytes, at, element);
        assert_eq!(get(dtype, &bytes, at), element, "{dtype} has no {element}");
    }
    let known = matches!(dtype, DType::Int32 | DType::Int64);
    let tensor = Tensor::new(shape, dtype).with_storage(Host::new(bytes));
    match known {
        true => tensor.with_values(elements.iter().map(|&element| element as i64).collect::<Vec<_>>()),
        false => tensor,
    }
}

/// A tensor of zeros.
pub(crate) fn zeros(dtype: DType, shape: &[i128]) -> Tensor {
    tensor(dtype, shape, &vec![0.0; shape.iter().product::<i128>() as usize])
}

/// A tensor's elements.
pub(crate) fn elements(tensor: &Tensor) -> Vec<f64> {
    let host =
        tensor.storage.as_ref().and_then(|storage| storage.as_any().downcast_ref::<Host>()).expect("on the host");
    let bytes = host.read();
    (0..bytes.len() * 8 / tensor.dtype.bits() as usize).map(|at| get(tensor.dtype, &bytes, at)).collect()
}

/// Calls `op`, and gives the elements of each output that it emits.
pub(crate) fn run(op: &str, params: Params, arguments: Arguments) -> Vec<Vec<f64>> {
    let reference = of(op).unwrap_or_else(|| panic!("{op} has no reference"));
    let mut op = construct(REGISTRY, op, &params).expect("it is constructed");
    op.state_mut().implement(std::sync::Arc::new(Cpu(reference)));
    let outputs = op.call(&arguments).expect("it is called");
    outputs.iter().filter_map(|(_, tensor)| tensor.as_ref()).map(elements).collect()
}
