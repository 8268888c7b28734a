//! Bytes by hand, for calls that read a part of something.

use std::collections::{BTreeMap, BTreeSet};

use tileops_analyzer::lang::Value;
use tileops_analyzer::workload::{Call, Effect};

/// A call, as a recount reads it.
pub(crate) struct View<'c>(&'c Call);

impl<'c> View<'c> {
    pub(crate) fn of(call: &'c Call) -> Self {
        View(call)
    }

    /// The bytes of an element, from the dtype's name.
    fn width(&self, name: &str) -> i128 {
        match self.dtype(name) {
            "bool" => 1,
            "complex64" => 8,
            "complex128" => 16,
            dtype => {
                let digits = dtype.split('_').next().unwrap_or_default().trim_start_matches(char::is_alphabetic);
                digits.parse::<i128>().expect("a dtype ends in its bits") / 8
            }
        }
    }

    fn dtype(&self, name: &str) -> &'static str {
        self.0.tensor(name).unwrap_or_else(|| panic!("`{name}` is passed")).dtype.name()
    }

    fn shape(&self, name: &str) -> &'c [i128] {
        &self.0.tensor(name).unwrap_or_else(|| panic!("`{name}` is passed")).shape
    }

    fn has(&self, name: &str) -> bool {
        self.0.tensor(name).is_some()
    }

    /// A tensor's size.
    fn size(&self, name: &str) -> i128 {
        self.shape(name).iter().product::<i128>() * self.width(name)
    }

    /// The sizes of tensors, of those that are passed.
    fn sizes(&self, names: &[&str]) -> i128 {
        names.iter().filter(|name| self.has(name)).map(|name| self.size(name)).sum()
    }

    /// The first level: every tensor by its effect.
    pub(crate) fn every_tensor(&self) -> i128 {
        self.counted(|effect| match effect {
            Effect::Read | Effect::Write => 1,
            Effect::ReadWrite => 2,
            Effect::Alias => 0,
        })
    }

    /// Every tensor that is written, whole.
    fn every_written(&self) -> i128 {
        self.counted(|effect| i128::from(matches!(effect, Effect::Write | Effect::ReadWrite)))
    }

    fn counted(&self, times: impl Fn(Effect) -> i128) -> i128 {
        let passed = self.0.tensors.iter().filter_map(|(name, tensor)| Some((name, tensor.as_ref()?)));
        passed.map(|(name, tensor)| times(tensor.effect) * self.size(name)).sum()
    }

    fn value(&self, name: &str) -> &'c Value {
        let all = self.0.indices.iter().chain(&self.0.params);
        all.into_iter().find(|(n, _)| &**n == name).map_or_else(|| panic!("`{name}` is known"), |(_, value)| value)
    }

    fn int(&self, name: &str) -> i128 {
        self.maybe(name).unwrap_or_else(|| panic!("`{name}` is an integer"))
    }

    fn maybe(&self, name: &str) -> Option<i128> {
        if let Value::Int(value) = self.value(name) { Some(*value) } else { None }
    }

    /// What a parameter says for a spatial axis.
    fn axis(&self, name: &str, axis: usize, fallback: i128) -> i128 {
        match self.value(name) {
            Value::Int(value) => *value,
            Value::Seq(items) => match items[axis] {
                Value::Int(value) => value,
                _ => fallback,
            },
            _ => fallback,
        }
    }

    fn values(&self, name: &str) -> Vec<i128> {
        let recipe = self.0.tensor(name).and_then(|tensor| tensor.values.as_ref());
        let recipe = recipe.unwrap_or_else(|| panic!("`{name}` has values"));
        recipe.generate().expect("a clean row has its values").iter().map(|&value| value.into()).collect()
    }

    fn distinct(&self, name: &str) -> i128 {
        count(&self.values(name).into_iter().collect::<BTreeSet<_>>())
    }

    /// The bytes of a row of a table: of what one index of the leading axis names.
    fn row(&self, name: &str) -> i128 {
        self.behind(name, 1)
    }

    /// The bytes of a row of each of these tables.
    fn rows(&self, names: &[&str]) -> i128 {
        names.iter().map(|name| self.row(name)).sum()
    }

    /// The bytes of a slot: of what an index of each of the two leading axes names.
    fn slot(&self, name: &str) -> i128 {
        self.behind(name, 2)
    }

    fn behind(&self, name: &str, axes: usize) -> i128 {
        self.shape(name)[axes..].iter().product::<i128>() * self.width(name)
    }

    /// The bytes of one element of each plane: what lies behind the two leading axes is a plane.
    fn planes(&self, name: &str) -> i128 {
        self.shape(name)[..2].iter().product::<i128>() * self.width(name)
    }

    /// Slots of the pool and entries of the table that the positions of requests lie in, found one by one.
    fn pages(&self, positions: impl IntoIterator<Item = (usize, i128)>) -> (i128, i128) {
        let (table, size) = (self.values("page_table"), self.int("page_size"));
        let columns = index(self.shape("page_table")[1]);
        let (mut slots, mut entries) = (BTreeSet::new(), BTreeSet::new());
        for (request, position) in positions {
            let entry = request * columns + index(position / size);
            entries.insert(entry);
            slots.insert(table[entry] * size + position % size);
        }
        (count(&slots), count(&entries))
    }
}

fn index(value: i128) -> usize {
    usize::try_from(value).expect("it is an index")
}

fn count<T>(set: &BTreeSet<T>) -> i128 {
    i128::try_from(set.len()).expect("it is small")
}

fn marked(marks: &[bool]) -> i128 {
    marks.iter().map(|&mark| i128::from(mark)).sum()
}

/// The bytes that a call of `op` moves, where not every tensor is read or written whole.
pub(crate) fn recount(op: &str, v: &View<'_>) -> Option<i128> {
    Some(match op {
        // Everything dropped: zeros are written, nothing is read.
        "DropoutFwdOp" => {
            // The seed is read where something is drawn.
            let is = |p: f64| matches!(v.value("p"), Value::Float(value) if *value == p);
            let training = *v.value("training") == Value::Bool(true);
            v.size("y")
                + if training && is(1.0) { 0 } else { v.size("x") }
                + if training && !is(1.0) && !is(0.0) { v.size("seed") } else { 0 }
        }
        "IsFiniteFwdOp" => v.size("y") + if v.dtype("x") == "int32" { 0 } else { v.size("x") },
        "AddmmFwdOp" => v.sizes(&["a", "b", "d"]) + if v.maybe("beta") == Some(0) { 0 } else { v.size("c") },
        "SharedExpertFwdOp" if !v.has("gate_up") => v.sizes(&["routed", "y"]),
        "SharedExpertFwdOp" => v.sizes(&["x", "routed", "gate_up", "down", "y", "shared"]),
        "HyperConnectionReadFwdOp" => {
            let streams = v.shape("streams")[1];
            v.sizes(&["streams", "x"]) + v.shape("x")[0] * streams * 4
        }
        "HyperConnectionWriteFwdOp" => {
            let streams = v.shape("streams")[1];
            2 * v.size("streams") + v.size("y") + v.shape("y")[0] * streams * (streams + 1) * 4
        }
        "KvCacheAppendFwdOp" => v.sizes(&["k", "v", "slots"]) + appended(v),
        "RopeFwdOp" => v.sizes(&["x", "y"]) + v.shape("x")[1] * v.rows(&["cos", "sin"]),
        "MultimodalRopeFwdOp" => {
            let pairs = v.shape("x")[0] * v.shape("cos")[2];
            v.sizes(&["x", "y"]) + pairs * (v.width("cos") + v.width("sin"))
        }
        "RopeQkInplaceFwdOp" => 2 * rotated(v) + v.distinct("positions") * v.row("table") + v.size("positions"),
        "AttentionFwdOp" => attention(v),
        "PagedDecodeAttentionFwdOp" | "MlaPagedDecodeFwdOp" | "PagedPrefillAttentionFwdOp" => paged(op, v),
        "PagedKvCacheGatherFwdOp" => {
            let rows = v.values("rows");
            let (slots, entries) = v.pages(rows.chunks(2).map(|row| (index(row[0]), row[1])));
            let slot = v.slot("k_pages") + v.slot("v_pages");
            v.sizes(&["rows", "k", "v"]) + entries * v.width("page_table") + slots * slot
        }
        "BlockSparseAttentionFwdOp" => block_sparse(v),
        "TopkSparseAttentionFwdOp" | "SparsePositionsDecodeFwdOp" => {
            let (list, keys) = if v.has("kv") { ("selected", vec!["kv"]) } else { ("positions", vec!["k", "v"]) };
            let (requests, extent) = (v.shape(keys[0])[0], v.shape(keys[0])[1]);
            let mut seen = vec![false; index(requests * extent)];
            let chosen = v.values(list);
            let each = chosen.len() / index(requests);
            for (at, position) in chosen.into_iter().enumerate() {
                if (0..extent).contains(&position) {
                    seen[at / each * index(extent) + index(position)] = true;
                }
            }
            let slot: i128 = keys.iter().map(|k| v.slot(k)).sum();
            v.sizes(&["q", list, "o"]) + marked(&seen) * slot
        }
        "KeyWindowScoresFwdOp" => {
            let mut seen = vec![false; index(v.shape("k")[0])];
            for (start, end) in v.values("starts").into_iter().zip(v.values("ends")) {
                seen[index(start)..index(end)].fill(true);
            }
            v.sizes(&["q", "starts", "ends", "scores"]) + marked(&seen) * v.row("k")
        }
        "GroupedMatmulFwdOp" | "GroupedMatmulFp8FwdOp" => {
            let used = v.values("offsets").windows(2).filter(|pair| pair[0] < pair[1]).count();
            let scale = if v.has("weight_scale") { v.row("weight_scale") } else { 0 };
            let matrices = i128::try_from(used).expect("it is small") * (v.row("weight") + scale);
            v.sizes(&["x", "x_scale", "offsets", "y"]) + matrices
        }
        "LayoutGroupedMatmulFwdOp" => layout_grouped(v),
        "ExpertMlpFwdOp" => {
            let experts = v.distinct("ids") * v.rows(&["gate_up", "down"]);
            v.sizes(&["x", "weights", "ids", "y"]) + experts
        }
        "ExpertMlpFp8FwdOp" => {
            let experts = v.distinct("ids") * v.rows(&["gate_up", "gate_up_scale", "down", "down_scale"]);
            v.sizes(&["x", "weights", "ids", "y"]) + experts
        }
        // Which experts a token goes to is not known: to top_k different ones at least.
        "FusedMoeFwdOp" => {
            let experts = v.int("top_k") * v.rows(&["gate_up", "down"]);
            v.sizes(&["x", "logits", "shared_gate_up", "shared_down", "y"]) + experts
        }
        "EmbeddingFwdOp" | "EmbeddingBagFwdOp" => v.sizes(&["ids", "y"]) + v.distinct("ids") * v.row("table"),
        "BertEmbeddingFwdOp" => {
            let named = v.distinct("ids") * v.row("words") + v.distinct("types") * v.row("segments");
            v.sizes(&["ids", "types", "y"]) + named + v.shape("ids")[1] * v.row("positions")
        }
        "IndexSelectFwdOp" => v.sizes(&["index", "y"]) + v.distinct("index") * v.row("x"),
        "Conv2dFwdOp" => convolution(v),
        "MaxPool1dFwdOp" | "AvgPool2dFwdOp" => {
            let kernel: Vec<i128> = (0..v.shape("x").len() - 2).map(|axis| v.axis("kernel_size", axis, 1)).collect();
            let (read, _) = windows(v, &kernel);
            v.sizes(&["y", "indices"]) + v.planes("x") * read
        }
        "SpeculativeVerifyFwdOp" => speculative(v),
        _ => return None,
    })
}

/// Of these bytes, those that are written: a part of a tensor only where one is changed in place.
pub(crate) fn recount_written(op: &str, v: &View<'_>) -> i128 {
    match op {
        "KvCacheAppendFwdOp" => appended(v),
        "RopeQkInplaceFwdOp" => rotated(v),
        _ => v.every_written(),
    }
}

/// The slots of both caches that are written.
fn appended(v: &View<'_>) -> i128 {
    v.distinct("slots") * v.rows(&["k_cache", "v_cache"])
}

/// What of each head is rotated.
fn rotated(v: &View<'_>) -> i128 {
    let heads = v.shape("q")[0] * (v.shape("q")[1] + v.shape("k")[1]);
    heads * v.int("rotary_dim") * v.width("q")
}

/// Keys from the first that some query sees to the last.
fn attention(v: &View<'_>) -> i128 {
    let (queries, keys) = (v.shape("q")[1], v.shape("k")[1]);
    let causal = *v.value("is_causal") == Value::Bool(true);
    let mut seen = vec![false; index(keys)];
    for query in 0..queries {
        let position = keys - queries + query;
        let last = if causal { position } else { keys - 1 };
        let first = v.maybe("window").map_or(0, |window| (last - window + 1).max(0));
        // Neighbours see the same keys but for the ends.
        if query == 0 || query == queries - 1 {
            seen[index(first)..=index(last)].fill(true);
        } else {
            seen[index(first)] = true;
            seen[index(last)] = true;
        }
    }
    let batch = v.shape("k")[0];
    v.sizes(&["q", "sinks", "o"]) + marked(&seen) * batch * (v.slot("k") + v.slot("v"))
}

fn paged(op: &str, v: &View<'_>) -> i128 {
    let mut positions = Vec::new();
    if op == "PagedPrefillAttentionFwdOp" {
        for (request, (pair, cached)) in v.values("offsets").windows(2).zip(v.values("cached_lengths")).enumerate() {
            if pair[1] > pair[0] {
                positions.extend((0..cached + pair[1] - pair[0]).map(|position| (request, position)));
            }
        }
    } else {
        for (request, length) in v.values("kv_lengths").into_iter().enumerate() {
            let windowed = op == "PagedDecodeAttentionFwdOp" && v.maybe("window").is_some();
            let first = if windowed { (length - v.int("window")).max(0) } else { 0 };
            positions.extend((first..length).map(|position| (request, position)));
        }
    }
    let (slots, entries) = v.pages(positions);
    let pools = ["k_pages", "v_pages", "cache"].into_iter().filter(|pool| v.has(pool));
    let slot: i128 = pools.map(|pool| v.slot(pool)).sum();
    let whole = v.sizes(&["q", "q_latent", "q_rope", "kv_lengths", "offsets", "cached_lengths", "o"]);
    whole + entries * v.width("page_table") + slots * slot
}

fn block_sparse(v: &View<'_>) -> i128 {
    let (groups, most, size) = (v.shape("k")[1], v.shape("blocks")[2], v.int("block_size"));
    let (blocks, counts, offsets) = (v.values("blocks"), v.values("counts"), v.values("offsets"));
    let mut seen = vec![false; index(v.shape("k")[0] * groups)];
    let mut entries = 0;
    for bounds in offsets.windows(2) {
        for token in bounds[0]..bounds[1] {
            for group in 0..groups {
                let row = token * groups + group;
                for entry in 0..counts[index(row)] {
                    entries += 1;
                    let first = bounds[0] + blocks[index(row * most + entry)] * size;
                    for key in first..(first + size).min(token + 1) {
                        seen[index(key * groups + group)] = true;
                    }
                }
            }
        }
    }
    let key = v.shape("k")[2] * (v.width("k") + v.width("v"));
    v.sizes(&["q", "counts", "offsets", "o"]) + entries * v.width("blocks") + marked(&seen) * key
}

fn layout_grouped(v: &View<'_>) -> i128 {
    let Value::Adt(layout) = v.value("layout") else { panic!("`layout` is a layout") };
    let field = |name: &str| layout.fields.iter().find(|(field, _)| &**field == name).map(|(_, value)| value);
    let metadata = v.values("metadata");
    let mut rows: BTreeMap<i128, i128> = BTreeMap::new();
    if field("metadata_kind").is_some_and(|kind| matches!(kind, Value::Str(kind) if &**kind == "per_row")) {
        for expert in metadata {
            *rows.entry(expert).or_default() += 1;
        }
    } else {
        let mut row = 0;
        for (expert, entry) in (0..).zip(metadata) {
            let end = if field("max_m").is_some() { row + entry } else { entry };
            while row < end {
                *rows.entry(expert).or_default() += 1;
                row += 1;
            }
            // To the next expert's first row.
            match (field("max_m"), field("alignment")) {
                (Some(_), _) => row = 0,
                (_, Some(Value::Int(alignment))) => {
                    while row % alignment != 0 {
                        row += 1;
                    }
                }
                _ => panic!("a layout has one of them"),
            }
        }
    }
    let valid: i128 = rows.values().sum();
    let matrices = i128::try_from(rows.len()).expect("it is small") * v.row("weight");
    let columns = v.shape("x").last().expect("it has axes");
    v.sizes(&["metadata", "y"]) + valid * columns * v.width("x") + matrices
}

/// Elements of a plane of the input that lie in some window, and elements of the kernel that meet one, marked one by one.
fn windows(v: &View<'_>, kernel: &[i128]) -> (i128, i128) {
    let (extents, outputs) = (&v.shape("x")[2..], &v.shape("y")[2..]);
    let axes = kernel.len();
    let pooling = v.0.params.iter().any(|(name, _)| &**name == "kernel_size");
    let dilated = v.0.params.iter().any(|(name, _)| &**name == "dilation");
    let start = |axis: usize, output: i128| {
        let dilation = if dilated { v.axis("dilation", axis, 1) } else { 1 };
        let stride = v.axis("stride", axis, if pooling { kernel[axis] } else { 1 });
        let padding = match v.value("padding") {
            Value::Str(_) => dilation * (kernel[axis] - 1) / 2,
            _ => v.axis("padding", axis, 0),
        };
        (output * stride - padding, dilation)
    };
    // Of each axis and each output position on it, the elements of the kernel that meet the input, and where.
    let mut met: Vec<Vec<Vec<(usize, usize)>>> = Vec::new();
    for axis in 0..axes {
        let of = |output: i128| {
            let (first, step) = start(axis, output);
            let meeting = (0..kernel[axis]).map(|element| (element, first + element * step));
            let inside = meeting.filter(|(_, position)| (0..extents[axis]).contains(position));
            inside.map(|(element, position)| (index(element), index(position))).collect()
        };
        met.push((0..outputs[axis]).map(of).collect());
    }
    // One or two axes are three, of which the first have one element.
    let whole = vec![vec![(0, 0)]];
    let axis = |back: usize| if back < axes { &met[axes - 1 - back] } else { &whole };
    let size = |sizes: &[i128], back: usize| if back < axes { index(sizes[axes - 1 - back]) } else { 1 };
    let mut read = vec![false; index(extents.iter().product())];
    let mut used = vec![false; index(kernel.iter().product())];
    let (height, width) = (size(extents, 1), size(extents, 0));
    let (kernel_height, kernel_width) = (size(kernel, 1), size(kernel, 0));
    for depth in axis(2) {
        for row in axis(1) {
            for column in axis(0) {
                for (z, d) in depth {
                    for (y, h) in row {
                        let (line, edge) = ((d * height + h) * width, (z * kernel_height + y) * kernel_width);
                        for (x, w) in column {
                            read[line + w] = true;
                            used[edge + x] = true;
                        }
                    }
                }
            }
        }
    }
    (marked(&read), marked(&used))
}

fn convolution(v: &View<'_>) -> i128 {
    let (read, used) = windows(v, &v.shape("weight")[2..]);
    v.sizes(&["bias", "y"]) + v.planes("x") * read + v.planes("weight") * used
}

/// The least over how many tokens are accepted, each number tried.
fn speculative(v: &View<'_>) -> i128 {
    let (requests, drafted, row) = (v.shape("draft_probs")[0], v.shape("draft_probs")[1], v.shape("draft_probs")[2]);
    let (probability, draw, token) = (v.width("target_probs"), v.width("uniform"), v.width("draft_tokens"));
    let costs = (0..=drafted).map(|accepted| {
        let each = 2 * probability + draw + token;
        if accepted == drafted {
            accepted * each + row * probability + draw
        } else {
            accepted * each + (token + draw) + 2 * row * probability + draw
        }
    });
    requests * costs.min().expect("there is one") + v.sizes(&["tokens", "accepted"])
}
