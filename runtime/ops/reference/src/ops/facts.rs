//! What references read of a call.

use tileops_ops::{CheckedCall, OpError};

/// The integer called `name`, as a size.
pub(crate) fn extent(call: &CheckedCall, name: &str) -> Result<usize, OpError> {
    let value = call.int(name)?.get()?;
    usize::try_from(value).map_err(|_| OpError::Implementation {
        op: call.op(),
        message: format!("`{name}` is {value}, which is no size"),
    })
}

/// The number called `name`, where it is there.
pub(crate) fn maybe(call: &CheckedCall, name: &str) -> Result<Option<f64>, OpError> {
    if call.present(name)? { call.float(name).map(Some) } else { Ok(None) }
}
