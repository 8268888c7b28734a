//! The Op interface, held by an op whose entry could be: an optional input, a mutated one, a nullable output, `out`.

use std::any::Any;
use std::sync::{Arc, Mutex};

use tileops_ops::{
    Arguments, CheckedCall, DType, Declared, Implementation, Op, OpError, Outputs, Roofline, Run, State, Storage,
    Tensor, Value,
};

#[derive(Default)]
struct Demo {
    declared: Declared,
    state: State,
}

impl Op for Demo {
    fn name(&self) -> &'static str {
        "DemoFwdOp"
    }

    fn check_call(&self, arguments: &Arguments) -> Result<CheckedCall, OpError> {
        let (x, mask, out) = (arguments.get("x"), arguments.get("mask"), arguments.out());
        let extent = x.map_or(4, |x| x.shape.first().copied().unwrap_or_default());
        if extent > 8 {
            return Err(OpError::refused("DemoFwdOp", "signature.inputs.x.shape", "too long"));
        }
        let y = Tensor::new([extent], DType::Float32);
        let kept = mask.map(|_| Tensor::new([extent], DType::Bool));
        Ok(CheckedCall::new(
            "DemoFwdOp",
            vec![("scale", Value::None)],
            vec![("M", Value::Int(extent))],
            vec![("x", x.map(Tensor::described)), ("mask", mask.map(Tensor::described))],
            vec![("y", Some(y)), ("kept", kept)],
        )
        .with_out(out.map(Tensor::described)))
    }

    fn eval_roofline(&self) -> Result<Roofline, OpError> {
        let call = self.completed_call()?;
        let selected = if call.present("mask")? { call.values("mask")?.iter().sum() } else { 0 };
        Roofline::of(self.name(), call.int("M")? * i128::from(selected), call.bytes("y")?)
    }

    fn declared(&self) -> Declared {
        self.declared
    }

    fn state(&self) -> &State {
        &self.state
    }

    fn state_mut(&mut self) -> &mut State {
        &mut self.state
    }
}

#[derive(Debug)]
struct Host(Mutex<Vec<u8>>);

impl Storage for Host {
    fn nbytes(&self) -> usize {
        self.0.lock().expect("no thread panics").len()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn host(shape: impl Into<Vec<i128>>, dtype: DType) -> Tensor {
    let tensor = Tensor::new(shape, dtype);
    let bytes = usize::try_from(tensor.nbytes().expect("it is small")).expect("it is small");
    tensor.with_storage(Arc::new(Host(Mutex::new(vec![0; bytes]))))
}

/// Gives what the test tells it to give.
#[derive(Debug)]
struct Gives(Outputs);

impl Implementation for Gives {
    fn run(&self, _: &CheckedCall, run: &mut Run<'_>) -> Result<Outputs, OpError> {
        assert!(run.tensor("x").is_none_or(|x| x.storage.is_some()));
        Ok(self.0.clone())
    }
}

fn described(extent: i128) -> Arguments {
    Arguments::new().with("x", Tensor::new([extent], DType::Float32))
}

#[test]
fn an_op_is_priced_by_its_last_completed_call() {
    let mut op = Demo::default();
    let before = op.eval_roofline().expect_err("there was no call");
    assert_eq!(before.to_string(), "DemoFwdOp: no call has completed");
    assert!(matches!(op.roof_key(), Err(OpError::OpNotAvailable { .. })));
    op.call(&described(4)).expect("it is a good call");
    assert_eq!(op.eval_roofline(), Ok(Roofline { flops: 0, bytes: 16 }));
    op.call(&described(9)).expect_err("it is a bad one");
    assert_eq!(op.eval_roofline(), Ok(Roofline { flops: 0, bytes: 16 }), "a refused call is not remembered");
    op.call(&described(8)).expect("it is a good call");
    assert_eq!(op.eval_roofline(), Ok(Roofline { flops: 0, bytes: 32 }), "nothing is kept from before");
    assert_eq!(op.roof_key(), Ok("cuda_core.fp32"));
    assert_eq!(op.eval_roofline_read_bytes(), None);
    assert_eq!(op.roofline_data_terms(), Ok(vec![]));
}

#[test]
fn what_values_decide_is_not_available_without_them() {
    let mut op = Demo::default();
    let mask = Tensor::new([4], DType::Bool);
    op.call(&described(4).with("mask", mask.clone())).expect("it is a good call");
    let error = op.eval_roofline().expect_err("the values are not known");
    assert!(matches!(error, OpError::OpNotAvailable { .. }), "{error}");
    assert!(error.to_string().contains("`mask`"), "{error}");
    op.call(&described(4).with("mask", mask.with_values([1, 0, 1, 1]))).expect("it is a good call");
    assert_eq!(op.eval_roofline(), Ok(Roofline { flops: 12, bytes: 16 }));
    let call = op.last_call().expect("a call has completed");
    assert_eq!(call.present("kept"), Ok(true));
    assert_eq!(call.present("scale"), Ok(false));
    assert!(matches!(call.present("bias"), Err(OpError::NoSuchFact { .. })));
    assert!(matches!(call.int("scale"), Err(OpError::NoSuchFact { kind: "integer", .. })));
    assert_eq!(call.dtype("kept"), Ok(DType::Bool));
    assert_eq!(call.shape("y"), Ok(vec![4]));
}

#[test]
fn an_op_without_a_tensor_is_called_and_priced() {
    let mut op = Demo::default();
    let outputs = op.call(&Arguments::new()).expect("it is a good call");
    assert_eq!(outputs[0].1.as_ref().map(Tensor::to_string).as_deref(), Some("float32[4]"));
    assert!(outputs[1].1.is_none());
    assert_eq!(op.eval_roofline(), Ok(Roofline { flops: 0, bytes: 16 }));
}

#[test]
fn what_an_implementation_gives_is_checked() {
    let call = |given: Outputs, arguments: Arguments| {
        let mut op = Demo::default();
        op.state_mut().implement(Arc::new(Gives(given)));
        let made = op.call(&arguments);
        assert_eq!(op.last_call().is_some(), made.is_ok(), "only a call that ends is remembered");
        made.map(|_| ()).map_err(|error| error.to_string())
    };
    let x = || Arguments::new().with("x", host([4], DType::Float32));
    let y = host([4], DType::Float32);
    assert_eq!(call(vec![("y", Some(y.clone()))], x()), Ok(()));
    assert_eq!(call(vec![("y", Some(y.clone()))], x().with_out(y.clone())), Ok(()));
    let prefix = "DemoFwdOp: the implementation: ";
    for (given, arguments, message) in [
        (vec![], x(), "`y` is missing, and must be float32[4]"),
        (vec![("y", Some(host([3], DType::Float32)))], x(), "`y` is float32[3], and must be float32[4]"),
        (vec![("y", Some(host([4], DType::Int32)))], x(), "`y` is int32[4], and must be float32[4]"),
        (
            vec![("y", Some(y.clone())), ("kept", Some(y.clone()))],
            x(),
            "`kept` is float32[4], and this call emits none",
        ),
        (vec![("y", Some(y.clone())), ("z", None)], x(), "`z` is no output"),
        (
            vec![("y", Some(y.clone()))],
            x().with_out(host([4], DType::Float32)),
            "`out` was passed, and no output is in it",
        ),
        (
            vec![("y", Some(y.clone()))],
            x().with("mask", Tensor::new([4], DType::Bool)),
            "`mask` has no elements, and other tensors of the call have theirs",
        ),
    ] {
        assert_eq!(call(given, arguments), Err(format!("{prefix}{message}")));
    }
    // Descriptions are not run.
    assert_eq!(call(vec![], described(4)), Ok(()));
    let unimplemented = Demo::default().call(&x()).expect_err("nothing runs it");
    assert!(matches!(unimplemented, OpError::NoImplementation { .. }));
}

/// Calls two ops, and gives what the second gives.
#[derive(Debug)]
struct Composite;

impl Implementation for Composite {
    fn run(&self, _: &CheckedCall, run: &mut Run<'_>) -> Result<Outputs, OpError> {
        run.stage("first", &mut Demo::default(), &described(2))?;
        run.stage("second", &mut Demo::default(), &described(4))
    }

    fn takes_descriptions(&self) -> bool {
        true
    }
}

#[test]
fn a_composite_remembers_the_calls_of_its_stages() {
    let mut op = Demo {
        declared: Declared {
            roof_key: Some(|call| Ok(if call.stages().len() > 1 { "tensor_core.bf16" } else { "cuda_core.fp32" })),
            read_bytes: Some(|call| call.stage("first").chain(call.stage("second")).map(|c| c.bytes("x")).sum()),
            data_terms: Some(|call| Ok(vec![("stages", Value::Int(call.stages().len() as i128))])),
        },
        ..Demo::default()
    };
    op.state_mut().implement(Arc::new(Composite));
    op.call(&described(4)).expect("it is a good call");
    assert_eq!(op.roof_key(), Ok("tensor_core.bf16"));
    assert_eq!(op.eval_roofline_read_bytes(), Some(Ok(8 + 16)));
    assert_eq!(op.roofline_data_terms(), Ok(vec![("stages", Value::Int(2))]));
}
