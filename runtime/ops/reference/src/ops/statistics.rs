//! Norms of groups of channels: batch, group and instance norm.

use tileops_ops::{CheckedCall, OpError};

use crate::distribution::Distribution;
use crate::host::View;
use crate::ops::each::{Each, volume};
use crate::ops::facts::extent;
use crate::units::{Inputs, Reference, Sink, Target, Units};

pub(crate) const REFERENCES: &[Reference] = &[
    Reference::new("BatchNormFwdOp", batch_norm)
        .drawing(|_, name| (name == "running_var").then_some(Distribution::Uniform { low: 0.2, high: 1.0 })),
    Reference::new("GroupNormFwdOp", |call, inputs| {
        let groups = extent(call, "num_groups")?;
        samples(call, inputs, groups)
    }),
    Reference::new("InstanceNormFwdOp", |call, inputs| {
        let channels = extent(call, "C")?;
        samples(call, inputs, channels)
    }),
];

/// The mean, and the mean of the squared distances from it.
fn moments(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (mean, values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / values.len() as f64)
}

fn of_channel(view: Option<View<'_>>, channel: usize, otherwise: f64) -> f64 {
    view.map_or(otherwise, |view| view.get(channel))
}

/// `groups` groups of neighbouring channels of each sample.
fn samples<'a>(call: &'a CheckedCall, inputs: &Inputs<'a>, groups: usize) -> Result<Box<dyn Units + 'a>, OpError> {
    let x = inputs.tensor(call, "x")?;
    let (weight, bias, eps) = (inputs.optional("weight"), inputs.optional("bias"), call.float("eps")?);
    let (batch, channels, length) = (x.extent(0), x.extent(1), volume(&x.shape[2..]));
    let count = channels / groups.max(1) * length;
    let compute = move |unit: usize, sink: &mut Sink| {
        let values = x.row(unit * count, count);
        let (mean, variance) = moments(&values);
        for (at, value) in values.iter().enumerate() {
            let channel = (unit * count + at) / length % channels;
            let normed = (value - mean) / (variance + eps).sqrt();
            sink.put(0, unit * count + at, normed * of_channel(weight, channel, 1.0) + of_channel(bias, channel, 0.0));
        }
    };
    let targets = vec![Target::output("y").sums(count, 1.0)];
    let units = if count == 0 { 0 } else { batch * groups };
    Ok(Box::new(Each { targets, count: units, cost: count, compute }))
}

fn batch_norm<'a>(call: &'a CheckedCall, inputs: &'a Inputs<'a>) -> Result<Box<dyn Units + 'a>, OpError> {
    let x = inputs.tensor(call, "x")?;
    let (weight, bias, eps) = (inputs.optional("weight"), inputs.optional("bias"), call.float("eps")?);
    let (running_mean, running_var) = (inputs.optional("running_mean"), inputs.optional("running_var"));
    let (training, momentum) = (call.bool("training")?, call.float("momentum")?);
    let (batch, channels, length) = (x.extent(0), x.extent(1), volume(&x.shape[2..]));
    let mut targets = vec![Target::output("y").sums(batch * length, 1.0)];
    let running = running_mean.zip(running_var).filter(|_| training);
    if running.is_some() {
        targets.push(Target::input("running_mean").sums(batch * length, 0.5));
        targets.push(Target::input("running_var").sums(batch * length, 0.0));
    }
    let compute = move |channel: usize, sink: &mut Sink| {
        let places: Vec<usize> = (0..batch)
            .flat_map(|sample| (0..length).map(move |at| (sample * channels + channel) * length + at))
            .collect();
        let (mean, variance) = if training {
            let values: Vec<f64> = places.iter().map(|&at| x.get(at)).collect();
            moments(&values)
        } else {
            (of_channel(running_mean, channel, 0.0), of_channel(running_var, channel, 1.0))
        };
        for &at in &places {
            let normed = (x.get(at) - mean) / (variance + eps).sqrt();
            sink.put(0, at, normed * of_channel(weight, channel, 1.0) + of_channel(bias, channel, 0.0));
        }
        if let Some((running_mean, running_var)) = running {
            // The running variance is that of a sample.
            let count = places.len() as f64;
            let share = |old: f64, new: f64| (1.0 - momentum) * old + momentum * new;
            sink.put(1, channel, share(running_mean.get(channel), mean));
            sink.put(2, channel, share(running_var.get(channel), variance * count / (count - 1.0)));
        }
    };
    let units = if batch * length == 0 { 0 } else { channels };
    Ok(Box::new(Each { targets, count: units, cost: batch * length, compute }))
}
