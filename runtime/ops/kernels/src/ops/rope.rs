//! Rotary embeddings.

use tileops_ops::{CheckedCall, DType, OpError};

use crate::gpu::Gpu;
use crate::ops::Planner;
use crate::ops::elementwise::{common_lanes, divisor, grid, lanes, size};
use crate::ops::refused;
use crate::plan::{Arg, Plan};
use crate::source::ELEMENTWISE;

pub(crate) const PLANNERS: &[(&str, Planner)] = &[
    ("RopeFwdOp", |call, gpu| {
        let (batches, length) = (size(call, "B")?, size(call, "S")?);
        let (heads, width) = (size(call, "H")?, size(call, "D")?);
        let turn = Turn {
            sides: [Side::tokens(length, heads, width), Side::NONE],
            tokens: batches * length,
            length,
            width,
            pairs: size(call, "R")? / 2,
            interleaved: call.str("layout")? == "pairs",
            table: "SEQUENCE",
            sections: [0; 2],
            in_place: false,
            names: ["x", "y", "", "", "cos", "sin", ""],
        };
        turn.plan(call, gpu)
    }),
    ("RopeQkInplaceFwdOp", |call, gpu| {
        let (tokens, width) = (size(call, "N")?, size(call, "D")?);
        let [heads, groups] = [size(call, "H")?, size(call, "G")?];
        let turn = Turn {
            sides: [Side::tokens(tokens, heads, width), Side::tokens(tokens, groups, width)],
            tokens,
            length: tokens,
            width,
            pairs: size(call, "rotary_dim")? / 2,
            interleaved: call.bool("interleaved")?,
            table: "POSITIONS",
            sections: [0; 2],
            in_place: true,
            names: ["q", "q", "k", "k", "table", "", "positions"],
        };
        turn.plan(call, gpu)
    }),
    ("MultimodalRopeFwdOp", |call, gpu| {
        let (tokens, heads, width) = (size(call, "N")?, size(call, "H")?, size(call, "D")?);
        let sections = call.shape("sections")?;
        let ends = sections.iter().scan(0, |end, extent| {
            *end += u64::try_from(*extent).unwrap_or(0);
            Some(*end)
        });
        let ends: Vec<u64> = ends.collect();
        let [first, second, _] = ends[..] else {
            return Err(refused(call.op(), format!("{} sections, where there are three", ends.len())));
        };
        let turn = Turn {
            sides: [Side::tokens(tokens, heads, width), Side::NONE],
            tokens,
            length: tokens,
            width,
            pairs: width / 2,
            interleaved: false,
            table: "SECTIONS",
            sections: [first, second],
            in_place: false,
            names: ["x", "y", "", "", "cos", "sin", ""],
        };
        turn.plan(call, gpu)
    }),
    ("AxialRopeQkFwdOp", |call, gpu| {
        let [batches, heads, length, width] = ["B", "H", "S", "D"].map(|name| size(call, name));
        let (batches, heads, length, width) = (batches?, heads?, length?, width?);
        // The tokens of a head lie together.
        let side = Side { batch: heads * length * width, token: width, head: length * width, heads };
        let turn = Turn {
            sides: [side; 2],
            tokens: batches * length,
            length,
            width,
            pairs: width / 2,
            interleaved: true,
            table: "MATRIX",
            sections: [0; 2],
            in_place: false,
            names: ["q", "q_out", "k", "k_out", "table", "", ""],
        };
        turn.plan(call, gpu)
    }),
];

/// How the heads of a tensor lie: what a step is, in elements.
#[derive(Debug, Clone, Copy)]
struct Side {
    batch: u64,
    token: u64,
    head: u64,
    heads: u64,
}

impl Side {
    /// No heads.
    const NONE: Side = Side { batch: 0, token: 0, head: 0, heads: 0 };

    /// The heads of a token lie together, and `length` tokens are a batch.
    fn tokens(length: u64, heads: u64, width: u64) -> Self {
        Side { batch: length * heads * width, token: heads * width, head: width, heads }
    }
}

/// One launch of `rope.cu`, which says what each is.
struct Turn {
    sides: [Side; 2],
    tokens: u64,
    length: u64,
    width: u64,
    pairs: u64,
    interleaved: bool,
    table: &'static str,
    sections: [u64; 2],
    in_place: bool,
    /// The kernel's tensors; nothing for one that the op has not.
    names: [&'static str; 7],
}

impl Turn {
    fn plan(&self, call: &CheckedCall, gpu: &Gpu) -> Result<Plan, OpError> {
        let dtype = call.tensor(self.names[0])?.dtype;
        let heads = self.sides[0].heads + self.sides[1].heads;
        let rest = self.width - 2 * self.pairs;
        if self.tokens * heads * self.width == 0 {
            return Ok(Plan::new());
        }
        let (lanes, aligned) = self.lanes(dtype, rest);
        let turning = self.pairs / if self.interleaved { lanes / 2 } else { lanes };
        let slots = turning + if self.in_place { 0 } else { rest.div_ceil(lanes) };
        // Several heads a thread, where that leaves the GPU two thirds full.
        let full = u64::from(gpu.multiprocessors) * 2048 * 2 / 3;
        let tokens_first = self.sides[0].token < self.sides[0].head;
        // Where neighbours are tokens, each reads the table anew, and more heads share what is read.
        let most = if tokens_first { [8, 4, 2] } else { [2; 3] };
        let together = most.into_iter().find(|many| self.tokens * slots * heads.div_ceil(*many) >= full).unwrap_or(1);
        let groups = heads.div_ceil(together);
        if self.tokens * slots * groups >= 1 << 31 {
            return Err(refused(call.op(), format!("{} tokens of {heads} heads are beyond a launch", self.tokens)));
        }
        let source = source!("rope.cu")
            .with(ELEMENTWISE)
            .element("ELEMENT", dtype)
            .element("TC", call.tensor(self.names[4])?.dtype)
            .define("INTERLEAVED", u8::from(self.interleaved))
            .define("TABLE", self.table)
            .define("LANES", lanes)
            .define("ALIGNED", aligned)
            .define("HEADS", together)
            .define("TOKENS_FIRST", u8::from(tokens_first))
            .define("IN_PLACE", u8::from(self.in_place));
        let mut arguments = self.names.map(Arg::Tensor).to_vec();
        arguments.push(Arg::Bytes(self.shape(slots, groups)));
        Ok(Plan::new().launch(source, "rope", grid(call, self.tokens * slots * groups, 1)?, arguments))
    }

    /// Elements a vector, and how many of them its address is a multiple of.
    fn lanes(&self, dtype: DType, rest: u64) -> (u64, u64) {
        let most = lanes(&[dtype]);
        if !self.interleaved {
            let [first, second] = self.sections;
            let lanes = common_lanes(most, &[self.pairs, rest, self.width, first, second]);
            return (lanes, lanes);
        }
        match common_lanes(most, &[2 * self.pairs, rest, self.width]) {
            // An odd head's columns behind the rotated ones are copied by a vector of one; pairs are two.
            1 => (2, 1),
            lanes => (lanes, lanes),
        }
    }

    /// `Shape` of `rope.cu`, as it lies in memory.
    fn shape(&self, slots: u64, groups: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        let int = |bytes: &mut Vec<u8>, value: u64| bytes.extend((value as i32).to_ne_bytes());
        for side in self.sides {
            [side.batch, side.token, side.head].iter().for_each(|stride| bytes.extend(stride.to_ne_bytes()));
            int(&mut bytes, side.heads);
            int(&mut bytes, 0); // Up to a multiple of eight bytes.
        }
        bytes.extend(self.tokens.to_ne_bytes());
        for value in [self.width, self.pairs, self.sections[0], self.sections[1]] {
            int(&mut bytes, value);
        }
        // All are below 2^31, as the threads are.
        for by in [slots, groups, self.length, self.tokens] {
            divisor(by as u32).iter().for_each(|word| bytes.extend(word.to_ne_bytes()));
        }
        bytes
    }
}
