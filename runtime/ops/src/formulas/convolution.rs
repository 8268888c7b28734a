//! Convolution: products with padding are none, and elements between windows are not read.

use super::counts::{Axis, Costed, axis, bytes_if_present, cost, per_axis, product, spatial, width};
use crate::{CheckedCall, Int, OpError, Value};

/// The axes of a convolution's windows: `x [B, C, *extents]`, `weight [O, C / groups, *kernel]`, `y [B, O, *windows]`.
fn axes(call: &CheckedCall) -> Result<Vec<Axis>, OpError> {
    let (extents, kernels) = (spatial(call, "x", 2)?, spatial(call, "weight", 2)?);
    let windows = spatial(call, "y", 2)?;
    let same = matches!(call.value("padding")?, Value::Str(_));
    let mut axes = Vec::new();
    for (position, ((&extent, &kernel), &windows)) in extents.iter().zip(&kernels).zip(&windows).enumerate() {
        let stride = per_axis(call, "stride", position, 1)?;
        let dilation = per_axis(call, "dilation", position, 1)?;
        // 'same' pads on the right where its padding is odd.
        let padding = if same {
            dilation.saturating_mul(kernel - 1).div_euclid(2)
        } else {
            per_axis(call, "padding", position, 0)?
        };
        axes.push(axis(extent, windows, kernel, stride, padding, dilation));
    }
    Ok(axes)
}

/// Convolution in any number of axes, in groups, with a bias or without.
///
/// `x [B, C, ...]`, `weight [O, C / groups, ...]`, `bias [O]` or none, `y [B, O, ...]`; parameters `stride`, `padding`, `dilation`.
///
/// *FLOPs.* 2 for each element of a window that is an element of the input, and channel of the group, for each output
/// channel; the bias an output element.
///
/// *Bytes.* The elements of the input that lie in some window, the elements of the kernel that meet one, bias and result.
pub fn conv_roofline(call: &CheckedCall) -> Costed {
    let axes = axes(call)?;
    let (x, weight, y) = (call.tensor("x")?, call.tensor("weight")?, call.tensor("y")?);
    let pairs = |tensor: &[i128]| product(tensor.iter().copied().take(2));
    let images = Int::from(x.shape.first().copied().unwrap_or(1));
    let bias = if call.present("bias")? { y.numel() } else { Int::from(0) };
    let flops = 2 * images * pairs(&weight.shape) * product(axes.iter().map(|axis| axis.taps)) + bias;
    let read = pairs(&x.shape) * product(axes.iter().map(|axis| axis.read)) * width(call, "x")?;
    let kernel = pairs(&weight.shape) * product(axes.iter().map(|axis| axis.kernel)) * width(call, "weight")?;
    cost(flops, read + kernel + bytes_if_present(call, "bias")?, call.bytes("y")?)
}

/// Transposed convolution: each element of the input adds to a window of the output.
///
/// `x [B, C, ...]`, `weight [C, O / groups, ...]`, `bias [O]` or none, `y [B, O, ...]`; parameters `stride`, `padding`.
///
/// *FLOPs.* The windows are those of the convolution from `y` to `x`: 2 for each element of one that is an element of the
/// output. The bias an output element.
///
/// *Bytes.* As the convolution with the two exchanged: of input and kernel what meets an element of the output; the result
/// is written whole.
pub fn conv_transpose_roofline(call: &CheckedCall) -> Costed {
    let (x, weight, y) = (call.tensor("x")?, call.tensor("weight")?, call.tensor("y")?);
    let (sources, kernels, targets) = (spatial(call, "x", 2)?, spatial(call, "weight", 2)?, spatial(call, "y", 2)?);
    let (mut taps, mut used, mut read) = (Int::from(1), Int::from(1), Int::from(1));
    for (position, ((&source, &kernel), &target)) in sources.iter().zip(&kernels).zip(&targets).enumerate() {
        let stride = per_axis(call, "stride", position, 1)?;
        let padding = per_axis(call, "padding", position, 0)?;
        let found = axis(target, source, kernel, stride, padding, 1);
        taps = taps * found.taps;
        used = used * found.kernel;
        // An element's window [o * stride - padding, + kernel) meets the output in a range of elements o.
        let first = (padding - kernel + 1).max(0).saturating_add(stride - 1).div_euclid(stride.max(1));
        let behind = target.saturating_add(padding).saturating_add(stride - 1).div_euclid(stride.max(1));
        read = read * if found.taps > 0 { (behind.min(source) - first.min(source)).max(0) } else { 0 };
    }
    let pairs = |tensor: &[i128]| product(tensor.iter().copied().take(2));
    let images = Int::from(x.shape.first().copied().unwrap_or(1));
    let bias = if call.present("bias")? { y.numel() } else { Int::from(0) };
    let flops = 2 * images * pairs(&weight.shape) * taps + bias;
    let read = pairs(&x.shape) * read * width(call, "x")?;
    let kernel = pairs(&weight.shape) * used * width(call, "weight")?;
    cost(flops, read + kernel + bytes_if_present(call, "bias")?, call.bytes("y")?)
}
