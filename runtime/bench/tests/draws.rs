//! On a GPU: it draws what the host draws, bit for bit. Without one the test says nothing; `TILEOPS_REQUIRE_GPU` makes that an
//! error.

use tileops_bench::inputs::Recipe;
use tileops_bench::machine::Which;
use tileops_ops::{DType, Tensor};
use tileops_reference::Distribution;

#[test]
fn a_gpu_draws_what_the_host_draws() {
    let machine = match Which::Cuda(0).open() {
        Ok(machine) => machine,
        Err(error) => {
            assert!(std::env::var_os("TILEOPS_REQUIRE_GPU").is_none(), "{error:#}");
            return;
        }
    };
    let distributions = [
        Distribution::Uniform { low: -1.0, high: 1.0 },
        // Beyond what 8 bits hold, and down to where they have no exponent left.
        Distribution::Uniform { low: -700.0, high: 700.0 },
        Distribution::Uniform { low: -0.02, high: 0.01 },
        Distribution::Uniform { low: 0.25, high: 4.0 },
        Distribution::Integers { low: -100, high: 100 },
        Distribution::Integers { low: 0, high: 1 << 33 },
        Distribution::Integers { low: -(1 << 40), high: 1 << 40 },
        Distribution::OneIn(2),
        Distribution::OneIn(7),
        Distribution::Constant(0.3),
    ];
    let count = 100_003;
    let mut compared = 0;
    for &dtype in DType::ALL {
        for (seed, distribution) in distributions.iter().enumerate() {
            let recipe = Recipe::Drawn(*distribution, (seed as u64 + 1) * 0x1234_5678_9abc_def1);
            let tensor = machine.make(&Tensor::new([count as i128], dtype), &recipe).expect("it can be drawn");
            let (drawn, due) = (machine.read(&tensor).expect("it can be read"), recipe.bytes(dtype, count));
            let width = due.len() / count;
            let place = drawn.iter().zip(&due).position(|(a, b)| a != b).map(|at| at / width);
            let element = |bytes: &[u8]| place.map(|at| bytes[at * width..(at + 1) * width].to_vec());
            let said = format!("{dtype} {distribution:?} at {place:?}: {:?} {:?}", element(&drawn), element(&due));
            assert!(drawn == due, "{said}");
            compared += 1;
        }
    }
    assert_eq!(compared, DType::ALL.len() * distributions.len());
}
