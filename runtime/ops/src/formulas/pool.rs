//! Pooling: windows are cut at the edges, and elements between windows are not read.

use super::counts::{Axis, Costed, axis, bytes_of, cost, per_axis, product, spatial, width};
use crate::{CheckedCall, Int, OpError};

/// The axes of a pooling's windows: `x [B, C, *extents]`, `y [B, C, *windows]`.
fn axes(call: &CheckedCall, dilated: bool) -> Result<Vec<Axis>, OpError> {
    let (extents, windows) = (spatial(call, "x", 2)?, spatial(call, "y", 2)?);
    let mut axes = Vec::new();
    for (position, (&extent, &windows)) in extents.iter().zip(&windows).enumerate() {
        let kernel = per_axis(call, "kernel_size", position, 1)?;
        let stride = per_axis(call, "stride", position, kernel)?;
        let padding = per_axis(call, "padding", position, 0)?;
        let dilation = if dilated { per_axis(call, "dilation", position, 1)? } else { 1 };
        axes.push(axis(extent, windows, kernel, stride, padding, dilation));
    }
    Ok(axes)
}

/// Images times channels.
fn planes(call: &CheckedCall) -> Result<Int, OpError> {
    Ok(product(call.tensor("x")?.shape.iter().copied().take(2)))
}

/// The elements of `x` that lie in some window, in bytes.
fn read(call: &CheckedCall, axes: &[Axis]) -> Result<Int, OpError> {
    Ok(planes(call)? * product(axes.iter().map(|axis| axis.read)) * width(call, "x")?)
}

/// Maximum pooling in any number of axes, with the maxima's positions or without.
///
/// `x [B, C, ...]`, `y` and, where the op has them, `indices` of its shape; parameters `kernel_size`, `stride`, `padding`,
/// `dilation`.
///
/// *FLOPs.* A comparison for each element of the input in each window: padding is never the maximum.
///
/// *Bytes.* The elements that lie in some window, and the outputs.
pub fn max_pool_roofline(call: &CheckedCall) -> Costed {
    let axes = axes(call, true)?;
    let flops = planes(call)? * product(axes.iter().map(|axis| axis.taps));
    cost(flops, read(call, &axes)?, outputs(call)?)
}

/// Average pooling in any number of axes.
///
/// *FLOPs.* An addition for each element of the input in each window, and a division a window, whatever the divisor counts.
///
/// *Bytes.* As [`max_pool_roofline`].
pub fn avg_pool_roofline(call: &CheckedCall) -> Costed {
    let axes = axes(call, false)?;
    let flops = planes(call)? * product(axes.iter().map(|axis| axis.taps)) + call.tensor("y")?.numel();
    cost(flops, read(call, &axes)?, outputs(call)?)
}

/// Elements of the adaptive windows along an axis: window `o` of `windows` over `extent` elements is
/// `[floor(o * extent / windows), ceil((o + 1) * extent / windows))`.
fn adaptive_taps(extent: i128, windows: i128) -> i128 {
    // Window o and the next one share an element where the bound between them is no integer: that is counted twice.
    // Of the windows - 1 inner bounds, gcd(extent, windows) - 1 are integers.
    let (mut a, mut b) = (extent, windows);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    if windows <= 0 { 0 } else { extent + windows - a }
}

/// The elements of `x [*L, H, W]` in each window of `y [*L, OH, OW]`, each as often as a window has it.
fn adaptive(call: &CheckedCall) -> Result<Int, OpError> {
    let (x, y) = (&call.tensor("x")?.shape, &call.tensor("y")?.shape);
    let leading = x.len().saturating_sub(2);
    let taps = x.iter().zip(y).skip(leading).map(|(&extent, &windows)| adaptive_taps(extent, windows));
    Ok(product(x.iter().copied().take(leading)) * product(taps))
}

/// Adaptive average pooling over the last two axes.
///
/// *FLOPs.* An addition for each element of each window, a division a window. Windows overlap where an axis does not divide.
///
/// *Bytes.* Every element lies in a window; the outputs.
pub fn adaptive_avg_pool_roofline(call: &CheckedCall) -> Costed {
    cost(adaptive(call)? + call.tensor("y")?.numel(), call.bytes("x")?, outputs(call)?)
}

/// Adaptive maximum pooling over the last two axes: a comparison for each element of each window.
pub fn adaptive_max_pool_roofline(call: &CheckedCall) -> Costed {
    cost(adaptive(call)?, call.bytes("x")?, outputs(call)?)
}

/// What the call emits.
fn outputs(call: &CheckedCall) -> Result<Int, OpError> {
    let emitted: Vec<&str> =
        call.outputs().iter().filter(|(_, tensor)| tensor.is_some()).map(|(name, _)| *name).collect();
    bytes_of(call, &emitted)
}

#[cfg(test)]
mod tests {
    use super::adaptive_taps;

    #[test]
    fn adaptive_windows_are_counted_as_by_hand() {
        for extent in 1..20_i128 {
            for windows in 1..20_i128 {
                let by_hand: i128 =
                    (0..windows).map(|o| ((o + 1) * extent + windows - 1) / windows - o * extent / windows).sum();
                assert_eq!(adaptive_taps(extent, windows), by_hand, "{extent} {windows}");
            }
        }
    }
}
