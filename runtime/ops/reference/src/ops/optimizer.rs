//! What a training step does with gradients.

use tileops_ops::CheckedCall;

use crate::distribution::Distribution;
use crate::ops::elements::{Prepared, elements};
use crate::ops::facts::extent;
use crate::units::{Inputs, Reference, Target};

pub(crate) const REFERENCES: &[Reference] = &[Reference::new("AdamWStepFwdOp", adamw).drawing(|_, name| {
    // Second moments are not negative.
    (name == "variance").then_some(Distribution::Uniform { low: 0.0, high: 1.0 })
})];

/// Adam with decoupled weight decay (Loshchilov, Hutter, 2019, algorithm 2), as PyTorch orders it: the weight decays first.
fn adamw<'a>(call: &CheckedCall, inputs: &Inputs<'a>) -> Prepared<'a> {
    let [weight, grad, moment, variance] =
        ["weight", "grad", "moment", "variance"].map(|name| inputs.tensor(call, name));
    let (weight, grad, moment, variance) = (weight?, grad?, moment?, variance?);
    let [lr, beta1, beta2, eps, decay] = ["lr", "beta1", "beta2", "eps", "weight_decay"].map(|name| call.float(name));
    let (lr, beta1, beta2, eps, decay) = (lr?, beta1?, beta2?, eps?, decay?);
    let step = i32::try_from(extent(call, "step")?).unwrap_or(i32::MAX);
    let (unbias1, unbias2) = (1.0 - beta1.powi(step), 1.0 - beta2.powi(step));
    let targets = vec![Target::input("weight"), Target::input("moment"), Target::input("variance")];
    elements(targets, weight.len(), move |at, sink| {
        let gradient = grad.get(at);
        let first = beta1 * moment.get(at) + (1.0 - beta1) * gradient;
        let second = beta2 * variance.get(at) + (1.0 - beta2) * gradient * gradient;
        let update = lr / unbias1 * first / ((second / unbias2).sqrt() + eps);
        sink.put(0, at, weight.get(at) * (1.0 - lr * decay) - update);
        sink.put(1, at, first);
        sink.put(2, at, second);
    })
}
